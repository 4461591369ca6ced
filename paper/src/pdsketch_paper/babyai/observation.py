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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

HELD = (-1, -1)
"""The pose of what the robot carries (the paper's convention)."""

GONE = (-2, -2)
"""The pose of a box that was toggled: Minigrid deletes it, but an episode keeps its set of objects."""

_WALL_CODE = (2, 5, 0)


@final
@dataclass(frozen=True, slots=True)
class Observation:
    """One state, or the states of an episode along a first axis, object by object.

    Codes are Minigrid's (type, colour, state) integers. Walls stay as they are,
    so that they have no axis of time.
    """

    robot_pose: NDArray[np.float32]  # [(states,) 2]
    robot_direction: NDArray[np.int64]  # [(states)]
    item_pose: NDArray[np.float32]  # [(states,) items, 2]
    item_code: NDArray[np.int64]  # [(states,) items, 3]
    wall_pose: NDArray[np.float32]  # [walls, 2]
    wall_code: NDArray[np.int64]  # [walls, 3]

    @staticmethod
    def of(rows: Sequence[Row], scene: Scene) -> Observation:
        """The states that were read, along a first axis."""
        poses, codes, robots, directions = zip(*rows, strict=True)
        items = len(scene.items)
        return Observation(
            np.array(robots, dtype=np.float32),
            np.array(directions, dtype=np.int64),
            np.array(poses, dtype=np.float32).reshape(len(rows), items, 2),
            np.array(codes, dtype=np.int64).reshape(len(rows), items, 3),
            scene.wall_pose,
            scene.wall_code,
        )

    def at(self, step: int) -> Observation:
        """One state of an episode."""
        return Observation(
            self.robot_pose[step],
            self.robot_direction[step],
            self.item_pose[step],
            self.item_code[step],
            self.wall_pose,
            self.wall_code,
        )


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


def look(env: Any) -> Scene:
    """The scene of an environment that has just been reset: the room in which the agent stands."""
    room = env.room_from_pos(*env.agent_pos)
    (left, top), (width, height) = room.top, room.size
    grid, side = env.grid.grid, env.grid.width
    items: list[Any] = []
    faced: set[int] = set()
    for y in range(top, top + height):
        for at in range(y * side + left, y * side + left + width):
            thing = grid[at]
            if thing is not None:
                if thing.type == "wall":
                    continue
                items.append(thing)
            # The robot may come to stand here: what is not a wall can be opened or carried away.
            faced.update((at + 1, at - 1, at + side, at - side))
    walls = sorted(
        at for at in faced if 0 <= at < len(grid) and (thing := grid[at]) is not None and thing.type == "wall"
    )
    pose = [(at % side - left, at // side - top) for at in walls]
    return Scene(
        tuple(items),
        (left, top),
        np.array(pose, dtype=np.float32).reshape(-1, 2),
        np.array([_WALL_CODE] * len(walls), dtype=np.int64).reshape(-1, 3),
    )


Row = tuple[list[tuple[int, int]], list[tuple[int, int, int]], tuple[int, int], int]
"""Items' poses and codes, the robot's pose and direction, as plain numbers."""


def read(env: Any, scene: Scene) -> Row:
    """The present values of the scene's things, as plain numbers."""
    left, top = scene.top
    grid, side, carrying = env.grid.grid, env.grid.width, env.carrying
    poses, codes = [], []
    for item in scene.items:
        if item is carrying:
            poses.append(HELD)
        else:
            x, y = item.cur_pos
            poses.append((int(x) - left, int(y) - top) if grid[y * side + x] is item else GONE)
        codes.append(item.encode())
    x, y = env.agent_pos
    return poses, codes, (int(x) - left, int(y) - top), int(env.agent_dir)


def observe(env: Any, scene: Scene) -> Observation:
    """The present values of the scene's things."""
    return Observation.of([read(env, scene)], scene).at(0)
