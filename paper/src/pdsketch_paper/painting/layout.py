"""Where things are: the table, its slots and colours, and how the camera sees them."""

from __future__ import annotations

from math import radians, tan
from typing import Any

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
