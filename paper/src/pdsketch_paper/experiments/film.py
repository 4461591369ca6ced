"""An agent acting, as an animated GIF: the world on the left, the goal and the plan on the right.

Worlds that have a ``watcher``, a function that they call while an action goes on, are filmed meanwhile.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, final

import numpy as np

from pdsketch.act import World
from pdsketch.files import make_folder, write_file
from pdsketch.lang import Step
from pdsketch.tensor import State

_PANEL = 400
_LONGEST = 44
"""Letters of an action that fit into the panel."""

_EVERY, _MEANWHILE = 7, 100
"""Of the calls while an action goes on, every so many is a frame, of so many milliseconds."""

_INK, _PALE, _ACCENT, _PAPER = (30, 34, 42), (150, 156, 168), (20, 110, 200), (250, 250, 248)


@final
@dataclass(frozen=True, slots=True)
class Clip:
    """One episode to show: a world and the seed of its start, what is wanted, and the plan.

    ``beside`` draws a picture to stand below the plan, of the states that were observed so far.
    """

    world: World
    seed: int
    title: str
    plan: Sequence[Step]
    beside: Callable[[Sequence[State]], Any] | None = None

    @property
    def names(self) -> list[str]:
        """The plan's actions, with their arguments where they are few."""
        named = [" ".join([str(name), *map(_written, arguments)]) for name, *arguments in self.plan]
        return named if max(map(len, named), default=0) <= _LONGEST else [str(name) for name, *_ in self.plan]


def _written(argument: Any) -> str:
    if isinstance(argument, str):
        return argument
    return f"[{' '.join(f'{number:.2f}' for number in np.ravel(argument).tolist())}]"


def film(scenes: Iterable[Clip], path: Path, milliseconds: int = 350) -> int:
    """Play the scenes one after another and write them; returns the number of frames."""
    from PIL import Image

    frames, times = [], []
    for scene in scenes:
        world: Any = scene.world
        seen, calls = [world.reset(scene.seed)], count()

        def watch(scene: Clip = scene, seen: Sequence[State] = seen, calls: Iterator[int] = calls) -> None:
            if next(calls) % _EVERY == 0:
                frames.append(_frame(scene, len(seen), seen))
                times.append(_MEANWHILE)

        if hasattr(world, "watcher"):
            world.watcher = watch
        try:
            for done in range(len(scene.plan) + 1):
                frames.append(_frame(scene, done, seen))
                times.append(milliseconds if 0 < done < len(scene.plan) else 4 * milliseconds)
                if done < len(scene.plan):
                    seen.append(world.step(scene.plan[done]))
        finally:
            if hasattr(world, "watcher"):
                world.watcher = None
    palette = [frame.convert("P", palette=Image.Palette.ADAPTIVE, colors=64) for frame in frames]
    written = BytesIO()
    settings = {"append_images": palette[1:], "duration": times, "loop": 0, "optimize": True}
    palette[0].save(written, "GIF", save_all=True, **settings)
    make_folder(path.parent)
    write_file(path, written.getbuffer())
    return len(frames)


def _frame(scene: Clip, done: int, seen: Sequence[State]) -> Any:
    from PIL import Image, ImageDraw

    room = Image.fromarray(scene.world.render())
    picture = Image.new("RGB", (room.width + _PANEL, room.height), _PAPER)
    picture.paste(room, (0, 0))
    draw = ImageDraw.Draw(picture)
    x, y = room.width + 16, 12
    draw.text((x, y), scene.title, fill=_ACCENT)
    y += 22
    for line in textwrap.wrap(scene.world.goal, 58):
        draw.text((x, y), line, fill=_INK)
        y += 14
    y += 12
    below = scene.beside(seen) if scene.beside is not None else None
    room_below = room.height - y - 10 - (below.height if below is not None else 0)
    wide = 24 + round(max(map(draw.textlength, scene.names), default=0))
    for at, name in enumerate(scene.names):
        column, row = divmod(at, max(1, room_below // 15))
        colour = _PALE if at < done - 1 else _ACCENT if at == done - 1 else _INK
        draw.text((x + wide * column, y + 15 * row), f"{at + 1:2} {name}", fill=colour)
    if below is not None:
        picture.paste(below, (room.width, room.height - below.height))
    return picture
