"""Disks that run full while something is written: it is told in one diagnostic, and what was there stays.

A disk is a tmpfs of a few pages, if the system lets us mount one; else, and in a part of the tries anyway,
files are kept from growing (``RLIMIT_FSIZE``).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.torture import fixtures, subject
from tests.torture.losses import Loss

import pdsketch as pds
from pdsketch.lang.diagnostics import Error

PAGE = 4096
BLOCKS = Path(__file__).parents[2] / "examples" / "blocks"

Read = Callable[[Path], str]


def can_mount(place: Path) -> bool:
    """Whether a tmpfs can be mounted here."""
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        return False
    subprocess.run(["umount", str(place)], check=True)
    return True


@contextmanager
def disk(place: Path, size: int) -> Iterator[Path]:
    """A disk of so many bytes."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def used(folder: Path) -> int:
    """The bytes that a folder takes on such a disk."""
    pages = [-(-file.stat().st_size // PAGE) for file in folder.rglob("*") if file.is_file()]
    return PAGE * (sum(pages) + len(pages) + 4)


class Disks:
    """The tries, by what is written."""

    def __init__(self, mounts: bool) -> None:
        self.mounts = mounts
        root = fixtures.root()
        self.kinds: dict[str, tuple[Path, Callable[[Path], list[str]], Read]] = {
            "train": (
                root / "whole",
                lambda folder: fixtures.training(folder, "--resume", "--steps", str(fixtures.STEPS + 2)),
                fixtures.model_in,
            ),
        }

    def command(self, seed: int, place: Path) -> list[Loss]:
        """A command over what it has written before."""
        rng = random.Random(seed)
        kind = rng.choice(sorted(self.kinds))
        old, words, read = self.kinds[kind]
        return self._written(
            rng, place, old, lambda folder: subject.command(*words(folder), "--json"), read, speaks=True
        )

    def save(self, seed: int, place: Path) -> list[Loss]:
        """`Model.save` over another model."""
        rng = random.Random(seed)
        model = pds.load_model(str(fixtures.root() / "model-b"))

        def work(folder: Path) -> Callable[[], int]:
            def save() -> int:
                try:
                    model.save(str(folder))
                except Error:
                    return 31
                return 0

            return save

        return self._written(rng, place, fixtures.root() / "model-a", work, fixtures.model_in, speaks=False)

    def _written(
        self,
        rng: random.Random,
        place: Path,
        old: Path,
        work: Callable[[Path], Callable[[], int]],
        read: Read,
        *,
        speaks: bool,
    ) -> list[Loss]:
        """Write over a folder on a disk that has little room left, and look at what is there afterwards."""
        before = read(old)
        if self.mounts and rng.random() < 0.7:
            with disk(place / "disk", used(old) + rng.randrange(0, 3 * used(old))) as full:
                folder = full / "folder"
                shutil.copytree(old, folder)
                ended = subject.run(work(folder), place)
                return self._judged(ended, folder, before, read, speaks)
        folder = place / "folder"
        shutil.copytree(old, folder)
        limit = subject.limit_files(rng.randrange(0, 60_000))
        ended = subject.run(work(folder), place, before=limit)
        return self._judged(ended, folder, before, read, speaks)

    def _judged(
        self, ended: subject.Ended, folder: Path, before: str, read: Read, speaks: bool
    ) -> list[Loss]:
        losses = ended.crashes()
        try:
            now = read(folder)
        except Error as problem:
            return [*losses, Loss("lost", f"what was there is refused ({ended.code}): {problem}")]
        if ended.code == 31 and now != before:
            losses.append(Loss("wrong", f"it failed, and something else is there: {ended.err[-300:]}"))
        if ended.code not in (0, 31) and not losses:
            losses.append(Loss("silent", f"exit code {ended.code}: {ended.err[-300:]}"))
        if speaks and not losses:
            losses += one_object(ended, failed=ended.code != 0)
        return losses

    def small_outputs(self, seed: int, place: Path) -> list[Loss]:
        """Files that the user names: a plan, a picture, a file in canonical layout."""
        rng = random.Random(seed)
        domain, problem = str(BLOCKS / "domain.pddl"), str(BLOCKS / "p01.pddl")
        name = rng.choice(["plan", "svg", "fmt"])
        with self._small(rng, place) as (folder, before):
            target = folder / f"target.{name}"
            if name == "fmt":
                target.write_text((BLOCKS / "domain.pddl").read_text().replace("\n", " \n "))
            elif rng.random() < 0.7:
                target.write_text("old")
            old = target.read_bytes() if target.exists() else None
            words = {
                "plan": ["plan", domain, problem, "-o", str(target)],
                "svg": ["show", domain, "--graph", str(target)],
                "fmt": ["fmt", str(target)],
            }[name]
            ended = subject.run(subject.command(*words, "--json"), place, before=before(rng))
            losses = ended.crashes()
            now = target.read_bytes() if target.exists() else None
            if ended.code == 0 and (now is None or now == old):
                losses.append(Loss("silent", f"exit code 0, and {name} was not written"))
            if ended.code != 0 and now != old:
                losses.append(Loss("lost", f"{name}: {old!r:.40} is now {now!r:.40} ({ended.code})"))
            if not losses:
                losses += one_object(ended, failed=ended.code != 0)
            return losses

    @contextmanager
    def _small(
        self, rng: random.Random, place: Path
    ) -> Iterator[tuple[Path, Callable[[random.Random], Callable[[], None] | None]]]:
        if self.mounts and rng.random() < 0.7:
            with disk(place / "disk", 4 * PAGE) as full:
                # Filled up but for some bytes when everything else is in place.
                def fill(rng: random.Random) -> None:
                    left = rng.choice([0, 0, 1, 2]) * PAGE
                    free = os.statvfs(full).f_bavail * PAGE - left
                    if free > 0:
                        (full / "filler").write_bytes(bytes(free))

                yield full, fill
        else:
            yield place, lambda rng: subject.limit_files(rng.choice([0, 1, 5, 50, 500]))


def one_object(ended: subject.Ended, *, failed: bool) -> list[Loss]:
    """What is wrong with the one JSON object that a command prints."""
    try:
        said = json.loads(ended.out)
    except ValueError:
        return [Loss("silent", f"no JSON object ({ended.code}): {ended.out[-300:]!r} {ended.err[-300:]!r}")]
    if failed and not said.get("diagnostics"):
        return [Loss("silent", f"it failed without a diagnostic: {ended.out[-300:]}")]
    return []
