"""PDS-Abs with undivided states: the same rooms, with exact modules over whole vectors."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import Domain, load_domain
from pdsketch.tensor import Model, State
from pdsketch_paper.babyai.modules import Module, exact_modules

_DIRECTIONS: Final = 4
_CHOICES: Final = 11
_POSE: Final = slice(0, 2)
_CODE: Final = slice(2, 5)

KIND: Final = slice(2, 4)
"""Where the kind and the colour of a thing stand in its vector."""


@cache
def _sketch() -> Domain:
    return load_domain(Path(__file__).parent / "holistic.pdsketch")


def holistic_model() -> Model:
    """The sketch with exact modules, made of those of PDS-Abs."""
    domain = _sketch()
    return Model(domain, modules=_modules(exact_modules("abs"), set(domain.blanks)))


def joined(state: State) -> State:
    """A state of PDS-Abs as one of the holistic sketch."""
    robot = torch.cat([state["robot-pose"], state["robot-direction"].float().unsqueeze(-1)], dim=-1)
    things = torch.cat([state["item-pose"], state["item-feature"].float()], dim=-1)
    objects = {name: state.members(name) for name in ("item", "wall")}
    values = {"robot-state": np.asarray(robot), "thing-state": np.asarray(things)}
    return State(_sketch(), objects=objects, values=values)


def _direction(robot: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(robot[..., 2].round().long(), _DIRECTIONS).to(robot)


def _code(thing: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(thing[..., _CODE].round().long(), _CHOICES).to(thing)


def _of_code(module: Module) -> Module:
    return lambda thing: module(_code(thing))


def _modules(factored: dict[str, Module], blanks: set[str]) -> dict[str, Module]:
    """The same functions, which take what they need out of the vectors, and put back what they change."""
    front, toggled = factored["action::forward::g"], factored["action::toggle::f"]
    vanishes, gone = factored["derived::can-vanish::f"], factored["action::toggle::g"]

    def turn(name: str) -> Module:
        def turned(robot: Tensor) -> Tensor:
            after = factored[f"action::{name}::f"](_direction(robot)).argmax(-1, keepdim=True)
            return torch.cat([robot[..., _POSE], after.to(robot)], dim=-1)

        return turned

    def passes(robot: Tensor, faced: tuple[Tensor, Tensor]) -> Tensor:
        things, weights = faced
        return factored["action::forward::f"](robot, (_code(things), weights))

    def moved(robot: Tensor) -> Tensor:
        return torch.cat([front(robot[..., _POSE], _direction(robot)), robot[..., 2:]], dim=-1)

    def carried(thing: Tensor) -> Tensor:
        return _placed(thing, factored["action::pickup::f"]())

    def dropped(robot: Tensor, thing: Tensor) -> Tensor:
        return _placed(thing, front(robot[..., _POSE], _direction(robot)))

    def toggle(thing: Tensor) -> Tensor:
        code = _code(thing)
        pose = torch.where(vanishes(code).unsqueeze(-1) > 0.5, gone().to(thing), thing[..., _POSE])
        return torch.cat([pose, toggled(code).argmax(-1).to(thing)], dim=-1)

    modules = {name: _of_code(module) for name, module in factored.items() if name in blanks}
    return modules | {
        "derived::robot-holding::f": lambda thing: factored["derived::robot-holding::f"](thing[..., _POSE]),
        "derived::robot-facing::f": lambda robot, thing: factored["derived::robot-facing::f"](
            robot[..., _POSE], _direction(robot), thing[..., _POSE]
        ),
        "action::lturn::f": turn("lturn"),
        "action::rturn::f": turn("rturn"),
        "action::forward::f": passes,
        "action::forward::g": moved,
        "action::pickup::f": carried,
        "action::drop::f": dropped,
        "action::toggle::f": toggle,
    }


def _placed(thing: Tensor, pose: Tensor) -> Tensor:
    """The thing with another pose."""
    return torch.cat([pose.to(thing).expand(*thing.shape[:-1], 2), thing[..., _CODE]], dim=-1)
