"""Plain functions for blanks and external predicates, exact in every engine.

All values are multiples of a quarter and small, so that sums are exact in
float32 too, and no result hangs on rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

ASIDE = 0.13
"""Where thresholds stand: sums of fractions by powers of 2 do not come within a float32's error of it."""

PERIOD = 5


@dataclass(frozen=True)
class Linear:
    """A weighted sum of the inputs' elements, brought into the range of a result.

    Element ``j`` of input ``i`` weighs ``weights[i] * (1 + j)``; the elements of a
    set count once for each of its members. ``returns`` is ``bool`` (is the sum
    above the bias?), ``("int", n)`` (the floor of it, modulo ``n``) or ``("float",
    shape)`` (halves between 0 and 2, another for each dimension). Thresholds stand a little `ASIDE`.
    """

    weights: tuple[int, ...]
    bias: int
    returns: Any

    def __call__(self, *args: Any) -> Any:
        total = sum(w * _weighted(arg) for w, arg in zip(self.weights, args, strict=True))
        return self.result(total)

    def result(self, total: float) -> Any:
        """The value that belongs to a sum."""
        if self.returns == "bool":
            return total > self.bias + ASIDE
        kind, size = self.returns
        if kind == "int":
            return (math.floor(total + ASIDE) + self.bias) % size
        halves = [
            ((math.floor(2 * total + ASIDE) + self.bias + d) % PERIOD) / 2
            for d in range(size[0] if size else 1)
        ]
        return tuple(halves) if size else halves[0]


def _weighted(arg: Any) -> float:
    """The elements of a value, each times its place; a set adds up those of its members."""
    if isinstance(arg, list):
        return sum(weight * _weighted(value) for value, weight in arg)
    elements = arg if isinstance(arg, tuple) else (arg,)
    return sum((1 + j) * float(element) for j, element in enumerate(elements))
