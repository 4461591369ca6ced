"""The plain functions of a sample as modules of a `Model`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pdsketch.lang.types import ObjectType, ValueType

from .functions import ASIDE, PERIOD, Linear
from .sample import Sample


def modules_of(sample: Sample) -> dict[str, Callable[..., Tensor]]:
    """What `Model(domain, modules=…)` takes for a sample."""
    found: dict[str, Callable[..., Tensor]] = {}
    for name, function in sample.functions.items():
        if name in sample.domain.blanks:
            blank = sample.domain.blanks[name]
            found[name] = as_module(function, [given.type for given in blank.inputs], one_hot=True)
        elif name in sample.domain.predicates:
            parameters = sample.domain.predicates[name].parameters
            types = [p.type for p in parameters if not isinstance(p.type, ObjectType)]
            found[name] = as_module(function, types, one_hot=False)
    return found


def as_module(function: Linear, types: list[ValueType], *, one_hot: bool) -> Callable[..., Tensor]:
    """A plain function over tensors; ints with choices are one-hot for blanks, int64 for external ones."""

    def call(*args: Any) -> Tensor:
        total = torch.zeros(())
        for weight, arg, type_ in zip(function.weights, args, types, strict=True):
            hot = one_hot and type_.choices is not None
            if isinstance(arg, tuple):
                values, gates = arg
                total = total + weight * (_weighted(values, hot) * gates).sum(-1)
            else:
                total = total + weight * _weighted(arg, hot)
        return _result(function, total, one_hot)

    return call


def _weighted(values: Tensor, hot: bool) -> Tensor:
    places = torch.arange(values.shape[-1], dtype=torch.float32)
    return (values.float() * (places if hot else 1 + places)).sum(-1)


def _result(function: Linear, total: Tensor, one_hot: bool) -> Tensor:
    if function.returns == "bool":
        return (total > function.bias + ASIDE).float()
    kind, size = function.returns
    if kind == "int":
        number = (torch.floor(total + ASIDE) + function.bias).remainder(size).long()
        return 100.0 * torch.nn.functional.one_hot(number, size) if one_hot else number[..., None]
    dimensions = torch.arange(size[0] if size else 1)
    return (torch.floor(2 * total + ASIDE)[..., None] + function.bias + dimensions).remainder(PERIOD) / 2
