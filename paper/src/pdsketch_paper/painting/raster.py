"""Pictures without a graphics driver: convex polygons, filled with flat colours before a depth buffer."""

from __future__ import annotations

from typing import final

import numpy as np

from pdsketch_paper.painting.camera import AHEAD, EYE, FOCAL, HEIGHT, WIDTH, to_camera, to_pixels
from pdsketch_paper.painting.layout import Array

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
