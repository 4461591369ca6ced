"""A film of the Painting Factory: plans of a model, the gantry that carries them out, and what was predicted.

    python -m pdsketch_paper.experiments.painting_film MODEL [FILE]

Below each plan stands the table from above: blocks as they were observed are filled, and as the model
predicted them from the first picture on are outlined. Colours are those that the model sees.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pdsketch.lang import Error, Step, error
from pdsketch.tensor import Model, State, load_model
from pdsketch_paper.experiments.film import Clip, film
from pdsketch_paper.experiments.painting import painting_planner, painting_seeds
from pdsketch_paper.experiments.painting_tables import PaintingSearch
from pdsketch_paper.painting.adapter import PaintingWorld
from pdsketch_paper.painting.layout import COLOUR_NAMES, COLOURS

KINDS = ("pair", "all painted", "tower of three")

_SIZE = (400, 130)
_TABLE = (170, 110)
"""Pixels of the picture, and of a table in it."""

_BLOCK, _HEIGHT = 7, 60
"""Pixels of a block's side, and of a pose's height of 1: what is stacked is drawn higher."""


def painting_film(model: Model, path: Path, kinds: Sequence[str] = KINDS, seed: int = 0) -> int:
    """Plan for a goal of each kind, carry the plans out and write the film; returns the number of frames."""
    clips = []
    for kind in kinds:
        world = PaintingWorld(goals=kind)
        (start,) = painting_seeds(1, seed)
        state = world.reset(start)
        policy = painting_planner(model, PaintingSearch(), "open")
        policy.act(state, world.goal)
        plan = policy.result.plan if policy.result is not None else None
        if plan is None:
            why = f"the model has no plan for `{world.goal:.60}`"
            raise error("bad-model", why, help="train it on more demonstrations")
        clips.append(Clip(world, start, kind, plan, _Table(model, state, plan)))
    return film(clips, path, milliseconds=500)


class _Table:
    """Blocks from above, as predicted and as observed."""

    def __init__(self, model: Model, state: State, plan: Sequence[Step]) -> None:
        self._model = model
        self._predicted = [state]
        for step in plan:
            self._predicted.append(model.step(self._predicted[-1], step, crisp=True))

    def __call__(self, seen: Sequence[State]) -> Any:
        from PIL import Image, ImageDraw

        picture = Image.new("RGB", _SIZE, (250, 250, 248))
        draw = ImageDraw.Draw(picture)
        draw.rectangle((16, 4, 16 + _TABLE[0], 4 + _TABLE[1]), fill=(225, 225, 220))
        observed, predicted = seen[-1], self._predicted[len(seen) - 1]
        for x, y, _ in np.asarray(observed["container-pose"]).tolist():
            at = _pixel(x, y, 0.0)
            draw.ellipse([at[0] - 11, at[1] - 9, at[0] + 11, at[1] + 9], outline=(170, 170, 165))
        for state, filled in ((observed, True), (predicted, False)):
            poses = np.asarray(state["item-pose"].detach())
            for pose, colour in zip(poses.tolist(), self._colours(state), strict=True):
                x, y = _pixel(*pose)
                size = _BLOCK - 2 if filled else _BLOCK
                box = (x - size, y - size, x + size, y + size)
                draw.rectangle(box, fill=colour if filled else None, outline=None if filled else colour)
        apart = np.abs(np.asarray(predicted["item-pose"].detach()) - np.asarray(observed["item-pose"])).max()
        for line, text in enumerate(
            ("filled: observed", "outlined: predicted", "", f"poses differ by {apart:.3f} at most")
        ):
            draw.text((206, 10 + 15 * line), text, fill=(30, 34, 42))
        return picture

    def _colours(self, state: State) -> list[tuple[int, int, int]]:
        """The colour of each block, as the model sees it."""
        names = state.members(state.domain.predicates["item-pose"].object_types[0])
        truths = torch.stack(
            [
                torch.stack([self._model.holds(state, f"(is-{colour} {name})") for colour in COLOUR_NAMES])
                for name in names
            ]
        )
        return [COLOURS[COLOUR_NAMES[i]] for i in truths.reshape(len(names), -1).argmax(1).tolist()]


def _pixel(x: float, y: float, z: float) -> tuple[int, int]:
    return 16 + round(x * _TABLE[0]), 4 + round((1 - y) * _TABLE[1] - z * _HEIGHT)


def main() -> int:
    """Write the film of a saved model; exit code 1 where that cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m pdsketch_paper.experiments.painting_film")
    parser.add_argument("model", metavar="MODEL", help="the folder of a trained model")
    parser.add_argument("file", metavar="FILE", nargs="?", default="painting.gif", help="the film")
    args = parser.parse_args()
    try:
        model = load_model(args.model)
        if model.domain.name != "painting":
            raise error("bad-model", "this is no model of the Painting Factory", file=args.model)
        sys.stdout.write(f"{painting_film(model, Path(args.file))} frames in {args.file}\n")
    except Error as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
