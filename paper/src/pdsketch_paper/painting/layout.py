"""The table: where things are, how the camera sees them, and the scene as MuJoCo's XML."""

from __future__ import annotations

from functools import cache
from math import cos, pi, radians, sin, tan
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SIDE = 0.04
"""The edge of a block."""

LOW = np.array([-0.5, -0.4, 0.0])
SPAN = np.array([1.0, 0.8, 0.3])
"""The corner of the space that poses are relative to, and its extent: a pose is ``(metres − LOW) / SPAN``."""

FLOOR = 0.004
"""How thick the floors of bowls and of the box are."""

REST = FLOOR + SIDE / 2
"""How high the centre of a block is that rests on a container's floor: a container's own pose, too."""

BOWL_RADIUS = 0.07
"""From a bowl's centre to its wall, on the inside."""

BOWL_HEIGHT = 0.03
WALL = 0.004
"""How high a bowl is, and how thick walls are."""

BOWL_SIDES = 8
"""Bowls are prisms: walls of boxes are cheap in collisions."""

BOX_HALF = 0.14
BOX_HEIGHT = 0.02
"""Half the inner edge of the box, and the height of its walls."""

ZONES: dict[str, tuple[float, float, float, float]] = {
    "supply": (-0.49, -0.19, -0.37, 0.37),
    "target": (-0.17, 0.17, -0.37, 0.37),
    "paint": (0.18, 0.5, -0.4, 0.4),
}
"""Each zone's least and greatest x, and least and greatest y."""

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 39, 40),
    "orange": (247, 140, 30),
    "yellow": (240, 220, 50),
    "green": (44, 160, 60),
    "cyan": (40, 200, 215),
    "blue": (40, 80, 200),
    "purple": (130, 60, 175),
    "pink": (245, 130, 190),
}
"""The eight colours of blocks and paint."""

COLOUR_NAMES = tuple(COLOURS)
PALETTE = np.array(list(COLOURS.values()), dtype=np.uint8)

TABLE, BROWN, STEEL = (196, 196, 190), (125, 85, 50), (70, 72, 78)
ZONE_COLOURS: dict[str, tuple[int, int, int]] = {
    "supply": (182, 188, 196),
    "target": (200, 186, 170),
    "paint": (188, 196, 182),
}

BLOCK_SLOTS = tuple((x, y) for x in (-0.44, -0.34, -0.24) for y in np.linspace(-0.31, 0.31, 7).round(3))
"""Where blocks may begin, before the jitter: a hundred millimetres apart."""

BOX_SLOTS = tuple((x, y) for x in (-0.09, 0.0, 0.09) for y in (-0.09, 0.0, 0.09) if (x, y) != (0.0, 0.0))
"""Where blocks may begin in the box, relative to its middle, which stays free."""

BOWL_SLOTS = tuple((x, y) for x in (0.26, 0.42) for y in (-0.32, -0.16, 0.0, 0.16, 0.32))
"""Where bowls may stand."""

BLOCK_JITTER, BOWL_JITTER, BOX_JITTER = 0.015, 0.003, 0.02
"""How far things begin from their slots, at most, along each axis."""


def point(*numbers: float) -> Array:
    """A place, or a way from one place to another: x, y, z."""
    return np.array(numbers, dtype=np.float64)


def to_pose(metres: Array) -> Array:
    """Positions as poses; what has left the space is at its edge."""
    return np.asarray(np.clip((metres - LOW) / SPAN, 0.0, 1.0), dtype=np.float32)


def to_metres(pose: Any) -> Array:
    """A pose as a position."""
    return np.asarray(np.asarray(pose, dtype=np.float64) * SPAN + LOW)


WIDTH, HEIGHT = 400, 300
"""Pixels of the picture: a block is about 14 of them wide."""

CROP = 32
"""Pixels along one side of a crop, as in the paper."""

EYE = np.array([0.0, -0.78, 1.12])
FIELD = 41.0
"""Where the camera is, and its vertical field of view in degrees: the whole table is in the picture."""

_AHEAD = np.array([0.0, -0.02, 0.0]) - EYE
AHEAD = _AHEAD / np.linalg.norm(_AHEAD)
RIGHT = np.array([1.0, 0.0, 0.0])
UP = np.cross(RIGHT, AHEAD)
"""The camera's axes."""

