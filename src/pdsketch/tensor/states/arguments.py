"""Steps such as ``("move-to", "b#1", (0.1, 0.2))`` → the arguments of an action as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import (
    Action,
    ObjectType,
    Step,
    ValueType,
    Variable,
    argument_words,
    check_value,
    error,
    object_of,
)
from pdsketch.tensor.states.state import StateBatch
from pdsketch.tensor.states.universe import Universe

_DTYPES: Final = {"bool": torch.bool, "int64": torch.int64, "float32": torch.float32}


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
            values = [value_of(step[i], parameter.type, argument_words(action, parameter)) for step in steps]
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
    at = universe.find(name.lower(), parameter.type) if isinstance(name, str) else -1
    if at < 0:
        found = object_of(universe.domain, universe.types, action, parameter, name)
        raise AssertionError(f"{found} fits, and is on no axis")
    return at


def value_of(value: Any, type_: ValueType, what: str) -> Tensor:
    """A value argument: a number, or a tuple of numbers, as a tensor of its type."""
    try:
        listed = value.detach().tolist() if isinstance(value, Tensor) else np.asarray(value).tolist()
    except (TypeError, ValueError, RuntimeError) as why:
        raise error("bad-value", f"{what} is a {type_}, and {value!r:.60} is no value") from why
    return torch.tensor(check_value(what, type_, listed), dtype=_DTYPES[type_.prim])
