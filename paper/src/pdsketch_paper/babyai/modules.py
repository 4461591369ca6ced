"""What fills the sketches' blanks exactly, and the plain functions that PDS-Rob names.

The exact modules are the truth about Minigrid: planning is tested with them,
without learning, and a goal's truth in a state of Minigrid is what the model
with exact modules says. They take and return what `pdsketch.nets` describes:
directions and codes as one-hot vectors, codes as logits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from pdsketch_paper.babyai.goals import COLOURS
from pdsketch_paper.babyai.observation import GONE, HELD

Module = Callable[..., Tensor]
SketchName = Literal["base", "abs", "rob", "latent"]

_TYPE, _COLOUR, _STATE = 0, 1, 2
_CODES = {"door": 4, "key": 5, "ball": 6, "box": 7}
_OPEN, _CLOSED = 0, 1
_SURE = 20.0  # a logit


def _steps(like: Tensor) -> Tensor:
    """Where each direction leads: right, down, left, up."""
    return torch.tensor(
        [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], device=like.device, dtype=like.dtype
    )


def facing(pose: Tensor, direction: Tensor) -> Tensor:
    """The cell ahead. An external function of PDS-Rob: ``direction`` is an int64 ``[..., 1]``."""
    return pose + _steps(pose)[direction.squeeze(-1)]


def direction_left(direction: Tensor) -> Tensor:
    """The direction after a left turn."""
    return (direction - 1) % 4


def direction_right(direction: Tensor) -> Tensor:
    """The direction after a right turn."""
    return (direction + 1) % 4


def rob_functions() -> dict[str, Module]:
    """The external functions of PDS-Rob by name."""
    return {"facing": facing, "direction-left": direction_left, "direction-right": direction_right}


def _near(left: Tensor, right: Tensor) -> Tensor:
    return ((left - right).abs().amax(-1) < 0.1).to(left.dtype)


def _has(part: int, value: int) -> Module:
    return lambda code: code[..., part, value]


def _front(pose: Tensor, direction: Tensor) -> Tensor:
    return pose + direction.to(pose.dtype) @ _steps(pose)


def _faces(pose: Tensor, direction: Tensor, other: Tensor) -> Tensor:
    return _near(_front(pose, direction), other)


def _holding(pose: Tensor) -> Tensor:
    return _near(pose, torch.tensor(HELD, dtype=pose.dtype, device=pose.device))


def _constant(value: tuple[int, int]) -> Module:
    return lambda: torch.tensor(value, dtype=torch.float32)


def _turn(by: int) -> Module:
    return lambda direction: torch.roll(direction, by, dims=-1) * _SURE


def _may_carry(code: Tensor) -> Tensor:
    return code[..., _TYPE, [_CODES["key"], _CODES["ball"], _CODES["box"]]].sum(-1)


def _is_open(code: Tensor) -> Tensor:
    return code[..., _TYPE, _CODES["door"]] * code[..., _STATE, _OPEN]


def _toggled(code: Tensor) -> Tensor:
    """Logits of the code after a toggle: an open door closes, a closed one opens, a locked one stays."""
    door = code[..., _TYPE, _CODES["door"]].unsqueeze(-1)
    swapped = code[..., _STATE, :].clone()
    swapped[..., _OPEN], swapped[..., _CLOSED] = code[..., _STATE, _CLOSED], code[..., _STATE, _OPEN]
    state = door * swapped + (1 - door) * code[..., _STATE, :]
    return torch.stack([code[..., _TYPE, :], code[..., _COLOUR, :], state], dim=-2) * _SURE


def _blocks_after_toggle(code: Tensor) -> Tensor:
    after = _toggled(code) / _SURE
    return 1 - _is_open(after)


def _may_pass(*args: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    """Whether nothing but open doors is faced: the last argument is the set of faced codes."""
    codes, weights = args[-1]
    blocked = (1 - _is_open(codes)) * weights
    return 1 - blocked.amax(-1) if blocked.shape[-1] else torch.ones(blocked.shape[:-1])


def exact_modules(sketch: SketchName) -> dict[str, Module]:
    """A module for each blank of a sketch, and its external functions."""
    if sketch == "base":
        return base_modules()
    modules: dict[str, Module] = {
        f"derived::is-{colour}::f": _has(_COLOUR, i) for i, colour in enumerate(COLOURS)
    }
    modules |= {f"derived::is-{kind}::f": _has(_TYPE, code) for kind, code in _CODES.items()}
    modules |= {
        "derived::is-open::f": _is_open,
        "derived::can-pickup::f": _may_carry,
        "derived::can-vanish::f": _has(_TYPE, _CODES["box"]),
        "derived::robot-holding::f": _holding,
        "action::pickup::f": _constant(HELD),
        "action::toggle::f": _toggled,
        "action::toggle::g": _constant(GONE),
    }
    if sketch == "rob":
        return modules | rob_functions() | {"action::toggle::h": _blocks_after_toggle}
    return modules | {
        "derived::robot-facing::f": _faces,
        "action::lturn::f": _turn(-1),
        "action::rturn::f": _turn(1),
        "action::forward::f": _may_pass,
        "action::forward::g": _front,
        "action::drop::f": _front,
    }


Set = tuple[Tensor, Tensor]

_BASE_TYPE, _BASE_COLOUR, _BASE_STATE = 2, 2 + 11, 2 + 11 + 6  # 11 types, 6 colours
_FIRST, _LAST = 1, 5  # the cells inside the room


def _base_front(robot: Tensor) -> Tensor:
    return _front(robot[..., :2], robot[..., 2:6])


def _base_is(kind: str, item: Tensor) -> Tensor:
    return item[..., _BASE_TYPE + _CODES[kind]]


def _base_open(item: Tensor) -> Tensor:
    return _base_is("door", item) * item[..., _BASE_STATE]


def _base_faces(robot: Tensor, item: Tensor) -> Tensor:
    return _near(_base_front(robot), item[..., :2])


def _base_holding(item: Tensor) -> Tensor:
    return _holding(item[..., :2])


def _within(pose: Tensor) -> Tensor:
    return ((pose > _FIRST - 0.5) & (pose < _LAST + 0.5)).all(-1).float()


def _column(i: int) -> Module:
    return lambda item: item[..., i]


def _base_turn(by: int) -> Module:
    def turned(robot: Tensor, _: Set) -> Tensor:
        return torch.cat([robot[..., :2], torch.roll(robot[..., 2:6], by, dims=-1)], dim=-1)

    return turned


def _forward(robot: Tensor, items: Set) -> Tensor:
    values, weights = items
    front = _base_front(robot)
    there = _near(front.unsqueeze(-2), values[..., :2]) * weights
    inside = _within(front)
    doorway = (there * _base_open(values)).amax(-1)
    free = torch.maximum(inside, doorway) * (1 - (there * (1 - _base_open(values))).amax(-1))
    return torch.cat([torch.where(free.unsqueeze(-1) > 0.5, front, robot[..., :2]), robot[..., 2:]], dim=-1)


def _moved(item: Tensor, gate: Tensor, pose: Tensor) -> Tensor:
    return torch.cat([torch.where(gate.unsqueeze(-1) > 0.5, pose, item[..., :2]), item[..., 2:]], dim=-1)


def _pickup(item: Tensor, robot: Tensor, items: Set) -> Tensor:
    values, weights = items
    full = (_base_holding(values) * weights).amax(-1)
    may = _base_faces(robot, item) * (1 - _base_is("door", item)) * (1 - full)
    return _moved(item, may, torch.tensor(HELD).to(item))


def _drop(item: Tensor, robot: Tensor, items: Set) -> Tensor:
    values, weights = items
    front = _base_front(robot)
    taken = (_near(front.unsqueeze(-2), values[..., :2]) * weights).amax(-1)
    inside = _within(front)
    return _moved(item, _base_holding(item) * inside * (1 - taken), front)


def _toggle(item: Tensor, robot: Tensor, items: Set) -> Tensor:
    faced = _base_faces(robot, item)
    vanished = _moved(item, faced * _base_is("box", item), torch.tensor(GONE).to(item))
    state = vanished[..., _BASE_STATE : _BASE_STATE + 2]
    swap = (faced * _base_is("door", item)).unsqueeze(-1) > 0.5
    return torch.cat(
        [vanished[..., :_BASE_STATE], torch.where(swap, state.flip(-1), state), item[..., _BASE_STATE + 2 :]],
        dim=-1,
    )


def base_modules() -> dict[str, Module]:
    """A module for each blank of PDS-Base."""
    modules: dict[str, Module] = {
        f"derived::is-{colour}::f": _column(_BASE_COLOUR + i) for i, colour in enumerate(COLOURS)
    }
    modules |= {f"derived::is-{kind}::f": _column(_BASE_TYPE + code) for kind, code in _CODES.items()}
    return modules | {
        "derived::is-open::f": _base_open,
        "derived::robot-holding::f": _base_holding,
        "derived::robot-facing::f": _base_faces,
        "action::lturn::f": _base_turn(-1),
        "action::rturn::f": _base_turn(1),
        "action::forward::f": _forward,
        "action::pickup::f": _pickup,
        "action::drop::f": _drop,
        "action::toggle::f": _toggle,
    }
