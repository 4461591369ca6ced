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
SketchName = Literal["base", "abs", "rob"]

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
        from pdsketch_paper.babyai.exact_base import base_modules

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