AXES = np.stack([RIGHT, -UP, AHEAD])
FOCAL = HEIGHT / 2 / tan(radians(FIELD) / 2)
"""Pixels a unit of tangent."""


def to_camera(points: Array) -> Array:
    """Points ``[..., 3]`` of the table's space as (right, down, ahead) of the camera."""
    turned: Array = (points - EYE) @ AXES.T
    return turned


def to_pixels(points: Array) -> Array:
    """Points of the camera's space as (column, row) ``[..., 2]``."""
    flat = points[..., :2] / points[..., 2:] * FOCAL
    return np.stack([flat[..., 0] + WIDTH / 2, flat[..., 1] + HEIGHT / 2], -1)


def bounding_box(points: Array) -> tuple[int, int, int, int] | None:
    """The least and greatest column, and row, of points ``[n, 3]``; None where nothing is in the picture."""
    pixels = to_pixels(to_camera(points))
    left, top = np.maximum(np.floor(pixels.min(0)), 0).astype(int)
    right, bottom = np.minimum(np.ceil(pixels.max(0)), (WIDTH, HEIGHT)).astype(int)
    if right <= left or bottom <= top:
        return None
    return int(left), int(right), int(top), int(bottom)


def crop(picture: Array, box: tuple[int, int, int, int] | None) -> Array:
    """The part of the picture within the box, resized; black where the box is empty."""
    if box is None:
        return np.zeros((CROP, CROP, 3), dtype=np.uint8)
    left, right, top, bottom = box
    steps = (np.arange(CROP) + 0.5) / CROP
    columns = left + (steps * (right - left)).astype(int)
    rows = top + (steps * (bottom - top)).astype(int)
    return np.asarray(picture[rows[:, None], columns])


TIME_STEP = 0.004
"""Seconds of a physics step: blocks of this size stay at rest with it, and with twice as much they creep."""

BLOCK_MASS = 0.05
FRICTION = "0.8 0.005 0.0001"
GANTRY_GAIN = "3000"
"""Newtons a metre: with a kilogramme a joint, the cup follows its target within a tenth of a second."""

GANTRY_GROUP = 3
"""MuJoCo draws geoms of this group in films, not in observations."""

PARKED = (0.0, 0.0, 0.28)
"""Where the cup waits."""

EDGE = 0.02
"""The rim around the table, which keeps blocks that roll on it."""


@cache
def scene_xml(blocks: int, bowls: int, width: int, height: int) -> str:
    """The model of a table with so many blocks and bowls; everything is moved to its place later."""
    root = Element("mujoco", model="painting")
    SubElement(root, "option", timestep=str(TIME_STEP), integrator="implicitfast", cone="elliptic")
    visual = SubElement(root, "visual")
    SubElement(visual, "global", offwidth=str(width), offheight=str(height))
    SubElement(visual, "headlight", ambient="0.45 0.45 0.45", diffuse="0.35 0.35 0.35", specular="0 0 0")
    SubElement(visual, "quality", shadowsize="1024")
    world = SubElement(root, "worldbody")
    SubElement(world, "light", pos="-0.4 -0.6 1.6", dir="0.25 0.35 -0.9", diffuse="0.35 0.35 0.35")
    axes = _text([*RIGHT, *UP])
    SubElement(world, "camera", name="front", pos=_text(EYE), xyaxes=axes, fovy=str(FIELD))
    _table(world)
    _tray(world)
    for i in range(bowls):
        _bowl(world, f"bowl{i}")
    for i in range(blocks):
        body = SubElement(world, "body", name=f"block{i}", pos=f"{-0.44 + 0.1 * i} 0 {SIDE / 2}")
        SubElement(body, "freejoint")
        shape = {"type": "box", "size": _text([SIDE / 2] * 3), "mass": str(BLOCK_MASS)}
        SubElement(body, "geom", shape, name=f"block{i}", friction=FRICTION, condim="4")
    _gantry(root, world, blocks)
    return tostring(root, encoding="unicode")


