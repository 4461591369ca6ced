"""The open list: a binary heap with two keys; among equals, first in, first out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import Budget
from pdsketch.kernels import Floats, enlarged, kernel, more_rows, row_size


class Queue(NamedTuple):
    """Row ``i`` of ``keys`` is an entry's two keys, of ``items`` its number of arrival and what it holds.

    ``counts`` is the number of entries, and of all arrivals so far.
    """

    keys: Floats
    items: NDArray[np.int64]
    counts: NDArray[np.int64]


def make_queue(capacity: int) -> Queue:
    """An empty queue with room for ``capacity`` entries."""
    return Queue(np.empty((capacity, 2)), np.empty((capacity, 2), np.int64), np.zeros(2, np.int64))


def roomy(queue: Queue, more: int, budget: Budget) -> Queue:
    """The same queue, with room for so many entries more."""
    rows, needed = len(queue.keys), int(queue.counts[0]) + more
    if needed <= rows:
        return queue
    wanted = more_rows(rows, needed, row_size(queue.keys, queue.items), budget)
    return queue._replace(keys=enlarged(queue.keys, wanted), items=enlarged(queue.items, wanted))


@kernel
def _copy(queue: Queue, source: int, target: int) -> None:
    """Put an entry at another place."""
    keys, items = queue.keys, queue.items
    keys[target, 0], keys[target, 1] = keys[source, 0], keys[source, 1]
    items[target, 0], items[target, 1] = items[source, 0], items[source, 1]


@kernel
def push(queue: Queue, first: float, second: float, item: int) -> None:
    """Add an entry."""
    keys, items, counts = queue.keys, queue.items, queue.counts
    at = counts[0]
    while at > 0:
        above = (at - 1) >> 1
        if keys[above, 0] < first or (keys[above, 0] == first and keys[above, 1] <= second):
            break
        _copy(queue, above, at)
        at = above
    keys[at, 0], keys[at, 1] = first, second
    items[at, 0], items[at, 1] = counts[1], item
    counts[0] += 1
    counts[1] += 1


@kernel
def before(queue: Queue, a: int, b: int) -> bool:
    """Whether entry ``a`` comes before entry ``b``."""
    keys = queue.keys
    if keys[a, 0] != keys[b, 0]:
        return keys[a, 0] < keys[b, 0]  # type: ignore[no-any-return]
    if keys[a, 1] != keys[b, 1]:
        return keys[a, 1] < keys[b, 1]  # type: ignore[no-any-return]
    return queue.items[a, 0] < queue.items[b, 0]  # type: ignore[no-any-return]


@kernel
def pop(queue: Queue) -> int:
    """Remove the first entry and return what it holds."""
    items, counts = queue.items, queue.counts
    found = items[0, 1]
    counts[0] -= 1
    size = counts[0]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and before(queue, below + 1, below):
            below += 1
        if before(queue, size, below):
            break
        _copy(queue, below, at)
        at = below
    _copy(queue, size, at)
    return found  # type: ignore[no-any-return]
