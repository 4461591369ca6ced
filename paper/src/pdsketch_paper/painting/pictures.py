"""Pictures of the table, drawn by the package itself or rendered by MuJoCo, and the crops that are seen."""

from __future__ import annotations

from typing import Any, Literal, final

import numpy as np

from pdsketch.lang import error
from pdsketch_paper.painting.layout import (
    AHEAD,
    BOWL_HEIGHT,
    BOWL_RADIUS,
    BOWL_SIDES,
    BOX_HALF,
    BOX_HEIGHT,
    BROWN,
    CROP,
    EYE,
    FLOOR,
    FOCAL,
    GANTRY_GROUP,
    HEIGHT,
    PALETTE,
    REST,
    SIDE,
    STEEL,
    TABLE,
    WALL,
    WIDTH,
    ZONE_COLOURS,
    ZONES,
    Array,
    bounding_box,
    crop,
    point,
    to_camera,
    to_pixels,
)
from pdsketch_paper.painting.simulation import Simulation

AMBIENT = 0.6
"""The light that falls on faces from everywhere; the rest comes from the lamp."""

_CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
_FACES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
_COLUMNS = (np.arange(WIDTH) + 0.5 - WIDTH / 2) / FOCAL
_ROWS = (np.arange(HEIGHT) + 0.5 - HEIGHT / 2) / FOCAL


def cuboid(centre: Array, half: Array, turned: Array | None = None) -> Array:
    """The six faces ``[6, 4, 3]`` of a box; ``turned`` is its rotation matrix."""
    corners = _CUBE * half
    corners = corners if turned is None else corners @ turned.T
    return np.asarray((corners + centre)[_FACES])


@final
class Canvas:
    """A picture under way: colours, and how far away each pixel's surface is."""

    def __init__(self, lamp: Array, brightness: float) -> None:
        self.pixels = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
        self.depth = np.full((HEIGHT, WIDTH), np.inf)
        self.lamp, self.brightness = lamp, brightness

    def copy(self) -> Canvas:
        """The same picture, to draw more into."""
        other = Canvas(self.lamp, self.brightness)
        other.pixels, other.depth = self.pixels.copy(), self.depth.copy()
        return other

    def draw(self, faces: Array, colour: tuple[int, int, int] | Array, *, both_sides: bool = False) -> None:
        """Fill convex polygons ``[n, corners, 3]``; of solids, those that face away are left out."""
        normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        towards = ((EYE - faces[:, 0]) * normals).sum(1)
        normals = np.where(towards[:, None] < 0, -normals, normals)
        light = AMBIENT + (1 - AMBIENT) * np.clip(normals @ self.lamp, 0, None)
        shades = np.clip(np.asarray(colour) * (self.brightness * light)[:, None], 0, 255).astype(np.uint8)
        seen = to_camera(faces)
        corners = to_pixels(seen)
        for i in range(len(faces)):
            if both_sides or towards[i] > 0:
                self._fill(seen[i], corners[i], shades[i])

    def _fill(self, seen: Array, corners: Array, shade: Array) -> None:
        """One polygon: the pixels within its edges that are nearer than what was drawn there."""
        left, top = np.maximum(np.floor(corners.min(0)), 0).astype(int)
        right, bottom = np.minimum(np.ceil(corners.max(0)), (WIDTH, HEIGHT)).astype(int)
        if right <= left or bottom <= top:
            return
        x, y = np.arange(left, right) + 0.5, np.arange(top, bottom) + 0.5
        inside = np.ones((bottom - top, right - left), dtype=np.bool_)
        ahead = np.concatenate([corners[1:], corners[:1]])
        turn = corners[:, 0] @ ahead[:, 1] - corners[:, 1] @ ahead[:, 0]
        around = zip(corners.tolist(), ahead.tolist(), strict=True)
        for (x0, y0), (x1, y1) in around if turn > 0 else ((b, a) for a, b in around):
            inside &= ((x1 - x0) * (y - y0))[:, None] >= ((y1 - y0) * (x - x0))[None]
        (ux, uy, uz), (vx, vy, vz) = (seen[1] - seen[0]).tolist(), (seen[2] - seen[0]).tolist()
        normal = np.array([uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx])
        slope = (normal[0] * _COLUMNS[left:right] + normal[2])[None] + (normal[1] * _ROWS[top:bottom])[
            :, None
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = float(normal @ seen[0]) / slope
        held = self.depth[top:bottom, left:right]
        nearer = inside & (depth < held)
        held[nearer] = depth[nearer]
        self.pixels[top:bottom, left:right][nearer] = shade


def lamp_from(direction: Array) -> Array:
    """The unit vector towards the lamp; the camera's own direction is as good as any to begin with."""
    towards: Array = np.asarray(direction, dtype=np.float64) - 0.3 * AHEAD
    return np.asarray(towards / np.linalg.norm(towards))


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
