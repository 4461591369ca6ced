"""kill −9 while something is written: what was there before is there, or what was to be written is."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from tests.torture import fixtures, subject
from tests.torture.losses import Loss
from tests.torture.moments import some_moment

import pdsketch as pds
from pdsketch.lang.diagnostics import Error
from pdsketch.training.data.files import save_episodes
from pdsketch_paper.babyai.states import load_sketch


def replaced(
    folder: Path,
    read: Callable[[Path], str],
    old: str | None,
    new: str,
) -> list[Loss]:
    """What is wrong with a folder whose old contents were being replaced by new ones."""
    if old is None and not any(folder.glob("*.json")):
        return []
    try:
        found = read(folder)
    except Error as problem:
        return [Loss("lost", f"refused: {problem}; files: {sorted(os.listdir(folder))}")]
    return [] if found in (old, new) else [Loss("wrong", "neither the old contents nor the new ones")]


def again(work: Callable[[], Any], folder: Path, read: Callable[[Path], str], new: str) -> list[Loss]:
    """What is wrong after the same was written once more, undisturbed."""
    try:
        work()
        found = read(folder)
    except Error as problem:
        return [Loss("lost", f"cannot be written again: {problem}")]
    return [] if found == new else [Loss("wrong", "written again, and something else is read")]


class Kills:
    """The tries, with what was measured before them."""

    def __init__(self, facts: fixtures.Facts) -> None:
        self.facts = facts
        self.rooms = {which: fixtures.episodes_in(fixtures.root() / "data" / which) for which in "ab"}
        self.models = {which: fixtures.model_in(fixtures.root() / f"model-{which}") for which in "ab"}
        self.base = load_sketch("rob")
        self.babyai = {
            name: fixtures.episodes_in(fixtures.root() / name, self.base)
            for name in ("babyai", "babyai-other")
        }

    def save_data(self, seed: int, place: Path) -> list[Loss]:
        """`save_episodes` over other episodes, or into a new folder."""
        rng = random.Random(seed)
        folder = place / "data"
        old = rng.random() < 0.8
        if old:
            shutil.copytree(fixtures.root() / "data" / "a", folder)
        columns = fixtures.columns("b")

        def work() -> None:
            save_episodes(columns, folder)

        ended = subject.run(work, place, **some_moment(rng, 0.02, 30))
        losses = ended.crashes(killed=True)
        losses += replaced(folder, fixtures.episodes_in, self.rooms["a"] if old else None, self.rooms["b"])
        losses += again(work, folder, fixtures.episodes_in, self.rooms["b"])
        return losses + _litter(folder, {"manifest.json", "arrays.safetensors"})

    def data(self, seed: int, place: Path) -> list[Loss]:
        """``pdsketch data`` over other episodes."""
        rng = random.Random(seed)
        folder = place / "data"
        shutil.copytree(fixtures.root() / "babyai", folder)
        words = fixtures.babyai(folder, 1)
        ended = subject.run(subject.command(*words), place, **some_moment(rng, self.facts.data, 40))
        losses = ended.crashes(killed=True)

        def read(path: Path) -> str:
            return fixtures.episodes_in(path, self.base)

        old, new = self.babyai["babyai"], self.babyai["babyai-other"]
        losses += replaced(folder, read, old, new)
        return losses + again(lambda: subject.run(subject.command(*words), place), folder, read, new)

    def save(self, seed: int, place: Path) -> list[Loss]:
        """`Model.save` over another model, of this sketch or of another."""
        rng = random.Random(seed)
        folder = place / "model"
        old, new = rng.choice(["ab", "ba"])
        if rng.random() < 0.8:
            shutil.copytree(fixtures.root() / f"model-{old}", folder)
        else:
            old = ""
        model = pds.load_model(str(fixtures.root() / f"model-{new}"))
        ended = subject.run(lambda: model.save(str(folder)), place, **some_moment(rng, self.facts.save, 40))
        losses = ended.crashes(killed=True)
        losses += replaced(folder, fixtures.model_in, self.models.get(old), self.models[new])
        return losses + again(lambda: model.save(str(folder)), folder, fixtures.model_in, self.models[new])

    def train(self, seed: int, place: Path) -> list[Loss]:
        """``pdsketch train``, killed and resumed: the checkpoint is never worse, the end always the same."""
        rng = random.Random(seed)
        folder = place / "model"
        begun = rng.random() < 0.5
        if begun:
            shutil.copytree(fixtures.root() / "half", folder)
        words = fixtures.training(folder, *(["--resume"] if begun else []))
        ended = subject.run(subject.command(*words), place, **some_moment(rng, self.facts.train, 150))
        losses = ended.crashes(killed=True)
        step = fixtures.step_of(folder / "checkpoint.safetensors")
        if begun and step < fixtures.HALF:
            losses.append(Loss("lost", f"the checkpoint is at step {step}, and was at {fixtures.HALF}"))
        done = subject.run(subject.command(*fixtures.training(folder, "--resume")), place)
        losses += done.crashes()
        if done.code != 0:
            return [*losses, Loss("lost", f"cannot be resumed ({done.code}): {done.err[-500:]}")]
        return losses + _differences(folder, fixtures.root() / "whole")

    def reproduce(self, seed: int, place: Path) -> list[Loss]:
        """A table of runs over two processes, killed: runs are whole, workers end, the rest is made."""
        rng = random.Random(seed)
        folder = place / "runs"
        script = [sys.executable, "-m", "tests.torture.table", str(folder)]
        with open(place / "err", "w") as err:
            parent = subprocess.Popen(script, stdout=err, stderr=err, start_new_session=True)
            time.sleep(rng.uniform(0.2, 5.0))
            parent.send_signal(signal.SIGKILL)
            parent.wait()
        losses = _orphans(parent.pid, patience=3.0)
        whole = 0
        for file in folder.glob("*.json"):
            try:
                whole += "result" in json.loads(file.read_text())
            except ValueError:
                losses.append(Loss("wrong", f"{file.name} is not whole"))
        done = subprocess.run(script, capture_output=True, text=True, timeout=120, check=False)
        if "Traceback" in done.stderr:
            losses.append(Loss("crash", done.stderr[-1500:]))
        if done.stdout.split() != [str(n * n) for n in range(6)]:
            losses.append(Loss("lost", f"after {whole} finished runs: {done.stdout!r} {done.stderr[-500:]}"))
        if whole and f"{whole} of 6 runs are finished already" not in done.stderr:
            losses.append(Loss("lost", f"{whole} finished runs were not taken over: {done.stderr[-500:]}"))
        return losses


def _litter(folder: Path, expected: set[str]) -> list[Loss]:
    left = fixtures.litter(folder, expected)
    return [Loss("silent", f"left behind: {left}")] if left else []


def _differences(folder: Path, whole: Path) -> list[Loss]:
    """Whether a model is, bit for bit, the one of an uninterrupted fit, its log included."""
    losses = []
    for name in ("weights.safetensors", "checkpoint.safetensors"):
        ours, theirs = load_file(folder / name), load_file(whole / name)
        if ours.keys() != theirs.keys() or not all(torch.equal(ours[n], theirs[n]) for n in ours):
            losses.append(Loss("wrong", f"{name} is another after the resumption"))
    if (folder / "log.csv").read_text() != (whole / "log.csv").read_text():
        losses.append(Loss("lost", "log.csv is another after the resumption"))
    return losses


def _orphans(session: int, patience: float) -> list[Loss]:
    """Whether processes of a session are still there after some seconds; those are then ended."""
    deadline = time.monotonic() + patience
    left = _members(session)
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = _members(session)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return (
        [Loss("hang", f"{len(left)} workers are still there {patience:g} s after their parent")]
        if left
        else []
    )


def _members(session: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parts = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(parts[3]) == session and parts[0] != "Z":
                found.append(int(entry.name))
    return found
