"""The camera: a pinhole in front of the table, and the boxes of things in its picture."""

from __future__ import annotations

from math import radians, tan

import numpy as np

from pdsketch_paper.painting.layout import Array

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
