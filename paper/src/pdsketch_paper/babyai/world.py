"""The paper's ActionObjDoor setting, on Minigrid's own grid, objects, instructions and verifiers.

One room of 7×7 cells, walls included; the agent at its centre; *n* objects
inside and *m* closed doors in the walls (several may share a wall). The
mission is drawn as BabyAI's own ActionObjDoor draws it. Minigrid moves the
agent and its verifier decides success; this class only furnishes the room.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from minigrid.core.constants import COLOR_NAMES
from minigrid.core.grid import Grid
from minigrid.core.roomgrid import Room
from minigrid.core.world_object import Ball, Box, Door, Key, Wall, WorldObj
from minigrid.envs.babyai.core.roomgrid_level import BabyAIMissionSpace
from minigrid.envs.babyai.core.verifier import GoToInstr, Instr, ObjDesc, OpenInstr, PickupInstr
from minigrid.minigrid_env import MiniGridEnv

from pdsketch.lang import error

ROOM_SIZE = 7
"""Cells along one side of the room, both walls included."""

PADDING = 1
"""Cells around the room. Without them an agent in an open door looks off the grid, and Minigrid crashes."""

_SIDE = ROOM_SIZE + 2 * PADDING
_FIRST, _LAST = PADDING, PADDING + ROOM_SIZE - 1
_CENTRE = (_FIRST + _LAST) // 2
_INSIDE = tuple((x, y) for y in range(_FIRST + 1, _LAST) for x in range(_FIRST + 1, _LAST))
_NEIGHBOURS = ((1, 0), (0, 1), (-1, 0), (0, -1))
_OBJECT_CELLS = tuple(
    (x, y) for x, y in _INSIDE if abs(x - _CENTRE) + abs(y - _CENTRE) >= 2
)  # as BabyAI does, nothing stands right beside the agent's start
_MOST_OBJECTS = 12  # more would leave no way through
_DOOR_CELLS = tuple(
    cell for i in range(_FIRST + 1, _LAST) for cell in ((_LAST, i), (i, _LAST), (_FIRST, i), (i, _FIRST))
)
_KINDS = tuple((kind, colour) for kind in (Key, Ball, Box) for colour in COLOR_NAMES)
_WALL = Wall()  # walls never change, so that all cells can share one
_EMPTY_ROOM = tuple(None if (i % _SIDE, i // _SIDE) in _INSIDE else _WALL for i in range(_SIDE * _SIDE))


class ActionObjDoor(MiniGridEnv):  # type: ignore[misc]
    """One room with ``objects`` things in it and ``doors`` in its walls; go to, pick up or open one of them.

    Image observations are off unless ``images=True``: they take most of the
    time of a step and nothing here looks at them.
    """

    def __init__(
        self, objects: int = 4, doors: int = 4, max_steps: int = 64, images: bool = False, **kwargs: Any
    ) -> None:
        if not 0 <= objects <= _MOST_OBJECTS or not 0 <= doors <= len(_DOOR_CELLS):
            most = f"{_MOST_OBJECTS} objects and {len(_DOOR_CELLS)} doors"
            raise error("bad-setting", f"the room holds up to {most}")
        if objects + doors == 0:
            raise error("bad-setting", "a mission needs an object or a door")
        self.objects, self.doors, self.images = objects, doors, images
        self.instrs: Instr
        self.room = Room((_FIRST, _FIRST), (ROOM_SIZE, ROOM_SIZE))
        super().__init__(
            mission_space=BabyAIMissionSpace(), width=_SIDE, height=_SIDE, max_steps=max_steps, **kwargs
        )
        if not images:
            self.observation_space = spaces.Dict(
                {"direction": spaces.Discrete(4), "mission": BabyAIMissionSpace()}
            )

    def room_from_pos(self, x: int, y: int) -> Room:
        """The room at a cell: there is but one. The verifiers ask for it."""
        return self.room

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new room and a new mission."""
        observation, info = super().reset(seed=seed, options=options)
        self.instrs.reset_verifier(self)
        return observation, info

    def step(self, action: int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Minigrid's own step; then its verifier says whether the mission is accomplished."""
        observation, reward, terminated, truncated, info = super().step(action)
        if action == self.actions.drop:
            self.instrs.update_objs_poss()
        status = self.instrs.verify(action)
        if status == "success":
            terminated, reward = True, self._reward()
        elif status == "failure":
            terminated = True
        return observation, reward, terminated, truncated, info

    def gen_obs(self) -> dict[str, Any]:
        """The agent's direction and the mission; Minigrid's image too, where it was asked for."""
        if self.images:
            image: dict[str, Any] = super().gen_obs()
            return image
        return {"direction": self.agent_dir, "mission": self.mission}

    def _gen_grid(self, width: int, height: int) -> None:
        target = None
        while target is None or not self._reachable(target):
            self._furnish(width, height)
            target = self.room.objs[int(self.np_random.integers(len(self.room.objs)))]
        self.instrs = self._draw_mission(target)
        self.mission = self.instrs.surface(self)

    def _furnish(self, width: int, height: int) -> None:
        """Place everything anew. Objects are of different kinds, as in BabyAI; doors may be alike."""
        rng = self.np_random
        self.grid = Grid(width, height)
        self.grid.grid = list(_EMPTY_ROOM)
        self.agent_pos, self.agent_dir = (_CENTRE, _CENTRE), int(rng.integers(4))
        colours = rng.integers(len(COLOR_NAMES), size=self.doors).tolist()
        kinds = rng.permutation(len(_KINDS))[: self.objects].tolist()
        things: list[WorldObj] = [Door(COLOR_NAMES[colour]) for colour in colours]
        things += [_KINDS[kind][0](_KINDS[kind][1]) for kind in kinds]
        cells = [_DOOR_CELLS[i] for i in rng.permutation(len(_DOOR_CELLS))[: self.doors].tolist()]
        cells += [_OBJECT_CELLS[i] for i in rng.permutation(len(_OBJECT_CELLS))[: self.objects].tolist()]
        for thing, cell in zip(things, cells, strict=True):
            self.put_obj(thing, *cell)
        self.room.objs = things

    def _reachable(self, target: WorldObj) -> bool:
        """Whether the agent can come to face the target, or its like, without moving anything."""
        grid, side = self.grid.grid, self.grid.width
        seen, stack = {self.agent_pos}, [self.agent_pos]
        while stack:
            x, y = stack.pop()
            for dx, dy in _NEIGHBOURS:
                cell = (x + dx, y + dy)
                if cell in seen:
                    continue
                seen.add(cell)
                there = grid[cell[1] * side + cell[0]]
                if there is None:
                    stack.append(cell)
                elif there.type == target.type and there.color == target.color:
                    return True
        return False

    def _draw_mission(self, target: WorldObj) -> Instr:
        """As BabyAI's ActionObjDoor: go to the object or door, else pick it up or open it."""
        described = ObjDesc(target.type, target.color)
        if self.np_random.integers(2):
            return GoToInstr(described)
        return OpenInstr(described) if target.type == "door" else PickupInstr(described)


SETTINGS = {
    "PDSketch/BabyAI-ActionObjDoor-v0": {"objects": 4, "doors": 4},
    "PDSketch/BabyAI-ActionObjDoor-More-v0": {"objects": 8, "doors": 6},
    "PDSketch/BabyAI-ActionObjDoor-One-v0": {"objects": 1, "doors": 0},
}
"""The paper's settings under their Gymnasium names: training, generalisation, one object for the curves."""


def register() -> None:
    """Make the settings known to ``gymnasium.make``; a second call changes nothing."""
    for name, settings in SETTINGS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name, entry_point="pdsketch_paper.babyai.world:ActionObjDoor", kwargs=dict(settings)
            )


def make(name: str, **kwargs: Any) -> MiniGridEnv:
    """A registered level of ours or of Minigrid, without Gymnasium's wrappers."""
    register()
    return gymnasium.make(name, disable_env_checker=True, **kwargs).unwrapped


def problem_seed(seed: int, index: int, split: str = "train") -> int:
    """The seed of one episode: streams of different seeds and splits do not meet."""
    words = [seed, index, *split.encode()]
    return int(np.random.SeedSequence(words).generate_state(1)[0])
