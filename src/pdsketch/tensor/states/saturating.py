"""Arithmetic of int64 that stops at its ends instead of wrapping around.

A result that does not fit becomes the largest or the smallest int64. No state may hold
those two: they say that a number has left the range, and whoever sees them in a predicted
state refuses it (`Model.step`) or leaves it out (the searches).

Whether a result fits is told by the same calculation in floats, whose error is far smaller than
the range: where it says less than 2⁶⁴, an int64 has wrapped around exactly if its sign is wrong.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdsketch.lang import ValueType

LARGEST: Final = torch.iinfo(torch.int64).max
SMALLEST: Final = torch.iinfo(torch.int64).min

_NEAR: Final = 2.0**62
"""Where an estimate is further from 0 and the int64 has the other sign, it has wrapped around."""

_FAR: Final = 1.5 * 2.0**63
"""Where an estimate is further from 0, the result has left the range, whatever its sign."""


def add(a: Tensor, b: Tensor) -> Tensor:
    """``a + b``."""
    return a + b if _floats(a, b) else _fitted(a + b, a.double() + b.double())


def subtract(a: Tensor, b: Tensor) -> Tensor:
    """``a − b``."""
    return a - b if _floats(a, b) else _fitted(a - b, a.double() - b.double())


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """``a · b``."""
    return a * b if _floats(a, b) else _fitted(a * b, a.double() * b.double())


def negative(a: Tensor) -> Tensor:
    """``−a``."""
    return -a if _floats(a) else torch.where(a == SMALLEST, LARGEST, -a)


def divide(a: Tensor, b: Tensor) -> Tensor:
    """``a / b`` rounded down; an int divided by zero has no value, and 0 stands for it."""
    found = torch.div(a, torch.where(b == 0, torch.ones_like(b), b), rounding_mode="floor")
    if not _floats(a, b):
        found = found.masked_fill((a == SMALLEST) & (b == -1), LARGEST)
    return found.masked_fill(b == 0, 0)


def total(a: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The sum over some axes."""
    return a.sum(axes) if _floats(a) else _fitted(a.sum(axes), a.double().sum(axes))


def rounded(a: Tensor) -> Tensor:
    """The int64 that is nearest to a float."""
    near = a.round()
    up, down = near >= 2.0**63, near <= -(2.0**63)
    found = near.masked_fill(up | down, 0.0).to(torch.int64)
    return found.masked_fill(up, LARGEST).masked_fill(down, SMALLEST)


def is_unsigned(a: Tensor | NDArray[Any]) -> bool:
    """Whether this holds unsigned ints of a kind that torch stores, and does nothing else with."""
    if isinstance(a, Tensor):
        return a.dtype in (torch.uint16, torch.uint32, torch.uint64)
    return a.dtype.kind == "u"


def signed(a: NDArray[Any]) -> NDArray[Any]:
    """Unsigned ints as signed ones."""
    return np.asarray(np.minimum(a, np.uint64(LARGEST)).astype(np.int64))


def has_left(a: Tensor, type_: ValueType) -> Tensor | None:
    """Where a value is no longer in the range of its type; None: values of this type stay in it."""
    if type_.prim != "int64" or type_.choices is not None or a.is_floating_point():
        return None
    return (a == LARGEST) | (a == SMALLEST)


def _fitted(found: Tensor, estimate: Tensor) -> Tensor:
    up = (estimate > _FAR) | ((estimate > _NEAR) & (found < 0))
    down = (estimate < -_FAR) | ((estimate < -_NEAR) & (found >= 0))
    return found.masked_fill(up, LARGEST).masked_fill(down, SMALLEST)


def _floats(*tensors: Tensor) -> bool:
    return any(t.is_floating_point() for t in tensors)
