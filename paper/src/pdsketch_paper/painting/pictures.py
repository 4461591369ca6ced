"""What the camera sees: drawn by our own rasteriser, or by MuJoCo where there is a graphics driver."""

from __future__ import annotations

from typing import Any, Literal, final

import numpy as np

from pdsketch.lang import error
from pdsketch_paper.painting.camera import CROP, HEIGHT, WIDTH, bounding_box, crop
from pdsketch_paper.painting.layout import (
    BOWL_HEIGHT,
    BOWL_RADIUS,
    BOWL_SIDES,
    BOX_HALF,
    BOX_HEIGHT,
    BROWN,
    FLOOR,
    PALETTE,
    REST,
    SIDE,
    STEEL,
    TABLE,
    WALL,
    ZONE_COLOURS,
    ZONES,
    Array,
    point,
)
from pdsketch_paper.painting.mjcf import GANTRY_GROUP
from pdsketch_paper.painting.raster import Canvas, cuboid, lamp_from
from pdsketch_paper.painting.simulation import Simulation

Mode = Literal["rasterised", "rendered"]

_ANGLES = (np.arange(BOWL_SIDES) + 0.5) * 2 * np.pi / BOWL_SIDES
_RING = np.stack([np.cos(_ANGLES), np.sin(_ANGLES), np.zeros(BOWL_SIDES)], 1) / np.cos(np.pi / BOWL_SIDES)
_BASE, _RIM = point(0, 0, FLOOR - REST), point(0, 0, BOWL_HEIGHT - REST)


@final
class Pictures:
    """The camera of one simulation. ``begin`` forgets what does not move within an episode."""

    def __init__(self, simulation: Simulation, mode: Mode) -> None:
        self.simulation = simulation
        self._renderer: Any = _open_renderer(simulation) if mode == "rendered" else None
        self._still: Canvas | None = None
        self._lamp, self._brightness = lamp_from(np.array([-0.4, -0.6, 1.6])), 1.0

    def begin(self, lamp: Array, brightness: float) -> None:
        """Another table, in another light."""
        self._still, self._lamp, self._brightness = None, lamp_from(lamp), brightness
        if self._renderer is not None:
            model = self.simulation.model
            model.light_diffuse[:] = 0.35 * brightness
            model.light_dir[:] = -self._lamp
            model.vis.headlight.ambient[:] = 0.45 * brightness
            model.vis.headlight.diffuse[:] = 0.35 * brightness

    def take(self, *, gantry: bool = False) -> Array:
        """The picture ``[height, width, 3]``; of the gantry only where it is asked for."""
        if self._renderer is not None:
            import mujoco

            option = mujoco.MjvOption()
            option.geomgroup[GANTRY_GROUP] = gantry
            self._renderer.update_scene(self.simulation.data, camera="front", scene_option=option)
            return np.array(self._renderer.render())
        if self._still is None:
            self._still = self._draw_still()
        canvas = self._still.copy()
        simulation = self.simulation
        half = np.full(3, SIDE / 2)
        blocks = zip(simulation.positions, simulation.rotations, simulation.colours, strict=True)
        for centre, turned, colour in blocks:
            canvas.draw(cuboid(centre, half, turned), PALETTE[colour])
        if gantry:
            cup = simulation.cup
            canvas.draw(cuboid(cup + point(0, 0, 0.006), point(0.012, 0.012, 0.006)), STEEL)
            canvas.draw(cuboid(cup + point(0, 0, 0.16), point(0.006, 0.006, 0.15)), STEEL)
        return canvas.pixels

    def crops(self) -> tuple[Array, Array]:
        """A crop of each block, and of each container ``[n, 32, 32, 3]``."""
        picture = self.take()
        simulation, half = self.simulation, np.full(3, SIDE / 2)
        blocks = [
            crop(picture, bounding_box(cuboid(centre, half, turned).reshape(-1, 3)))
            for centre, turned in zip(simulation.positions, simulation.rotations, strict=True)
        ]
        around = [_bowl_corners(centre) for centre in simulation.containers[:-1]]
        around.append(cuboid(simulation.containers[-1], _BOX_EXTENT).reshape(-1, 3))
        containers = [crop(picture, bounding_box(corners)) for corners in around]
        empty = np.zeros((0, CROP, CROP, 3), np.uint8)
        return np.stack(blocks) if blocks else empty, np.stack(containers)

    def _draw_still(self) -> Canvas:
        """The table, its zones, the bowls and the box."""
        canvas = Canvas(self._lamp, self._brightness)
        canvas.draw(cuboid(point(0, 0, -0.02), point(0.52, 0.42, 0.02)), TABLE)
        for name, (left, right, near, far) in ZONES.items():
            mat = point((left + right) / 2, (near + far) / 2, 0.0)
            half = point((right - left) / 2, (far - near) / 2, 0.0005)
            canvas.draw(cuboid(mat, half)[5:], ZONE_COLOURS[name])
        simulation = self.simulation
        for centre, paint in zip(simulation.containers[:-1], simulation.paints, strict=True):
            base = centre + _BASE + _RING * BOWL_RADIUS
            rim = centre + _RIM + _RING * BOWL_RADIUS
            canvas.draw(base[None], PALETTE[paint])
            walls = np.stack([base, np.roll(base, -1, 0), np.roll(rim, -1, 0), rim], 1)
            canvas.draw(walls, PALETTE[paint] * 0.85, both_sides=True)
        box = simulation.containers[-1] - point(0, 0, REST)
        canvas.draw(cuboid(box + point(0, 0, FLOOR / 2), point(BOX_HALF, BOX_HALF, FLOOR / 2)), BROWN)
        away, long, high = BOX_HALF + WALL / 2, BOX_HALF + WALL, BOX_HEIGHT / 2
        for sign in (1, -1):
            canvas.draw(cuboid(box + point(sign * away, 0, high), point(WALL / 2, long, high)), BROWN)
            canvas.draw(cuboid(box + point(0, sign * away, high), point(long, WALL / 2, high)), BROWN)
        return canvas

    def close(self) -> None:
        """Give the graphics driver back what it lent."""
        if self._renderer is not None:
            self._renderer.close()


_BOX_EXTENT = point(BOX_HALF + WALL, BOX_HALF + WALL, BOX_HEIGHT / 2)


def _bowl_corners(centre: Array) -> Array:
    around = _RING * (BOWL_RADIUS + WALL)
    return np.concatenate([centre + _BASE + around, centre + _RIM + around])


def _open_renderer(simulation: Simulation) -> Any:
    """MuJoCo's renderer; where there is no graphics driver, an error that says what to do without."""
    import mujoco

    try:
        return mujoco.Renderer(simulation.model, HEIGHT, WIDTH)
    except Exception as problem:  # each driver fails in its own way
        raise error(
            "no-graphics",
            f"MuJoCo cannot draw here: {type(problem).__name__}: {problem!s:.120}",
            help='set MUJOCO_GL=egl or MUJOCO_GL=osmesa, or use images="rasterised", which needs no driver',
        ) from problem
