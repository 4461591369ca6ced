"""What an agent sees of a Minigrid room: objects and numbers, as states of a sketch or as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.lang import Domain

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


SIDE: Final = 7
"""Cells along one side of a picture: our own room, both walls included."""

_NOBODY: Final = -1
_EMPTY: Final = (1, 0, 0, _NOBODY)
_WALL: Final = (*_WALL_CODE, _NOBODY)

PIXELS: Final = 64
"""Along one side of a picture as Minigrid draws it; DreamerV2's."""


def pixels_of(observation: Observation) -> NDArray[Any]:
    """``[(states,) y, x, 3]``: Minigrid's own drawing of the room; what is carried or gone is not there."""
    cells = _cells(observation)
    codes, which = np.unique(cells.reshape(-1, 4), axis=0, return_inverse=True)
    tiles = np.stack([_tile(*map(int, code)) for code in codes])
    side = tiles.shape[1]
    drawn = tiles[which].reshape(-1, SIDE, SIDE, side, side, 3)  # x first
    drawn = drawn.transpose(0, 2, 3, 1, 4, 5).reshape(-1, SIDE * side, SIDE * side, 3)
    found = np.zeros((len(drawn), PIXELS, PIXELS, 3), dtype=np.float32)
    found[:, : SIDE * side, : SIDE * side] = drawn
    return found.reshape(*observation.robot_direction.shape, PIXELS, PIXELS, 3)


def _cells(observation: Observation) -> NDArray[Any]:
    """``[state, x, y, 4]``: Minigrid's code of what stands there, and the direction of the robot."""
    robots = observation.robot_pose.reshape(-1, 2).astype(np.int64)
    poses = observation.item_pose.reshape(len(robots), -1, 2).astype(np.int64)
    codes = observation.item_code.reshape(len(robots), -1, 3)
    found = np.empty((len(robots), SIDE, SIDE, 4), dtype=np.int8)
    found[:] = _WALL
    found[:, 1:-1, 1:-1] = _EMPTY
    state, item = np.nonzero(np.all(poses >= 0, axis=-1))
    found[state, poses[state, item, 0], poses[state, item, 1], :3] = codes[state, item]
    rows = np.arange(len(robots))
    found[rows, robots[:, 0], robots[:, 1], 3] = observation.robot_direction.reshape(-1)
    return found


@cache
def _tile(kind: int, colour: int, state: int, robot: int) -> NDArray[Any]:
    from minigrid.core.grid import Grid
    from minigrid.core.world_object import WorldObj

    thing = None if kind == _EMPTY[0] else WorldObj.decode(kind, colour, state)
    direction = None if robot == _NOBODY else robot
    return np.asarray(Grid.render_tile(thing, direction, tile_size=PIXELS // SIDE)).astype(np.uint8)


SKETCHES = Path(__file__).parent / "sketches"

_ONE_HOT_SIZES = (11, 6, 3)  # PDS-Base: type, colour, state
_DOOR, _OPEN = 4, 0


@cache
def load_sketch(name: str, *, walls: bool = True) -> Domain:
    """One of the sketches that ship with the package; ``walls=False``: without walls among the objects."""
    from pdsketch.lang import load_domain, parse_domain

    path = SKETCHES / f"{name}.pdsketch"
    if walls:
        return load_domain(path)
    return parse_domain(path.read_text(encoding="utf-8").replace("item wall - thing", "item - thing"))


def objects_of(domain: Domain, observation: Observation) -> dict[str, list[str]]:
    """The objects of the observation by type, as `State` takes them; the robot is the constant ``agent``."""
    objects = {"item": [f"item#{i + 1}" for i in range(observation.item_pose.shape[-2])]}
    if "wall" in domain.hierarchy.parents:
        objects["wall"] = [f"wall#{i + 1}" for i in range(len(observation.wall_pose))]
    return objects


def values_of(domain: Domain, observation: Observation) -> dict[str, NDArray[Any]]:
    """A value for each predicate that the sketch observes; an axis of time comes first where there is one."""
    pose, code = observation.item_pose, observation.item_code
    robot, direction = observation.robot_pose[..., None, :], observation.robot_direction[..., None]
    if "view" in domain.predicates:
        return {"view": pixels_of(observation)}
    if "robot-feature" in domain.predicates:
        return _undivided(robot, direction, pose, code)
    if "wall" in domain.hierarchy.parents:
        time, walls = pose.shape[:-2], observation.wall_pose.shape[0]
        code = np.concatenate([code, np.broadcast_to(observation.wall_code, (*time, walls, 3))], axis=-2)
        pose = np.concatenate([pose, np.broadcast_to(observation.wall_pose, (*time, walls, 2))], axis=-2)
    values: dict[str, NDArray[Any]] = {
        "robot-pose": robot,
        "robot-direction": direction,
        "item-pose": pose,
        "item-code" if "item-code" in domain.predicates else "item-feature": code,
    }
    if "is-obstacle" in domain.predicates:
        values["is-obstacle"] = ~((code[..., 0] == _DOOR) & (code[..., 2] == _OPEN))
    return values


def _undivided(
    robot: NDArray[Any], direction: NDArray[Any], pose: NDArray[Any], code: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """PDS-Base's vectors: everything about the robot, or about an item, side by side."""
    parts = [pose, *(np.eye(n, dtype=np.float32)[code[..., i]] for i, n in enumerate(_ONE_HOT_SIZES))]
    return {
        "robot-feature": np.concatenate([robot, np.eye(4, dtype=np.float32)[direction]], axis=-1),
        "item-feature": np.concatenate(parts, axis=-1),
    }


def to_state(domain: Domain, observation: Observation) -> Any:
    """The observation as a `pdsketch.State` of the sketch."""
    from pdsketch.tensor import State

    return State(domain, objects=objects_of(domain, observation), values=values_of(domain, observation))
