"""PDS-Base's blanks, filled exactly: the same truth about Minigrid over two undivided vectors.

A robot's vector is its pose (2) and direction (one of 4). An item's is its
pose (2), type (one of 11), colour (one of 6) and state (one of 3). PDS-Base is
not told of walls; its exact modules know the 7×7 room, as its networks learn it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from pdsketch_paper.babyai.goals import COLOURS
from pdsketch_paper.babyai.observation import GONE, HELD

Module = Callable[..., Tensor]
Set = tuple[Tensor, Tensor]

TYPES, COLOUR_COUNT, STATES = 11, 6, 3
_TYPE, _COLOUR, _STATE = 2, 2 + TYPES, 2 + TYPES + COLOUR_COUNT
_CODES = {"door": 4, "key": 5, "ball": 6, "box": 7}
_STEPS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
_FIRST, _LAST = 1, 5  # the cells inside the room


def _near(left: Tensor, right: Tensor) -> Tensor:
    return ((left - right).abs().amax(-1) < 0.1).float()


def _front(robot: Tensor) -> Tensor:
    return robot[..., :2] + robot[..., 2:6] @ _STEPS.to(robot)


def _is(kind: str, item: Tensor) -> Tensor:
    return item[..., _TYPE + _CODES[kind]]


def _open(item: Tensor) -> Tensor:
    return _is("door", item) * item[..., _STATE]


def _faces(robot: Tensor, item: Tensor) -> Tensor:
    return _near(_front(robot), item[..., :2])


def _holding(item: Tensor) -> Tensor:
    return _near(item[..., :2], torch.tensor(HELD).to(item))


def _column(i: int) -> Module:
    return lambda item: item[..., i]


def _turn(by: int) -> Module:
    def turned(robot: Tensor, _: Set) -> Tensor:
        return torch.cat([robot[..., :2], torch.roll(robot[..., 2:6], by, dims=-1)], dim=-1)

    return turned


def _forward(robot: Tensor, items: Set) -> Tensor:
    values, weights = items
    front = _front(robot)
    there = _near(front.unsqueeze(-2), values[..., :2]) * weights
    inside = ((front > _FIRST - 0.5) & (front < _LAST + 0.5)).all(-1).float()
    doorway = (there * _open(values)).amax(-1)
    free = torch.maximum(inside, doorway) * (1 - (there * (1 - _open(values))).amax(-1))
    return torch.cat([torch.where(free.unsqueeze(-1) > 0.5, front, robot[..., :2]), robot[..., 2:]], dim=-1)


def _moved(item: Tensor, gate: Tensor, pose: Tensor) -> Tensor:
    return torch.cat([torch.where(gate.unsqueeze(-1) > 0.5, pose, item[..., :2]), item[..., 2:]], dim=-1)


def _pickup(item: Tensor, robot: Tensor, items: Set) -> Tensor:
    values, weights = items
    full = (_holding(values) * weights).amax(-1)
    may = _faces(robot, item) * (1 - _is("door", item)) * (1 - full)
    return _moved(item, may, torch.tensor(HELD).to(item))


def _drop(item: Tensor, robot: Tensor, items: Set) -> Tensor:
    values, weights = items
    front = _front(robot)
    taken = (_near(front.unsqueeze(-2), values[..., :2]) * weights).amax(-1)
    inside = ((front > _FIRST - 0.5) & (front < _LAST + 0.5)).all(-1).float()
    return _moved(item, _holding(item) * inside * (1 - taken), front)


def _toggle(item: Tensor, robot: Tensor, items: Set) -> Tensor:
    faced = _faces(robot, item)
    vanished = _moved(item, faced * _is("box", item), torch.tensor(GONE).to(item))
    state = vanished[..., _STATE : _STATE + 2]
    swap = (faced * _is("door", item)).unsqueeze(-1) > 0.5
    return torch.cat(
        [vanished[..., :_STATE], torch.where(swap, state.flip(-1), state), item[..., _STATE + 2 :]], dim=-1
    )


def base_modules() -> dict[str, Module]:
    """A module for each blank of PDS-Base."""
    modules: dict[str, Module] = {
        f"derived::is-{colour}::f": _column(_COLOUR + i) for i, colour in enumerate(COLOURS)
    }
    modules |= {f"derived::is-{kind}::f": _column(_TYPE + code) for kind, code in _CODES.items()}
    return modules | {
        "derived::is-open::f": _open,
        "derived::robot-holding::f": _holding,
        "derived::robot-facing::f": _faces,
        "action::lturn::f": _turn(-1),
        "action::rturn::f": _turn(1),
        "action::forward::f": _forward,
        "action::pickup::f": _pickup,
        "action::drop::f": _drop,
        "action::toggle::f": _toggle,
    }
