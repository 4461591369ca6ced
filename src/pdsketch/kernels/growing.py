"""Arrays that grow: how many rows to make room for.

Small arrays double. A large one gets at once as many rows as the budget can hold:
systems hand out memory when it is written to, so that room costs nothing before, and the
rows need not be copied, twice there for a while, again and again.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import Budget, OutOfMemoryError

Scalar = TypeVar("Scalar", bound=np.generic)

LARGE = 32_000_000
"""Bytes from which on an array is given all the room it may ever need; at most an eighth of the budget."""


def more_rows(rows: int, needed: int, row_bytes: float, budget: Budget) -> int:
    """For how many rows to make room where ``rows`` are full and ``needed`` must fit.

    Raises `OutOfMemoryError` where the budget has no room for them.
    """
    doubled = max(needed, 2 * rows)
    if budget.memory == inf:
        return doubled
    # While the rows are copied, they are there twice.
    budget.reserve((needed - rows) * row_bytes + rows * row_bytes)
    if doubled * row_bytes < min(LARGE, budget.memory / 8):
        return doubled
    return max(needed, rows + int(budget.room() / max(row_bytes, 1.0)))


def row_size(*arrays: NDArray[Any]) -> int:
    """The bytes of one row of each of some arrays."""
    return sum(array.itemsize * prod(array.shape[1:]) for array in arrays)


def enlarged(array: NDArray[Scalar], rows: int) -> NDArray[Scalar]:
    """The array with room for more rows; what they hold is not said."""
    try:
        larger = np.empty((rows, *array.shape[1:]), array.dtype)
    except MemoryError:
        raise OutOfMemoryError from None
    larger[: len(array)] = array
    return larger