def _table(world: Element) -> None:
    top = {"type": "box", "friction": FRICTION, "rgba": _rgba(TABLE)}
    SubElement(world, "geom", {**top, "name": "table", "size": "0.52 0.42 0.02", "pos": "0 0 -0.02"})
    for x, y, a, b in ((0.515, 0, 0.005, 0.42), (0, 0.415, 0.52, 0.005)):
        for sign in (1, -1):
            size, pos = _text([a, b, EDGE / 2]), _text([sign * x, sign * y, EDGE / 2])
            SubElement(world, "geom", {**top, "size": size, "pos": pos})
    for name, (left, right, near, far) in ZONES.items():
        size = _text([(right - left) / 2, (far - near) / 2, 0.0005])
        pos = _text([(left + right) / 2, (near + far) / 2, 0.0])
        SubElement(world, "geom", _shape(size, pos, ZONE_COLOURS[name]), contype="0", conaffinity="0")


def _tray(world: Element) -> None:
    body = SubElement(world, "body", name="box", mocap="true", pos=f"0 0 {REST}")
    floor, low, upright = FLOOR / 2 - REST, BOX_HEIGHT / 2 - REST, BOX_HEIGHT / 2
    parts = [([BOX_HALF, BOX_HALF, FLOOR / 2], [0, 0, floor])]
    away, long = BOX_HALF + WALL / 2, BOX_HALF + WALL
    for sign in (1, -1):
        parts.append(([WALL / 2, long, upright], [sign * away, 0, low]))
        parts.append(([long, WALL / 2, upright], [0, sign * away, low]))
    for half, place in parts:
        SubElement(body, "geom", _shape(_text(half), _text(place), BROWN))


def _bowl(world: Element, name: str) -> None:
    body = SubElement(world, "body", name=name, mocap="true", pos=f"0.3 0 {REST}")
    floor = _shape(_text([BOWL_RADIUS, FLOOR / 2]), _text([0, 0, FLOOR / 2 - REST]), TABLE)
    SubElement(body, "geom", {**floor, "type": "cylinder", "name": f"{name}-floor"})
    away, wide = BOWL_RADIUS + WALL / 2, (BOWL_RADIUS + WALL) * tan(pi / BOWL_SIDES)
    for side in range(BOWL_SIDES):
        angle = 2 * pi * side / BOWL_SIDES
        place = _text([away * cos(angle), away * sin(angle), BOWL_HEIGHT / 2 - REST])
        wall = _shape(_text([WALL / 2, wide, BOWL_HEIGHT / 2]), place, TABLE)
        SubElement(body, "geom", wall, euler=f"0 0 {angle * 180 / pi}")


_UNTOUCHED = {"contype": "0", "conaffinity": "0"}


def _gantry(root: Element, world: Element, blocks: int) -> None:
    """Three sliding joints, driven to positions; the cup is welded to a block to hold it."""
    part = world
    for axis, direction in (("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1")):
        part = SubElement(part, "body", name=f"gantry-{axis}", gravcomp="1")
        SubElement(part, "joint", name=f"gantry-{axis}", type="slide", axis=direction)
        SubElement(part, "inertial", pos="0 0 0", mass="1", diaginertia="0.01 0.01 0.01")
    seen = {"type": "cylinder", **_UNTOUCHED, "group": str(GANTRY_GROUP), "rgba": _rgba(STEEL)}
    SubElement(part, "geom", {**seen, "size": "0.012 0.006", "pos": "0 0 0.006"})
    SubElement(part, "geom", {**seen, "size": "0.006 0.15", "pos": "0 0 0.16"})
    drive = SubElement(root, "actuator")
    for axis in "xyz":
        SubElement(drive, "position", joint=f"gantry-{axis}", kp=GANTRY_GAIN, dampratio="1")
    suction = SubElement(root, "equality")
    for i in range(blocks):
        SubElement(suction, "weld", body1="gantry-z", body2=f"block{i}", active="false", solref="0.01 1")


def _shape(size: str, pos: str, colour: tuple[int, int, int]) -> dict[str, str]:
    return {"type": "box", "size": size, "pos": pos, "rgba": _rgba(colour), "friction": FRICTION}


def _rgba(colour: tuple[int, int, int]) -> str:
    return _text([*(channel / 255 for channel in colour), 1])


def _text(numbers: object) -> str:
    return " ".join(f"{x:.6g}" for x in numbers)  # type: ignore[attr-defined]
