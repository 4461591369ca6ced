"""Runs: a frozen config in, one JSON file out; finished ones are skipped, so that a table can be resumed.

Long ones keep what they have done so far in a folder beside their file to be, and go on from there.

A file holds the config, what was measured, and where it came from: versions,
commit, date and machine time. Everything measured depends on the config alone;
times stand apart, so that two runs of one config can be compared.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Concatenate, Final, Generic, Literal, Protocol, TypeVar, final

import pdsketch
from pdsketch.act import Policy, World, rollout
from pdsketch.files import make_folder, read_json, sweep, write_file
from pdsketch.lang import Diagnostic, Error, error
from pdsketch_paper.experiments.workers import do, on_cluster, share

_PARTS = {"name", "function", "config", "result", "origin"}
_PACKAGES = ("pdsketch-planning", "torch", "numpy", "minigrid", "gymnasium", "mujoco")


class RunConfig(Protocol):
    """A frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


C = TypeVar("C", bound=RunConfig)

Seeds = Sequence[int] | None
"""Seeds that somebody asked for; None: those of each row."""

LOOKED_AT: Final = range(3)
"""Seeds on which settings were chosen, too; rows of agents have them."""

FRESH: Final = range(2000, 2010)
"""Seeds that nobody looked at before a row was made; those from 1000 to 1014 were looked at since."""


def seeds_for(asked: Seeds, own: Sequence[int], quick: bool) -> Sequence[int]:
    """Seeds that somebody ``asked`` for, else a row's ``own``, of which a smoke run has one."""
    return asked if asked is not None else own[:1] if quick else own


@final
@dataclass(frozen=True, slots=True)
class ExperimentRun(Generic[C]):
    """One run: a ``function`` of one frozen ``config``, under a name that people read.

    Where it ``resumes``, the function takes a folder, too, and goes on from what it finds there.
    """

    name: str
    function: Callable[Concatenate[C, ...], dict[str, Any]]
    config: C
    resumes: bool = False

    @property
    def code(self) -> str:
        """Where the function stands, ``module:name``; the same where ``python -m`` runs the module."""
        module = self.function.__module__
        started = getattr(sys.modules.get(module), "__spec__", None) if module == "__main__" else None
        return f"{started.name if started else module}:{self.function.__name__}"

    @property
    def key(self) -> str:
        """A file name that is the same for the same run and another for any other."""
        return key_of(self.name, self.code, asdict(self.config))


def runs_of(
    function: Callable[Concatenate[C, ...], dict[str, Any]],
    configs: Mapping[str, C],
    quick: bool,
    *,
    resumes: bool = False,
    **small: Any,
) -> list[ExperimentRun[C]]:
    """A run for each config under its name; in a smoke run it has some ``small`` settings."""
    made = {name: replace(config, **small) if quick else config for name, config in configs.items()}
    return [ExperimentRun(name, function, config, resumes) for name, config in made.items()]


