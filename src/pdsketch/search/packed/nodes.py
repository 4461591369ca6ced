"""The states that a search has met, and the hash table that finds them again."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pdsketch.heuristics.bits import Words
from pdsketch.heuristics.compiled import kernel
from pdsketch.task.task import Floats, Ints

Scalar = TypeVar("Scalar", bound=np.generic)

OPEN, CLOSED, DEAD = 0, 1, 2

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
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


def grown(nodes: Nodes) -> Nodes:
    """The same nodes with twice the room. The table comes empty: the next `advance` fills it."""
    capacity = len(nodes.g)
    return Nodes(
        states=_doubled(nodes.states),
        parent=_doubled(nodes.parent),
        operator=_doubled(nodes.operator),
        g=_doubled(nodes.g),
        h=_doubled(nodes.h),
        status=_doubled(nodes.status),
        table=np.full(4 * capacity, -1, np.int32),
    )


def _doubled(array: NDArray[Scalar]) -> NDArray[Scalar]:
    larger = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def n_bytes(nodes: Nodes) -> int:
    """How much memory the nodes take."""
    return sum(array.nbytes for array in nodes)


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
def refill(nodes: Nodes, count: int) -> None:
    """Enter the first ``count`` nodes into an empty table."""
    mask = len(nodes.table) - 1
    for node in range(count):
        slot = hashed(nodes.states[node]) & mask
        while nodes.table[slot] >= 0:
            slot = (slot + 1) & mask
        nodes.table[slot] = node
