"""Runs: a frozen config in, one JSON file out; finished ones are skipped, so that a table can be resumed.

A file holds the config, what was measured, and where it came from: versions,
commit, date and machine time. Everything measured depends on the config alone;
times stand apart, so that two runs of one config can be compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, final

_PACKAGES = ("pdsketch", "torch", "numpy", "numba", "minigrid", "gymnasium")


@final
@dataclass(frozen=True, slots=True)
class Run:
    """One run: ``function`` (``module:name``) of one frozen ``config``, under a name that people read."""

    name: str
    function: str
    config: Any

    @property
    def key(self) -> str:
        """A file name that is the same for the same run and another for any other."""
        text = json.dumps([self.function, asdict(self.config)], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        return f"{self.name}-{digest}".replace("/", "-").replace(" ", "-")


def run_all(
    runs: Sequence[Run], folder: Path, jobs: int = 1, say: Callable[[str], None] | None = None
) -> list[dict[str, Any]]:
    """The measurements of all runs in their order, from their files where they are finished."""
    folder.mkdir(parents=True, exist_ok=True)
    left = [run for run in runs if _read(folder, run) is None]
    tell = say or (lambda _: None)
    if len(left) < len(runs):
        tell(f"{len(runs) - len(left)} of {len(runs)} runs are finished already")
    if jobs <= 1:
        for done, run in enumerate(left):
            _finish(folder, run, _execute(run))
            tell(f"{done + 1}/{len(left)} {run.name}")
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(_execute, run): run for run in left}
            for done, future in enumerate(as_completed(waiting)):
                _finish(folder, waiting[future], future.result())
                tell(f"{done + 1}/{len(left)} {waiting[future].name}")
    return [_read(folder, run) or {} for run in runs]


def _execute(run: Run) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    begin, cpu = time.perf_counter(), time.process_time()
    module, _, name = run.function.partition(":")
    result = getattr(import_module(module), name)(run.config)
    return {
        "result": result,
        "seconds": round(time.perf_counter() - begin, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
    }


def _finish(folder: Path, run: Run, measured: dict[str, Any]) -> None:
    record = {
        "name": run.name,
        "function": run.function,
        "config": asdict(run.config),
        **measured,
        "origin": origin(),
    }
    path = folder / f"{run.key}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(record, indent=1), encoding="utf-8")
    os.replace(partial, path)  # a run that is interrupted leaves no half a file


def _read(folder: Path, run: Run) -> dict[str, Any] | None:
    path = folder / f"{run.key}.json"
    if not path.exists():
        return None
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def origin() -> dict[str, Any]:
    """Where a number comes from: the commit, the versions and the day."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "commit": commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "versions": versions,
    }


def commit() -> str:
    """The commit of the working tree that runs, or ``unknown`` outside one."""
    here = Path(__file__).parent
    try:
        shown = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return shown.stdout.strip()