def key_of(name: str, code: str, config: Mapping[str, Any]) -> str:
    """The file name of a run, by its name, its function and its config."""
    text = json.dumps([code, config], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return f"{name}-{digest}".replace("/", "-").replace(" ", "-")


MEASURED: Final = ("success", "planned", "expanded", "steps", "replans")
"""What tables are made of: nothing that depends on the machine's speed."""


def in_both_loops(
    policy: Callable[[Literal["open", "closed"]], Policy],
    worlds: Sequence[World],
    seeds: Sequence[int],
    most_steps: int,
) -> dict[str, dict[str, float]]:
    """What acting blindly and acting with replanning come to on the same problems."""
    closed = rollout(policy("closed"), worlds, seeds, most_steps)
    # An episode that was not planned for anew is the same in both loops: its plan need not be found twice.
    others = [i for i, account in enumerate(closed.accounts) if account["replans"]]
    again = rollout(policy("open"), worlds, [seeds[i] for i in others], most_steps)
    both = {"open": closed.replaced(others, again), "closed": closed}
    return {loop: {name: done.summary[name] or 0.0 for name in MEASURED} for loop, done in both.items()}


def in_world(config: Any, **options: Any) -> Any:
    """The config of a run whose demonstrations come from a world with other options."""
    if hasattr(config, "train"):
        return replace(config, train=replace(config.train, **options))
    return replace(config, **options)


def run_all(
    runs: Sequence[ExperimentRun[C]],
    folder: Path,
    jobs: int = 1,
    say: Callable[[str], None] | None = None,
    cluster: str | None = None,
) -> list[dict[str, Any]]:
    """The measurements of all runs in their order, from their files where they are finished.

    The others are made in ``jobs`` processes, or by as many workers of the Ray ``cluster`` at an address. A
    run that fails does not keep the others from being made; an `Error` says at the end which failed.
    """
    sweep(make_folder(folder))
    tell = say or (lambda _: None)
    left = [run for run in runs if _read(folder, run, tell) is None]
    if len(left) < len(runs):
        tell(f"{len(runs) - len(left)} of {len(runs)} runs are finished already")
    failures: list[Diagnostic] = []
    for done, (run, measured, problem) in enumerate(_made(left, folder, jobs, cluster), 1):
        if isinstance(problem, Error):
            failures += [replace(d, message=f"run {run.name}: {d.message}") for d in problem.diagnostics]
        elif problem is not None:
            raise problem
        elif measured is not None:
            _write(folder, run, measured)
        tell(f"{done}/{len(left)} {run.name}" + (" failed" if problem else ""))
    if failures:
        raise Error(failures)
    return [_finished(folder, run) for run in runs]


def finished_runs(runs: Sequence[ExperimentRun[C]], folder: Path) -> list[dict[str, Any] | None]:
    """The measurements of the runs in their order; None where a run is not finished."""
    return [_read(folder, run, lambda _: None) for run in runs]


def _made(
    runs: Sequence[ExperimentRun[C]], folder: Path, jobs: int, cluster: str | None
) -> Iterator[tuple[ExperimentRun[C], dict[str, Any] | None, BaseException | None]]:
    """What each run measured, or what was raised, as they end; workers of a cluster have no folder here."""
    if cluster is not None:
        return on_cluster(runs, _execute, cluster, jobs)
    work = partial(_execute, folder=folder)
    return share(runs, work, jobs) if jobs > 1 else ((run, *do(work, run)) for run in runs)


def _execute(run: ExperimentRun[C], folder: Path | None = None) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    begin, cpu = time.perf_counter(), time.process_time()
    begun = None if folder is None else _begun(folder, run)
    result = run.function(run.config, begun) if run.resumes else run.function(run.config)
    return {
        "result": result,
        "seconds": round(time.perf_counter() - begin, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
    }


def _begun(folder: Path, run: ExperimentRun[C]) -> Path:
    """What a run that resumes keeps until it is finished."""
    return folder / f"{run.key}.begun"


def _write(folder: Path, run: ExperimentRun[C], measured: dict[str, Any]) -> None:
    record = {
        "name": run.name,
        "function": run.code,
        "config": asdict(run.config),
        **measured,
        "origin": origin(),
    }
    write_file(folder / f"{run.key}.json", json.dumps(record, indent=1))
    shutil.rmtree(_begun(folder, run), ignore_errors=True)


def _read(folder: Path, run: ExperimentRun[C], tell: Callable[[str], None]) -> dict[str, Any] | None:
    """The file of a run; None where there is none, or none that is whole, which is told."""
    path = folder / f"{run.key}.json"
    if not path.exists():
        return None
    try:
        record = read_json(path, "lost-run")
    except Error:
        record = None
    if isinstance(record, dict) and record.keys() >= _PARTS:
        return record
    tell(f"{path} is not whole: the run is made again")
    return None


def _finished(folder: Path, run: ExperimentRun[C]) -> dict[str, Any]:
    record = _read(folder, run, lambda _: None)
    if record is None:
        raise error("lost-run", f"the file of run {run.name} has gone", help="run the same command again")
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
        "sources": sources(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "versions": versions,
    }


@cache
def sources() -> str:
    """The hash of the sources that run: of both packages, and of the engine where it lies beside them."""
    root = Path(__file__).parents[4]
    folders = [(Path(pdsketch.__file__).parent, "*.py"), (Path(__file__).parents[1], "*.py")]
    folders += [(root / "core", pattern) for pattern in ("*.cpp", "*.hpp", "*.h")]
    digest = hashlib.sha256()
    for folder, pattern in folders:
        for path in sorted(folder.rglob(pattern)):
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]


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
