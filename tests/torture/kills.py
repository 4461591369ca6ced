"""kill −9 while something is written: what was there before is there, or what was to be written is."""

from __future__ import annotations

import os
import random
import shutil
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
