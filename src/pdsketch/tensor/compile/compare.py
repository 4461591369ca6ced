"""Equality and order of values: exact when crisp, with a gradient when soft.

A soft comparison of floats is ``σ(±8 log r)`` of a distance measured in
tolerances. It crosses ½ where the crisp one changes its mind, is within 0.5 %
of it at twice or half that distance, and its logarithm has a gradient at any
distance, since it falls off as a power and not exponentially.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Literal

import torch
from torch import Tensor

from pdsketch.lang import Component, ValueType, no_such_component
from pdsketch.tensor.compile.logic import FuzzyLogic
from pdsketch.tensor.compile.node import Node, Run
from pdsketch.tensor.states import saturating
from pdsketch.tensor.states.values import is_categorical, numbers, one_hot

# Arithmetic of tensors, and elements of vectors.


def element(vector: Node, expr: Component) -> Node:
    """One element of a vector: the first axis behind those of states and variables is the vector's own."""
    leading, place = 1 + len(vector.axes), expr.place

    def compute(run: Run) -> Tensor:
        value = vector(run)
        if place >= value.shape[leading]:
            raise no_such_component(place, value.shape[leading], expr.span)
        return value.select(leading, place)

    return Node(vector.axes, compute, loop=vector.loop)


def calculated(op: str, values: list[Tensor], *, of_ints: bool) -> Tensor:
    """``+``, ``-``, ``*`` or ``/`` of numbers or vectors of one shape; ``of_ints``: division rounds down."""
    if op == "-" and len(values) == 1:
        return saturating.negative(values[0])
    if op == "/":
        above, below = values
        return saturating.divide(above, below) if of_ints else above / below
    operation: Callable[[Tensor, Tensor], Tensor] = _OPERATIONS[op]
    return reduce(operation, values)


_OPERATIONS: Mapping[str, Callable[..., Tensor]] = {
    "+": saturating.add,
    "-": saturating.subtract,
    "*": saturating.multiply,
}


Order = Literal["<", "<=", ">", ">="]
SHARPNESS = 8.0
"""The power by which a soft comparison falls off with distance; set by hand."""

_LEAST_RATIO = 1e-3
"""Distances below this part of the tolerance count as this, so that a logarithm is finite."""

_ROUNDING_SLACK = 1.0 + 1e-6
"""Numbers that are as far apart as the tolerance are equal, whatever float32 rounds."""

_ORDER_MARGIN = 5e-4
"""How far apart floats must be to be clearly in order, softly; set by hand."""


def equal(
    logic: FuzzyLogic,
    left: tuple[Tensor, ValueType],
    right: tuple[Tensor, ValueType],
    tolerance: float,
    leading: int,
) -> Tensor:
    """Whether two values are equal, all of their own axes (those behind the leading ones) together.

    ``left`` and ``right`` are tensors with their types, ``leading`` is the number of axes (of states and
    objects) that the result keeps. By ``logic``, Booleans are equal where both imply each other; ints by the
    probability that they agree; floats where they are within the ``tolerance`` in every element.
    """
    (a, a_type), (b, b_type) = left, right
    if a_type.prim == "bool" and b_type.prim == "bool":
        # Not one minus the distance: under Gödel, two truths of a half would then be surely equal.
        same = a == b if logic.crisp else logic.conj(logic.implies(a, b), logic.implies(b, a))
    elif a_type.prim == "int64" and b_type.prim == "int64":
        same = _equal_ints(logic, a, a_type, b, b_type)
    else:
        distance = (numbers(a, a_type) - numbers(b, b_type)).abs()
        same = _near(logic, distance, tolerance)
    return _all_elements(logic, same, same.dim() - leading)


def _equal_ints(logic: FuzzyLogic, a: Tensor, a_type: ValueType, b: Tensor, b_type: ValueType) -> Tensor:
    if not (a.is_floating_point() or b.is_floating_point()):
        same = a == b
        return same if logic.crisp else same.to(torch.float32)
    choices = max(a_type.choices or 0, b_type.choices or 0)
    if is_categorical(a_type) and is_categorical(b_type):
        shared = min(a_type.choices or 0, b_type.choices or 0)
        p, q = one_hot(a, a_type.choices or choices), one_hot(b, b_type.choices or choices)
        return (p[..., :shared] * q[..., :shared]).sum(-1)
    return _hat((numbers(a, a_type) - numbers(b, b_type)).abs())


def _hat(distance: Tensor) -> Tensor:
    return (1.0 - distance).clamp(min=0.0)


def _near(logic: FuzzyLogic, distance: Tensor, tolerance: float) -> Tensor:
    if logic.crisp:
        return distance <= tolerance * _ROUNDING_SLACK
    if tolerance <= 0.0:
        return (distance <= 0.0).to(torch.float32)
    return torch.sigmoid(-SHARPNESS * (distance / (tolerance * (1 + 1e-3))).clamp(min=_LEAST_RATIO).log())


def _all_elements(logic: FuzzyLogic, same: Tensor, own: int) -> Tensor:
    if own == 0:
        return same
    axes = tuple(range(same.dim() - own, same.dim()))
    if 0 in same.shape[-own:]:
        return same.new_ones(same.shape[:-own])
    return logic.every(same, axes)


def compare(
    logic: FuzzyLogic, op: Order, left: tuple[Tensor, ValueType], right: tuple[Tensor, ValueType]
) -> Tensor:
    """Whether one number is less (or more) than another.

    ``op`` stands between ``left`` and ``right``, tensors with their types that broadcast. By a soft
    ``logic``, distributions over ints give the probability of it, and floats a sigmoid of their difference.
    """
    if op in (">", ">="):
        left, right = right, left
    strict = op in ("<", ">")
    (a, a_type), (b, b_type) = left, right
    both_ints = a_type.prim == "int64" and b_type.prim == "int64"
    if both_ints and is_categorical(a_type) and is_categorical(b_type) and not logic.crisp:
        return _ordered(a, a_type.choices or 0, b, b_type.choices or 0, strict=strict)
    less, more = numbers(a, a_type), numbers(b, b_type)
    if logic.crisp or not (less.is_floating_point() or more.is_floating_point()):
        # Not by their difference, which may not fit into an int64.
        found = less < more if strict else less <= more
        return found if logic.crisp else found.to(torch.float32)
    ahead = more - less
    margin = 0.5 if both_ints else _ORDER_MARGIN
    steps = (ahead - margin if strict else ahead + margin) / margin
    return torch.sigmoid(SHARPNESS * steps.sign() * steps.abs().log1p())


def _ordered(a: Tensor, n: int, b: Tensor, m: int, *, strict: bool) -> Tensor:
    """The probability that one int with choices is less than another."""
    if not (a.is_floating_point() or b.is_floating_point()):
        return (a < b if strict else a <= b).to(torch.float32)
    p, q = one_hot(a, n), one_hot(b, m)
    places = torch.arange(max(n, m), device=p.device)
    less = places[:n, None] < places[:m] if strict else places[:n, None] <= places[:m]
    return ((p @ less.to(p.dtype)) * q).sum(-1)
