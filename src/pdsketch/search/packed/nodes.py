"""The states that a search has met, and the hash table that finds them again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import Budget, OutOfMemoryError
from pdsketch.kernels import Floats, Ints, Words, enlarged, kernel, more_rows, row_size

OPEN, CLOSED, DEAD = 0, 1, 2

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio (Knuth, multiplicative hashing)."""

_HALF = np.uint64(32)


class Nodes(NamedTuple):
    """One row a state, and ``table``: open addressing, -1 where free, half empty at least.

    ``parent`` and ``operator`` lead back to the initial state; ``status`` is OPEN,
    CLOSED or DEAD (no plan from there).
    """

    states: Words
    parent: Ints
    operator: Ints
    g: Floats
    h: Floats
    status: NDArray[np.int8]
    table: Ints


def make_nodes(capacity: int, words: int) -> Nodes:
    """Room for ``capacity`` states, a power of two."""
    return Nodes(
        states=np.zeros((capacity, words), np.uint64),
        parent=np.zeros(capacity, np.int32),
        operator=np.zeros(capacity, np.int32),
        g=np.zeros(capacity),
        h=np.zeros(capacity),
        status=np.zeros(capacity, np.int8),
        table=np.full(2 * capacity, -1, np.int32),
    )


MOST_NODES = 1 << 30
"""More nodes than an int32 counts, its sign and the table's half that is empty left out."""

_REFILLED = 1 << 20
"""Nodes that are entered into a table between two looks at the budget."""


def grown(nodes: Nodes, budget: Budget) -> Nodes:
    """The same nodes with more room."""
    rows = len(nodes.g)
    wanted = min(more_rows(rows, rows + 1, row_bytes(nodes), budget), MOST_NODES)
    if wanted <= rows:
        raise OutOfMemoryError
    return Nodes(
        states=enlarged(nodes.states, wanted),
        parent=enlarged(nodes.parent, wanted),
        operator=enlarged(nodes.operator, wanted),
        g=enlarged(nodes.g, wanted),
        h=enlarged(nodes.h, wanted),
        status=enlarged(nodes.status, wanted),
        table=nodes.table,
    )


def row_bytes(nodes: Nodes) -> int:
    """The memory that a node takes, its place in the table left out."""
    return row_size(nodes.states, nodes.parent, nodes.operator, nodes.g, nodes.h, nodes.status)


def rehashed(nodes: Nodes, count: int, budget: Budget) -> Nodes:
    """The same nodes, ``count`` of them, with a table of twice the size."""
    size = 2 * len(nodes.table)
    budget.reserve(size * nodes.table.itemsize)
    nodes = nodes._replace(table=np.full(size, -1, np.int32))
    for first in range(0, count, _REFILLED):
        refill(nodes, first, min(first + _REFILLED, count))
        budget.check()
    return nodes


@kernel
def hashed(state: Words) -> int:
    """A hash of a packed state."""
    value = _MULTIPLIER
    for word in state:
        value = (value ^ word) * _MULTIPLIER
        value ^= value >> _HALF
    return np.int64(value >> np.uint64(1))  # type: ignore[return-value]


@kernel
def find(nodes: Nodes, state: Words) -> int:
    """The number of a state, or ``-slot - 1`` with the free slot of the table where it belongs."""
    table, states = nodes.table, nodes.states
    mask = len(table) - 1
    slot = hashed(state) & mask
    while table[slot] >= 0:
        node = table[slot]
        same = True
        for word in range(len(state)):
            if states[node, word] != state[word]:
                same = False
                break
        if same:
            return node  # type: ignore[no-any-return]
        slot = (slot + 1) & mask
    return -slot - 1


@kernel
def refill(nodes: Nodes, first: int, last: int) -> None:
    """Enter some nodes into a table that does not hold them."""
    mask = len(nodes.table) - 1
    for node in range(first, last):
        slot = hashed(nodes.states[node]) & mask
        while nodes.table[slot] >= 0:
            slot = (slot + 1) & mask
        nodes.table[slot] = node
