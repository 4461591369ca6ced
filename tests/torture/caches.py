"""The cache of compiled kernels: damaged, full, read-only. Planning goes on, and is right."""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import _CacheLocator
from tests.torture import subject
from tests.torture.corruption import damaged
from tests.torture.disks import BLOCKS, PAGE, disk, used
from tests.torture.losses import Loss

from pdsketch.kernels import bits, cache
from pdsketch.search.latent import frontier
from pdsketch.search.packed import queue

SOURCE = """
def area(n):
    total = 0
    for i in range(n):
        total += i * {step}
    return total
"""


@contextmanager
def _folder(place: Path) -> Iterator[None]:
    before = numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES
    numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES = str(place), "UserProvidedCacheLocator"
    try:
        yield
    finally:
        numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES = before


def _kernel(place: Path, step: int) -> Any:
    file = place / "kernels.py"
    file.write_text(SOURCE.format(step=step))
    spec = importlib.util.spec_from_file_location("kernels", file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
    return cache.keep(numba.njit(module.area), module.area)


def small(seed: int, place: Path) -> list[Loss]:
    """A small kernel whose file was damaged, or is of another source, or cannot be written."""
    rng = random.Random(seed)

    def work() -> int:
        with _folder(place / "cache"):
            assert _kernel(place, 1)(10) == 45
            (file,) = (place / "cache").rglob("*.nbc")
            kind = rng.choice(["damage", "source", "full", "folder"])
            step = 1
            if kind == "damage":
                file.write_bytes(damaged(rng, file.read_bytes()))
            elif kind == "source":
                step = 3
            elif kind == "folder":
                file.unlink()
                file.mkdir()
            if kind == "full":
                shutil.rmtree(place / "cache")
                subject.limit_files(rng.randrange(500, 5000))()
            for _ in range(2):
                assert _kernel(place, step)(10) == 45 * step, kind
        return 0

    return subject.run(work, place).crashes()


def _copy_kernels(source: Path, cache_folder: Path) -> None:
    """The kernels that are kept beside a module, as they stand in a folder that the user has chosen."""
    target = cache_folder / _CacheLocator.get_suitable_cache_subpath(str(source))
    target.mkdir(parents=True, exist_ok=True)
    for file in (source.parent / "__pycache__").glob("*.nbc"):
        shutil.copy(file, target)


class Real:
    """The planner's own kernels, in new processes with a copy of the cache."""

    def __init__(self, root: Path, mounts: bool) -> None:
        self.mounts = mounts
        self.whole = root / "kernels"
        for module in (bits, frontier, queue):
            _copy_kernels(Path(str(module.__file__)), self.whole)
        self.words = [
            sys.executable,
            "-m",
            "pdsketch",
            "plan",
            str(BLOCKS / "domain.pddl"),
            str(BLOCKS / "p01.pddl"),
        ]
        self.plan = self._run(self.whole).stdout

    def _run(self, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words,
            capture_output=True,
            text=True,
            check=False,
            timeout=170,
            env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        )

    def damaged(self, seed: int, place: Path) -> list[Loss]:
        """One file of the cache is damaged, which this plan may use or not."""
        rng = random.Random(seed)
        shutil.copytree(self.whole, place / "cache")
        file = rng.choice(sorted((place / "cache").rglob("*.nbc")))
        file.write_bytes(damaged(rng, file.read_bytes()))
        return self._judged(place / "cache", most=1, least=0)

    def unwritable(self, seed: int, place: Path) -> list[Loss]:
        """Some kernels are to be compiled, and the disk is full, read-only, or no folder at all."""
        rng = random.Random(seed)
        if not self.mounts:
            (place / "cache").write_text("a file where the folder should be")
            return self._judged(place / "cache")
        with disk(place / "disk", used(self.whole)) as folder:
            cache = folder / "cache"
            shutil.copytree(self.whole, cache)
            for file in rng.sample(sorted(cache.rglob("*.nbc")), 8):
                file.unlink()
            if seed % 2:
                subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
            else:
                (folder / "filler").write_bytes(bytes(os.statvfs(folder).f_bavail * PAGE))
            return self._judged(cache, least=0)

    def _judged(self, folder: Path, most: int = 1, least: int = 1) -> list[Loss]:
        done = self._run(folder)
        if "Traceback" in done.stderr or done.returncode < 0:
            return [Loss("crash", done.stderr[-1000:])]
        losses = []
        if done.returncode or done.stdout != self.plan:
            losses.append(Loss("wrong", f"({done.returncode}) {done.stdout!r} {done.stderr[-500:]}"))
        told = [line for line in done.stderr.splitlines() if "compiled kernels" in line]
        if not least <= len(told) <= most:
            losses.append(Loss("silent", f"told {len(told)} times: {done.stderr!r}"))
        return losses
