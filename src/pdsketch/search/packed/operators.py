"""Which operators can be applied in a state, and what they make of it.

The preconditions stand in a tree, in preorder, as two arrays. A node tests a
literal: if it holds, the walk goes on with the next node, else it jumps over
the node's subtree. A negative entry is a leaf: the operator ``-entry - 1`` can
be applied. The literals of a precondition are tested in the order of how few
operators ask for them, facts before negations; so the walk starts only in the
subtrees of facts that hold, and most of these are short.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdsketch.heuristics.bits import ONE, Words, all_hold, holds, lowest, n_words, set_false, set_true
from pdsketch.heuristics.compiled import kernel
from pdsketch.heuristics.rows import owners_of
from pdsketch.task.task import Floats, Ints, Rows, Task


class Operators(NamedTuple):
    """The tree of preconditions, the effects, and the costs.

    Nodes before ``free`` are leaves of operators without a precondition; the
    subtree of a fact is ``roots[f]:roots_end[f]``; from ``negative`` on stand
    subtrees that begin with a negation. ``last_mask`` clears what is not a basic
    fact from the last word of a packed state.
    """

    nodes: Ints
    skips: Ints
    free: int
    roots: Ints
    roots_end: Ints
    negative: int
    effects_starts: Ints
    effects: Ints
    conditions_starts: Ints
    conditions: Ints
    heads_starts: Ints
    heads: Ints
    costs: Floats
    last_mask: np.uint64


def prepare_operators(task: Task) -> Operators:
    """The task's operators, ready for `applicable` and `apply`."""
    table, lengths, order = _sorted_preconditions(task.preconditions, 2 * task.n_facts)
    nodes, skips, row_starts = _tree(table, lengths, order)
    roots = np.zeros(task.n_facts, np.int32)
    roots_end = np.zeros(task.n_facts, np.int32)
    first = table[:, 0]
    rooted = np.flatnonzero((first >= 0) & (first & 1 == 0))
    facts, begins, counts = np.unique(first[rooted] >> 1, return_index=True, return_counts=True)
    roots[facts] = row_starts[rooted[begins]]
    roots_end[facts] = row_starts[rooted[begins] + counts]
    free = int((lengths == 0).sum())
    spare = task.n_basic & 63
    return Operators(
        nodes=nodes,
        skips=skips,
        free=free,
        roots=roots,
        roots_end=roots_end,
        negative=int(row_starts[free + len(rooted)]),
        effects_starts=task.effects.starts.astype(np.int32),
        effects=task.effects.items.astype(np.int32),
        conditions_starts=task.conditions.starts.astype(np.int32),
        conditions=task.conditions.items.astype(np.int32),
        heads_starts=task.heads.starts.astype(np.int32),
        heads=task.heads.items.astype(np.int32),
        costs=task.costs.astype(np.float64),
        last_mask=np.uint64((1 << spare) - 1 if spare else 2**64 - 1),
    )


def _sorted_preconditions(
    rows: Rows, n_literals: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Preconditions as rows padded with -1, in the order of the tree; their lengths and operators."""
    counts = np.bincount(rows.items, minlength=n_literals)
    literals = np.arange(n_literals)
    rank = np.empty(n_literals, np.int64)
    rank[np.lexsort((literals, counts, literals & 1))] = literals
    owners, keys = owners_of(rows), rank[rows.items]
    inside = np.lexsort((keys, owners))
    lengths = np.diff(rows.starts).astype(np.int64)
    table = np.full((len(rows), max(int(lengths.max(initial=0)), 1)), -1, np.int64)
    place = np.arange(len(rows.items)) - np.repeat(rows.starts[:-1].astype(np.int64), lengths)
    table[owners, place] = keys[inside]
    order = np.lexsort(table.T[::-1])
    by_rank = np.append(np.argsort(rank), -1)
    return by_rank[table[order]].astype(np.int32), lengths[order], order


def _tree(
    table: NDArray[np.int32], lengths: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[Ints, Ints, NDArray[np.int64]]:
    """The nodes in preorder, where each jumps to, and where the nodes of each row of the table start."""
    n_rows, width = table.shape
    shared = np.zeros(n_rows, np.int64)  # how many literals a row shares with the one before
    if n_rows > 1:
        different = table[1:] != table[:-1]
        shared[1:] = np.where(different.any(axis=1), different.argmax(axis=1), width)
        shared[1:] = np.minimum(shared[1:], lengths[:-1])
    own = lengths - shared + 1
    row_starts = np.concatenate([[0], np.cumsum(own)])
    nodes = np.empty(int(row_starts[-1]), np.int32)
    skips = np.arange(1, len(nodes) + 1, dtype=np.int32)
    nodes[row_starts[1:] - 1] = -order - 1
    for column in range(width):
        rows = np.flatnonzero((shared <= column) & (lengths > column))
        at = row_starts[rows] + column - shared[rows]
        nodes[at] = table[rows, column]
        breaks = np.flatnonzero(shared <= column)
        following = np.searchsorted(breaks, rows, side="right")
        skips[at] = row_starts[np.append(breaks, n_rows)[following]]
    return nodes, skips, row_starts


@kernel
def _walk(operators: Operators, state: Words, at: int, end: int, found: Ints, count: int) -> int:
    nodes, skips = operators.nodes, operators.skips
    while at < end:
        entry = nodes[at]
        if entry < 0:
            found[count] = -entry - 1
            count += 1
            at += 1
        elif holds(entry, state):
            at += 1
        else:
            at = skips[at]
    return count


@kernel
def applicable(operators: Operators, state: Words, found: Ints) -> int:
    """Write the operators that can be applied into ``found``; returns their number."""
    count = _walk(operators, state, 0, operators.free, found, 0)
    for word in range(len(state)):
        bits = state[word]
        while bits != 0:
            fact = word * 64 + lowest(bits)
            bits &= bits - ONE
            if operators.roots[fact] < operators.roots_end[fact]:
                count = _walk(
                    operators, state, operators.roots[fact], operators.roots_end[fact], found, count
                )
    return _walk(operators, state, operators.negative, len(operators.nodes), found, count)


@kernel
def apply(operators: Operators, state: Words, operator: int, after: Words) -> None:
    """Write the basic facts after ``operator`` into ``after``. Adds win over deletes."""
    last = len(after) - 1
    for word in range(len(after)):
        after[word] = state[word]
    after[last] &= operators.last_mask
    begin, end = operators.effects_starts[operator], operators.effects_starts[operator + 1]
    for truth in range(2):
        for i in range(begin, end):
            effect = operators.effects[i]
            first, stop = operators.conditions_starts[effect], operators.conditions_starts[effect + 1]
            if first < stop and not all_hold(operators.conditions, first, stop, state):
                continue
            for j in range(operators.heads_starts[effect], operators.heads_starts[effect + 1]):
                head = operators.heads[j]
                if truth == 1 and head & 1 == 0:
                    set_true(head >> 1, after)
                elif truth == 0 and head & 1 == 1:
                    set_false(head >> 1, after)


def words_of(task: Task) -> tuple[int, int]:
    """How many words hold the basic facts, and how many all facts; at least one each."""
    return max(1, n_words(task.n_basic)), max(1, n_words(task.n_facts))
