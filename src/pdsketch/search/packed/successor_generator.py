"""The successor generator: which operators can be applied in a state, and what they make of it.

As in Fast Downward (Helmert 2006) the preconditions are a decision tree. It lies
in preorder in two arrays. A node tests a
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

from pdsketch.budget import UNLIMITED, Budget
from pdsketch.kernels import (
    CSR,
    ONE,
    Floats,
    Ints,
    Words,
    all_hold,
    holds,
    kernel,
    lowest,
    n_words,
    owners_of,
    set_false,
    set_true,
)
from pdsketch.task import Task


class SuccessorGenerator(NamedTuple):
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


def make_successor_generator(task: Task, budget: Budget = UNLIMITED) -> SuccessorGenerator:
    """The task's operators, ready for `applicable` and `apply`."""
    rows, rank = _sorted_preconditions(task.preconditions, 2 * task.n_facts)
    order = _sorted_rows(rows, budget)
    lengths = np.diff(rows.starts)[order]
    shared = np.zeros(len(order), np.int32)
    share(rows.starts, rows.items, order, shared)
    row_starts = np.concatenate([[0], np.cumsum(lengths.astype(np.int64) - shared + 1)])
    nodes = np.empty(int(row_starts[-1]), np.int32)
    skips = np.arange(1, len(nodes) + 1, dtype=np.int32)
    literals = np.argsort(rank).astype(np.int32)[rows.items]
    open_ = np.empty(int(lengths.max(initial=0)) + 1, np.int32)
    fill(rows.starts, literals, order, shared, nodes, skips, open_)
    budget.check()
    roots = np.zeros(task.n_facts, np.int32)
    roots_end = np.zeros(task.n_facts, np.int32)
    free = int((lengths == 0).sum())
    first = literals[rows.starts[order[free:]]]
    rooted = free + np.flatnonzero(first & 1 == 0)
    facts, begins, counts = np.unique(first[first & 1 == 0] >> 1, return_index=True, return_counts=True)
    roots[facts] = row_starts[rooted[begins]]
    roots_end[facts] = row_starts[rooted[begins] + counts]
    spare = task.n_basic & 63
    return SuccessorGenerator(
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


def _sorted_preconditions(rows: CSR, n_literals: int) -> tuple[CSR, NDArray[np.int64]]:
    """Preconditions by the ranks of their literals, each sorted, and the rank of every literal."""
    counts = np.bincount(rows.items, minlength=n_literals)
    literals = np.arange(n_literals)
    rank = np.empty(n_literals, np.int64)
    rank[np.lexsort((literals, counts, literals & 1))] = literals
    keys = rank[rows.items]
    inside = np.lexsort((keys, owners_of(rows)))
    return CSR(rows.starts, keys[inside].astype(np.int32)), rank


def _sorted_rows(rows: CSR, budget: Budget) -> Ints:
    """The rows in lexicographic order, equal ones in their own: merge sort, one kernel call a level."""
    order = np.arange(len(rows), dtype=np.int32)
    spare = np.empty_like(order)
    width = 1
    while width < len(order):
        merge(rows.starts, rows.items, order, spare, width)
        order, spare = spare, order
        width *= 2
        budget.check()
    return order


@kernel
def _before(starts: Ints, items: Ints, a: int, b: int) -> bool:
    """Whether row ``a`` comes strictly before row ``b``; a part of a row comes before the whole."""
    at_a, at_b = starts[a], starts[b]
    end_a, end_b = starts[a + 1], starts[b + 1]
    while at_a < end_a and at_b < end_b:
        if items[at_a] != items[at_b]:
            return items[at_a] < items[at_b]  # type: ignore[no-any-return]
        at_a += 1
        at_b += 1
    return bool(at_a == end_a and at_b < end_b)


@kernel
def merge(starts: Ints, items: Ints, order: Ints, into: Ints, width: int) -> None:
    """Merge neighbouring runs of ``width`` rows."""
    n = len(order)
    for first in range(0, n, 2 * width):
        middle, end = min(first + width, n), min(first + 2 * width, n)
        left, right = first, middle
        for at in range(first, end):
            if left < middle and (right >= end or not _before(starts, items, order[right], order[left])):
                into[at] = order[left]
                left += 1
            else:
                into[at] = order[right]
                right += 1


@kernel
def share(starts: Ints, items: Ints, order: Ints, shared: Ints) -> None:
    """How many items each row shares with the one before it, from the front."""
    for i in range(1, len(order)):
        a, b = order[i - 1], order[i]
        most = min(starts[a + 1] - starts[a], starts[b + 1] - starts[b])
        count = 0
        while count < most and items[starts[a] + count] == items[starts[b] + count]:
            count += 1
        shared[i] = count


@kernel
def fill(starts: Ints, items: Ints, order: Ints, shared: Ints, nodes: Ints, skips: Ints, open_: Ints) -> None:
    """Write the nodes in preorder, and where each jumps to: behind the last row that shares it.

    ``open_`` has room for the nodes of the longest row and one more.
    """
    depth, at = 0, 0
    for i in range(len(order)):
        row = order[i]
        while depth > shared[i]:
            depth -= 1
            skips[open_[depth]] = at
        for k in range(starts[row] + shared[i], starts[row + 1]):
            nodes[at] = items[k]
            open_[depth] = at
            depth += 1
            at += 1
        nodes[at] = -row - 1
        at += 1
    while depth > 0:
        depth -= 1
        skips[open_[depth]] = at


@kernel
def _walk(generator: SuccessorGenerator, state: Words, at: int, end: int, found: Ints, count: int) -> int:
    nodes, skips = generator.nodes, generator.skips
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
def applicable(generator: SuccessorGenerator, state: Words, found: Ints) -> int:
    """Write the operators that can be applied into ``found``; returns their number."""
    count = _walk(generator, state, 0, generator.free, found, 0)
    for word in range(len(state)):
        bits = state[word]
        while bits != 0:
            fact = word * 64 + lowest(bits)
            bits &= bits - ONE
            if generator.roots[fact] < generator.roots_end[fact]:
                count = _walk(
                    generator, state, generator.roots[fact], generator.roots_end[fact], found, count
                )
    return _walk(generator, state, generator.negative, len(generator.nodes), found, count)


@kernel
def apply(generator: SuccessorGenerator, state: Words, operator: int, after: Words) -> None:
    """Write the basic facts after ``operator`` into ``after``. Adds win over deletes."""
    last = len(after) - 1
    for word in range(len(after)):
        after[word] = state[word]
    after[last] &= generator.last_mask
    begin, end = generator.effects_starts[operator], generator.effects_starts[operator + 1]
    for truth in range(2):
        for i in range(begin, end):
            effect = generator.effects[i]
            first, stop = generator.conditions_starts[effect], generator.conditions_starts[effect + 1]
            if first < stop and not all_hold(generator.conditions, first, stop, state):
                continue
            for j in range(generator.heads_starts[effect], generator.heads_starts[effect + 1]):
                head = generator.heads[j]
                if truth == 1 and head & 1 == 0:
                    set_true(head >> 1, after)
                elif truth == 0 and head & 1 == 1:
                    set_false(head >> 1, after)


def words_of(task: Task) -> tuple[int, int]:
    """How many words hold the basic facts, and how many all facts; at least one each."""
    return max(1, n_words(task.n_basic)), max(1, n_words(task.n_facts))
