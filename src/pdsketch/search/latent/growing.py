"""Tensors that grow: how many rows to make room for.

Small tensors double. On the CPU a large one gets at once as many rows as the budget can hold:
systems hand out memory when it is written to, so that room costs nothing before, and the
rows need not be copied, twice there for a while, again and again.
"""

from __future__ import annotations

from math import inf, prod
from typing import Final

import torch
from torch import Tensor

from pdsketch.budget import Budget, current

LARGE: Final = 32_000_000
"""Bytes from which on a tensor is given all the room it may ever need; at most an eighth of the budget."""


def more_rows(rows: int, needed: int, row_bytes: float, budget: Budget) -> int:
    """For how many rows to make room where ``rows`` are full and ``needed`` must fit.

    A row takes ``row_bytes``. Raises `OutOfMemoryError` where ``budget`` has no room for them.
    """
    doubled = max(needed, 2 * rows)
    if budget.memory == inf:
        return doubled
    # While the rows are copied, they are there twice.
    budget.reserve((needed - rows) * row_bytes + rows * row_bytes)
    if doubled * row_bytes < min(LARGE, budget.memory / 8):
        return doubled
    return max(needed, rows + int(budget.room() / max(row_bytes, 1.0)))


def capacity(rows: int, needed: int, row_bytes: float, device: torch.device) -> int:
    """The same within the budget of the call, for tensors on a ``device``.

    ``rows`` are full and ``needed`` must fit, of ``row_bytes`` each.
    """
    if device.type == "cpu":
        return more_rows(rows, needed, row_bytes, current())
    doubled = max(needed, 2 * rows)
    current().reserve(doubled * row_bytes)
    return doubled


def grown(old: Tensor, rows: int) -> Tensor:
    """The tensor with room for more rows; what they hold is not said."""
    bigger = old.new_empty(rows, *old.shape[1:])
    bigger[: old.shape[0]] = old
    return bigger


def row_bytes(*tensors: Tensor) -> int:
    """The bytes of one row of each of some tensors."""
    return sum(tensor.element_size() * prod(tensor.shape[1:]) for tensor in tensors)
