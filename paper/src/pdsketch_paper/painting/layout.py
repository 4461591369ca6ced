"""What stands where on the table, in metres; colours; and poses between 0 and 1.

x runs to the right, y away from the camera, z upwards from the table's top. The
table has three zones: blocks begin in the left one, the box stands in the middle
one, bowls in the right one. All sizes are set by hand: a block fits into a bowl
with room beside it, and three blocks side by side fit into the box.
"""

from __future__ import annotations

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
