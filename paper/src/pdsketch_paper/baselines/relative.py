"""Where objects are to each other: differences of values of one type, on the edges of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, prod
from typing import Final, final

import torch
from torch import Tensor, nn

from pdsketch.lang import Domain, ObjectType, Predicate
from pdsketch.tensor import StateBatch, presented
from pdsketch_paper.baselines.axes import narrowed, scattered, shared_type

_MOST_NUMBERS: Final = 4
"""Vectors up to this length are compared; pictures and long codes are not. Set by hand: a pose in space."""

_PERIODS: Final = (4.0, 2.0, 1.0)
"""The periods of the waves, in standard deviations: neighbours on a grid of 7 cells are told apart."""

LEAST_SPREAD: Final = 1e-3
"""A number that varies by less than this is not magnified."""


def comparable(
    domain: Domain, read: Sequence[Predicate], shapes: Mapping[str, tuple[int, ...]]
) -> list[list[Predicate]]:
    """Float predicates of one object, grouped: the same type, and no object has two of a group."""
    groups: list[list[Predicate]] = []
    for predicate in read:
        shape = shapes[predicate.name]
        if predicate.type.prim != "float32" or len(predicate.parameters) != 1:
            continue
        if not 0 < prod(shape) <= _MOST_NUMBERS:
            continue
        for group in groups:
            same = predicate.type == group[0].type and shape == shapes[group[0].name]
            if same and all(_apart(domain, predicate, other) for other in group):
                group.append(predicate)
                break
        else:
            groups.append([predicate])
    return groups


def _apart(domain: Domain, one: Predicate, other: Predicate) -> bool:
    return shared_type(domain, one.object_types[0], other.object_types[0]) is None


def placed_values(
    batch: StateBatch, predicates: Sequence[Predicate], nodes: ObjectType
) -> tuple[Tensor, Tensor] | None:
    """The values of a group at its nodes ``[s, n, numbers]``, and 1 where there is one ``[s, n, 1]``.

    None if no node has a value.
    """
    values: Tensor | None = None
    present: Tensor | None = None
    for predicate in predicates:
        own = narrowed(batch, batch.tensor(predicate.name), predicate.object_types, nodes)
        if own is None:
            continue
        numbers = presented(own[0], predicate.type, 2).flatten(2)
        placed = scattered(batch, numbers, own[1], nodes)
        there = scattered(batch, torch.ones_like(numbers[..., :1]), own[1], nodes)
        values = placed if values is None else values + placed
        present = there if present is None else present + there
    return None if values is None or present is None else (values, present)


@final
class Relative(nn.Module):
    """The difference between what two nodes have of one type, and waves over it, projected.

    Waves are Fourier features (Tancik et al., 2020): with them *one cell ahead* is a linear
    function, which a network otherwise has to fit from standardised numbers.
    """

    scale: Tensor

    def __init__(self, predicates: Sequence[Predicate], shape: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.predicates = tuple(predicates)
        size = prod(shape)
        self.register_buffer("scale", torch.ones(size))
        self.project = nn.Linear(size * (1 + 2 * len(_PERIODS)), width)

    def forward(self, batch: StateBatch, nodes: ObjectType) -> Tensor | None:
        """Edges ``[s, receiver, sender, width]``, 0 where a node has no such value; None if none has."""
        found = placed_values(batch, self.predicates, nodes)
        if found is None:
            return None
        values, present = found
        scaled = values / self.scale
        difference = scaled[:, None, :, :] - scaled[:, :, None, :]
        waves = [
            wave(difference * (2 * pi / period)) for period in _PERIODS for wave in (torch.sin, torch.cos)
        ]
        edges: Tensor = self.project(torch.cat([difference, *waves], -1))
        return edges * (present[:, None, :, :] * present[:, :, None, :])

    def standardise(self, values: Sequence[Tensor]) -> None:
        """Take the spread of values from data: a tensor ``[…, *value]`` of each predicate."""
        size = len(self.scale)
        together = torch.cat([tensor.reshape(-1, size) for tensor in values])
        if len(together):
            self.scale.copy_(together.std(0, unbiased=False).clamp_min(LEAST_SPREAD))
