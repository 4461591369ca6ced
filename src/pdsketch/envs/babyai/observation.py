"""What the agent is told about the world: objects with their poses and codes, as numbers.

A `Scene` is the set of things in the room where an episode starts: it stays
the same until the episode ends. `observe` reads their present values from the
environment. Poses are counted from the room's corner, so that a room means the
same wherever it lies on the grid.

Walls are things like any other, of a type of their own: the model then learns
that a wall stops the robot as it learns that a ball does, and what it has
learned holds in rooms of any size and shape. Goals do not range over walls.
Only wall cells that can be faced are listed: those beside a cell on which the
robot may come to stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

HELD = (-1, -1)
"""The pose of what the robot carries (the paper's convention)."""

GONE = (-2, -2)
"""The pose of a box that was toggled: Minigrid deletes it, but an episode keeps its set of objects."""

_NEIGHBOURS = ((1, 0), (0, 1), (-1, 0), (0, -1))


@final
@dataclass(frozen=True, slots=True)
class Observation:
    """One state, object by object. Codes are Minigrid's (type, colour, state) integers."""

    robot_pose: NDArray[np.float32]  # [2]
    robot_direction: int
    item_pose: NDArray[np.float32]  # [items, 2]
    item_code: NDArray[np.int64]  # [items, 3]
    wall_pose: NDArray[np.float32]  # [walls, 2]
    wall_code: NDArray[np.int64]  # [walls, 3]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The things of one episode: Minigrid's own objects, and the cells of the walls."""

    items: tuple[Any, ...]
    top: tuple[int, int]
    wall_pose: NDArray[np.float32]
    wall_code: NDArray[np.int64]

    @property
    def names(self) -> tuple[str, ...]:
        """The items' names in states and goals."""
        return tuple(f"item#{i + 1}" for i in range(len(self.items)))

    @property
    def wall_names(self) -> tuple[str, ...]:
        """The walls' names in states."""
        return tuple(f"wall#{i + 1}" for i in range(len(self.wall_pose)))


def look(env: Any) -> Scene:
    """The scene of an environment that has just been reset: the room in which the agent stands."""
    room = env.room_from_pos(*env.agent_pos)
    left, top = room.top
    width, height = room.size
    items, standing = [], []
    for y in range(top, top + height):
        for x in range(left, left + width):
            cell = env.grid.grid[y * env.grid.width + x]
            if cell is None or cell.type == "door":
                standing.append((x, y))
            if cell is not None and cell.type != "wall":
                items.append(cell)
                if cell.type != "door":
                    standing.append((x, y))  # it may be carried away
    walls = _walls_beside(env, standing)
    pose = np.array(walls, dtype=np.float32).reshape(-1, 2) - np.array([left, top], dtype=np.float32)
    return Scene(tuple(items), (left, top), pose, np.tile(np.array([[2, 5, 0]]), (len(walls), 1)))


def _walls_beside(env: Any, standing: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The wall cells that can be faced from one of these cells."""
    side, grid = env.grid.width, env.grid.grid
    faced = {(x + dx, y + dy) for x, y in standing for dx, dy in _NEIGHBOURS}
    inside = ((x, y) for x, y in faced if 0 <= x < side and 0 <= y < env.grid.height)
    return sorted(
        (x, y) for x, y in inside if (cell := grid[y * side + x]) is not None and cell.type == "wall"
    )


def observe(env: Any, scene: Scene) -> Observation:
    """The present values of the scene's things."""
    left, top = scene.top
    grid, side, carrying = env.grid.grid, env.grid.width, env.carrying
    poses, codes = [], []
    for item in scene.items:
        if item is carrying:
            poses.append(HELD)
        else:
            x, y = item.cur_pos
            poses.append((x - left, y - top) if grid[y * side + x] is item else GONE)
        codes.append(item.encode())
    x, y = env.agent_pos
    return Observation(
        np.array((x - left, y - top), dtype=np.float32),
        int(env.agent_dir),
        np.array(poses, dtype=np.float32).reshape(-1, 2),
        np.array(codes, dtype=np.int64).reshape(-1, 3),
        scene.wall_pose,
        scene.wall_code,
    )
