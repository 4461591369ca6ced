"""The expert: a shortest path over cells and directions to face a thing, then the hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Any

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)
"""Minigrid's actions in the order of its enumeration; `done` is never used."""

ACTION_NAMES = ("lturn", "rturn", "forward", "pickup", "drop", "toggle")
"""The same in the sketches' words."""

_STEP_X, _STEP_Y = (1, 0, -1, 0), (0, 1, 0, -1)


def path_to_face(env: Any, targets: Collection[tuple[int, int]]) -> list[int] | None:
    """A shortest list of turns and moves after which the agent faces one of these cells, or None.

    Breadth first over (cell, direction); open doors can be crossed, nothing
    else that stands on a cell can.
    """
    side = env.grid.width
    free = [cell is None or cell.can_overlap() for cell in env.grid.grid]
    ahead = (1, side, -1, -side)
    goal = frozenset(y * side + x for x, y in targets)
    x, y = env.agent_pos
    start = (int(y) * side + int(x)) * 4 + int(env.agent_dir)
    came: dict[int, tuple[int, int]] = {start: (-1, -1)}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        cell, direction = node >> 2, node & 3
        front = cell + ahead[direction]
        if front in goal:
            return _trace(came, node)
        base = cell << 2
        following = [(LEFT, base | (direction - 1 & 3)), (RIGHT, base | (direction + 1 & 3))]
        if free[front]:
            following.append((FORWARD, front << 2 | direction))
        for action, after in following:
            if after not in came:
                came[after] = (node, action)
                queue.append(after)
    return None


def _trace(came: dict[int, tuple[int, int]], node: int) -> list[int]:
    actions: list[int] = []
    while (step := came[node])[0] >= 0:
        node, action = step
        actions.append(action)
    return actions[::-1]


def solve(env: Any) -> list[int] | None:
    """A shortest plan for the mission of an environment that was just reset, or None.

    The mission is a `GoToInstr`, a `PickupInstr` or an `OpenInstr`.
    """
    instruction = env.instrs
    path = path_to_face(env, [(int(x), int(y)) for x, y in instruction.desc.obj_poss])
    if path is None:
        return None
    return path + _HAND[type(instruction).__name__]


_HAND: dict[str, list[int]] = {"GoToInstr": [], "PickupInstr": [PICKUP], "OpenInstr": [TOGGLE]}
