"""Arithmetic of tensors, and elements of vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from torch import Tensor

from pdsketch.lang import Component, out_of_range
from pdsketch.tensor.compile.node import Node, Run
from pdsketch.tensor.states import whole


def element(vector: Node, expr: Component) -> Node:
    """One element of a vector: the first axis behind those of states and variables is the vector's own."""
    leading, place = 1 + len(vector.axes), expr.place

    def compute(run: Run) -> Tensor:
        value = vector(run)
        if place >= value.shape[leading]:
            raise out_of_range(place, value.shape[leading], expr.span)
        return value.select(leading, place)

    return Node(vector.axes, compute, loop=vector.loop)


def calculated(op: str, values: list[Tensor], *, of_ints: bool) -> Tensor:
    """``+``, ``-``, ``*`` or ``/`` of numbers or vectors of one shape; ``of_ints``: division rounds down."""
    if op == "-" and len(values) == 1:
        return whole.negative(values[0])
    if op == "/":
        above, below = values
        return whole.divide(above, below) if of_ints else above / below
    operation: Callable[[Tensor, Tensor], Tensor] = _OPERATIONS[op]
    return reduce(operation, values)


_OPERATIONS: Mapping[str, Callable[..., Tensor]] = {"+": whole.add, "-": whole.subtract, "*": whole.multiply}
