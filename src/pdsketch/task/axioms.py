"""Derived facts: the axioms as arrays, and the kernel that evaluates them in a state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdsketch.kernels import (
    CSR,
    Bools,
    Ints,
    Words,
    distinct,
    holds,
    invert,
    kernel,
    owners_of,
    set_false,
    set_true,
    starts_of,
)
from pdsketch.task.task import Task


class Axioms(NamedTuple):
    """Rules by the literals they wait for.

    ``literals`` are the basic literals that bodies mention; ``watch_starts`` and
    ``watch_items`` list the rules of every literal; ``closed_starts`` and
    ``closed_items`` list the derived facts of every layer whose negation some
    body mentions. ``empty`` are the rules without a body. ``left`` and ``queue``
    are room to work in.
    """

    n_basic: int
    n_derived: int
    literals: Ints
    watch_starts: Ints
    watch_items: Ints
    sizes: Ints
    heads: Ints
    empty: Ints
    closed_starts: Ints
    closed_items: Ints
    left: Ints
    queue: Ints


def prepare_axioms(task: Task) -> Axioms:
    """The task's axioms, ready for `evaluate_axioms`."""
    bodies = task.axiom_bodies
    mentioned = distinct(bodies.items).astype(np.int32)
    watchers = invert(bodies, 2 * task.n_facts)
    closed = mentioned[(mentioned & 1 == 1) & (mentioned >> 1 >= task.n_basic)] >> 1
    layer_of = np.full(task.n_facts, -1, np.int64)
    layer_of[task.axiom_heads] = task.axiom_layers
    order = np.argsort(layer_of[closed], kind="stable")
    _, counts = np.unique(layer_of[closed], return_counts=True)
    sizes = np.diff(bodies.starts).astype(np.int32)
    return Axioms(
        n_basic=task.n_basic,
        n_derived=task.n_facts - task.n_basic,
        literals=mentioned[mentioned >> 1 < task.n_basic],
        watch_starts=watchers.starts,
        watch_items=watchers.items,
        sizes=sizes,
        heads=task.axiom_heads.astype(np.int32),
        empty=np.flatnonzero(sizes == 0).astype(np.int32),
        closed_starts=starts_of(counts),
        closed_items=closed[order].astype(np.int32),
        left=np.zeros(len(sizes), np.int32),
        queue=np.zeros(2 * task.n_facts + 1, np.int32),
    )


def depends_on_itself(heads: Ints, bodies: CSR, derived: Bools) -> bool:
    """Whether some derived fact does, over positive literals: those that wait for no other are taken away."""
    owners, items = owners_of(bodies), bodies.items
    positive = (items & 1 == 0) & derived[items >> 1]
    above, below = heads[owners[positive]], items[positive] >> 1
    while len(above):
        waits = np.zeros(len(derived), np.bool_)
        waits[above] = True
        left = waits[below]
        if left.all():
            return True
        above, below = above[left], below[left]
    return False


@kernel
def _fire(rule: int, axioms: Axioms, state: Words, size: int) -> int:
    """Make a rule's head true; returns the size of the queue, with the head in it if that is new."""
    head = axioms.heads[rule]
    if holds(2 * head, state):
        return size
    set_true(head, state)
    axioms.queue[size] = 2 * head
    return size + 1


@kernel
def _propagate(axioms: Axioms, state: Words, first: int, size: int) -> int:
    """Let the literals in the queue from ``first`` on, and all that follows, be seen by their rules."""
    while first < size:
        literal = axioms.queue[first]
        first += 1
        for i in range(axioms.watch_starts[literal], axioms.watch_starts[literal + 1]):
            rule = axioms.watch_items[i]
            axioms.left[rule] -= 1
            if axioms.left[rule] == 0:
                size = _fire(rule, axioms, state, size)
    return size


@kernel
def evaluate_axioms(axioms: Axioms, state: Words) -> None:
    """Compute all derived facts from the basic ones.

    A rule fires as soon as its whole body is known to hold. Whether a derived
    fact is false is known when all lower layers are complete; then its negation
    is announced. What it starts lies in higher layers, so that one walk upward
    is enough.
    """
    if axioms.n_derived == 0:
        return
    for fact in range(axioms.n_basic, axioms.n_basic + axioms.n_derived):
        set_false(fact, state)
    left, sizes = axioms.left, axioms.sizes
    for rule in range(len(sizes)):
        left[rule] = sizes[rule]
    size = 0
    for rule in axioms.empty:
        size = _fire(rule, axioms, state, size)
    for literal in axioms.literals:
        if holds(literal, state):
            axioms.queue[size] = literal
            size += 1
    first = 0
    size = _propagate(axioms, state, first, size)
    for layer in range(len(axioms.closed_starts) - 1):
        first = size
        for i in range(axioms.closed_starts[layer], axioms.closed_starts[layer + 1]):
            fact = axioms.closed_items[i]
            if not holds(2 * fact, state):
                axioms.queue[size] = 2 * fact + 1
                size += 1
        size = _propagate(axioms, state, first, size)
