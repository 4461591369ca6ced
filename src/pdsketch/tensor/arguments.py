"""Steps such as ``("move-to", "b#1", (0.1, 0.2))`` → the arguments of an action as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang.diagnostics import Error, did_you_mean, error
from pdsketch.lang.domain import Action, Domain
from pdsketch.lang.terms import Variable
from pdsketch.lang.types import ObjectType, ValueType
from pdsketch.tensor import whole
from pdsketch.tensor.state import StateBatch
from pdsketch.tensor.universe import Universe

Step = tuple[Any, ...]


def is_step(action: Any) -> bool:
    """Whether this is one step, and not a list of them."""
    return isinstance(action, str) or (
        isinstance(action, Sequence) and len(action) > 0 and isinstance(action[0], str)
    )


def action_of(domain: Domain, step: Any) -> Action:
    """The schema of a step, whose name and number of arguments are checked."""
    if isinstance(step, str):
        step = (step,)
    if not is_step(step):
        raise error(
            "bad-action",
            f"an action is a tuple of its name and its arguments, and {step!r} is not",
            help='write it as ("forward", "agent")',
        )
    action = domain.actions.get(step[0].lower())
    if action is None:
        known = ", ".join(domain.actions)
        raise error(
            "unknown-action",
            f"the domain has no action `{step[0]}`",
            help=did_you_mean(step[0].lower(), domain.actions) or f"its actions: {known}",
        )
    if len(step) - 1 != len(action.parameters):
        wanted = " ".join(f"{p.name} - {p.type}" for p in action.parameters) or "none"
        raise error(
            "wrong-arity",
            f"`{action.name}` takes {len(action.parameters)} arguments, and {len(step) - 1} were given",
            action.span,
            help=f"its parameters: {wanted}",
        )
    return action


def _as_tuple(step: Any) -> Step:
    return (step,) if isinstance(step, str) else tuple(step)


def bind(batch: StateBatch, action: Action, steps: Sequence[Step]) -> dict[str, Tensor]:
    """The arguments of one step a state: ``[state, 1]`` places of objects, ``[state, 1, *value]`` values."""
    steps = [_as_tuple(step) for step in steps]
    bound = {}
    for i, parameter in enumerate(action.parameters, start=1):
        if isinstance(parameter.type, ObjectType):
            places = _places(batch, [step[i] for step in steps], parameter, action)
            bound[parameter.name] = torch.tensor(places, device=batch.device).unsqueeze(1)
        else:
            values = [
                value_of(step[i], parameter.type, f"`{parameter.name}` of `{action.name}`") for step in steps
            ]
            if any(v.shape != values[0].shape for v in values):
                raise error("shape-mismatch", f"the values for `{parameter.name}` differ in shape")
            bound[parameter.name] = torch.stack(values).unsqueeze(1).to(batch.device)
    return bound


def _places(batch: StateBatch, names: list[Any], parameter: Variable, action: Action) -> list[int]:
    found: dict[tuple[int, str], int] = {}
    rows = [0] * batch.size if batch.rows is None else batch.rows.tolist()
    places = []
    for row, name in zip(rows, names, strict=True):
        key = (row, name)
        if key not in found:
            found[key] = _place(batch.layout.universes[row], name, parameter, action)
        places.append(found[key])
    return places


def _place(universe: Universe, name: Any, parameter: Variable, action: Action) -> int:
    assert isinstance(parameter.type, ObjectType)
    if not isinstance(name, str):
        raise error(
            "bad-argument",
            f"`{parameter.name}` of `{action.name}` is the name of a {parameter.type}, and {name!r} is not",
        )
    at = universe.find(name.lower(), parameter.type)
    if at >= 0:
        return at
    plain = universe.stranger(name.lower(), parameter.type)
    assert isinstance(plain, Error)
    what = plain.diagnostics[0]
    raise error(
        what.code, f"`{parameter.name}` of `{action.name}`: {what.message}", action.span, help=what.help
    )


def value_of(value: Any, type_: ValueType, what: str) -> Tensor:
    """A value argument: a number, or a tuple of numbers, as a tensor of its type."""
    try:
        given = value.detach().cpu() if isinstance(value, Tensor) else np.asarray(value)
        tensor = torch.as_tensor(whole.signed(np.asarray(given)) if whole.is_unsigned(given) else given)
    except (TypeError, ValueError, RuntimeError) as why:
        raise error("bad-argument", f"{what} is a {type_}, and {value!r} is no value") from why
    shape = type_.shape
    if shape == () and tensor.shape == (1,):
        tensor = tensor.reshape(())
    if tensor.shape != shape if shape is not None else tensor.dim() == 0:
        wanted = "a vector" if shape is None else f"the shape {shape}"
        raise error("shape-mismatch", f"{what} has the shape {tuple(tensor.shape)}, and {wanted} was wanted")
    if tensor.is_complex() or (tensor.is_floating_point() and not bool(torch.isfinite(tensor).all())):
        raise error("not-finite", f"{what} is {value!r}, which is not finite")
    if type_.prim == "float32":
        return tensor.to(torch.float32)
    found = whole.rounded(tensor) if tensor.is_floating_point() else tensor.to(torch.int64)
    upper = 2 if type_.prim == "bool" else type_.choices
    bad = (found != tensor) | (found == whole.LARGEST) | (found == whole.SMALLEST)
    if upper is not None:
        bad |= (found < 0) | (found >= upper)
    if bool(bad.any()):
        raise error("value-out-of-range", f"{what} is {value!r}, and a {type_} was wanted")
    return found.to(torch.bool if type_.prim == "bool" else torch.int64)
