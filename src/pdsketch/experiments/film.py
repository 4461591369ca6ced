"""An agent acting, as an animated GIF: the world on the left, the goal and the plan on the right."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, final

from pdsketch.act.world import World
from pdsketch.extras import missing_extra
from pdsketch.files.writing import make_folder, write_file
from pdsketch.lang.steps import Step

_PANEL = 400
_INK, _PALE, _ACCENT, _PAPER = (30, 34, 42), (150, 156, 168), (20, 110, 200), (250, 250, 248)


@final
@dataclass(frozen=True, slots=True)
class Clip:
    """One episode to show: a world and the seed of its start, what is wanted, and the plan."""

    world: World
    seed: int
    title: str
    plan: Sequence[Step]

    @property
    def names(self) -> list[str]:
        """The plan's actions without their arguments."""
        return [str(name) for name, *_ in self.plan]


def film(scenes: Iterable[Clip], path: Path, milliseconds: int = 350) -> int:
    """Play the scenes one after another and write them; returns the number of frames."""
    try:
        from PIL import Image
    except ImportError as problem:
        raise missing_extra("pillow", "experiments") from problem
    frames, times = [], []
    for scene in scenes:
        scene.world.reset(scene.seed)
        for done in range(len(scene.plan) + 1):
            frames.append(_frame(scene, done))
            times.append(milliseconds if 0 < done < len(scene.plan) else 4 * milliseconds)
            if done < len(scene.plan):
                scene.world.step(scene.plan[done])
    palette = [frame.convert("P", palette=Image.Palette.ADAPTIVE, colors=64) for frame in frames]
    written = BytesIO()
    settings = {"append_images": palette[1:], "duration": times, "loop": 0, "optimize": True}
    palette[0].save(written, "GIF", save_all=True, **settings)
    make_folder(path.parent)
    write_file(path, written.getbuffer())
    return len(frames)


def _frame(scene: Clip, done: int) -> Any:
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
    for at, name in enumerate(scene.names):
        column, row = divmod(at, max(1, (room.height - y - 10) // 15))
        colour = _PALE if at < done - 1 else _ACCENT if at == done - 1 else _INK
        draw.text((x + 120 * column, y + 15 * row), f"{at + 1:2} {name}", fill=colour)
    return picture
