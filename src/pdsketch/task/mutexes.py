"""Pairs of literals that no state holds both of: h² (Haslum and Geffner, 2000), as sets of bits.

hFF forgets what operators make false. Where a goal can be reached in several ways, it may count on one that
is none: to hold a thing and to face it at once. Axioms that need such a pair are left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import Budget
from pdsketch.kernels import ONE, Bools, Ints, Words, gather, kernel, lowest, n_words, pack
from pdsketch.task.task import Task

MOST_LITERALS: Final = 1 << 13
"""Larger tasks have too many pairs: as bits, those of so many literals take 8 MiB."""

MOST_WORK: Final = 20_000_000
"""Pairs of effects and words of bits that a round looks at, about a tenth of a second; a room of eight things
has 400,000. Limits are asked after each round."""

_Rows = tuple[Ints, Ints]


class _Operators(NamedTuple):
    """As a task has them."""

    preconditions: _Rows
    effects: _Rows
    conditions: _Rows
    heads: _Rows


def without_mutexes(task: Task, groups: Ints, budget: Budget) -> Task:
    """The task without axioms whose bodies never hold.

    At most one fact of each of the ``groups`` holds in any state: a number for each fact, -1 for none.
    Operators keep their places.
    """
    if 2 * task.n_facts > MOST_LITERALS or _work(task) > MOST_WORK or not len(task.axiom_heads):
        return task
    pairs = possible_pairs(task, groups, budget)
    bodies = task.axiom_bodies
    kept = _consistent(pairs, (bodies.starts, bodies.items))
    if kept.all():
        return task
    left = np.flatnonzero(kept)
    return replace(
        task,
        axiom_heads=task.axiom_heads[left],
        axiom_bodies=gather(bodies, left),
        axiom_layers=task.axiom_layers[left],
    )


def possible_pairs(task: Task, groups: Ints, budget: Budget) -> Words:
    """For each literal, those that may hold with it in a state that can be reached, itself among them."""
    size = 2 * task.n_facts
    words, every = n_words(size), np.arange(size)
    true = 2 * np.arange(task.n_basic) + ~task.init[: task.n_basic]
    pairs, forbidden = np.zeros((2, size, words), np.uint64)
    pairs[true] = _bits(true, size)
    for number in np.unique(groups[groups >= 0]):
        own = 2 * np.flatnonzero(groups == number)
        forbidden[own] = _bits(own, size)
    forbidden[every, every >> 6] &= ~(ONE << (every & 63).astype(np.uint64))
    forbidden[every, every >> 6] |= ONE << ((every ^ 1) & 63).astype(np.uint64)
    parts = (task.preconditions, task.effects, task.conditions, task.heads)
    operators = _Operators(*((part.starts, part.items) for part in parts))
    bodies = (task.axiom_bodies.starts, task.axiom_bodies.items)
    while _spread(pairs, forbidden, task.n_basic, (task.axiom_heads, bodies), operators):
        budget.check()
    return pairs


def _work(task: Task) -> int:
    counts = np.diff(task.effects.starts).astype(np.int64)
    rows = len(task.axiom_bodies.items) + len(task.conditions.items)
    return int((counts**2).sum()) + rows * n_words(2 * task.n_facts)


def _bits(literals: NDArray[np.integer], size: int) -> Words:
    """A set of literals as a row of bits."""
    row = np.zeros((1, size), np.bool_)
    row[0, literals] = True
    found: Words = pack(row, n_words(size))[0]
    return found


@kernel
def _has(row: Words, literal: int) -> bool:
    return (row[literal >> 6] >> np.uint64(literal & 63)) & ONE != 0  # type: ignore[no-any-return]


@kernel
def _add(pairs: Words, literal: int, row: Words, forbidden: Words) -> bool:
    """Let a literal go together with all of a row; whether that is new."""
    found = False
    for word in range(len(row)):
        new = row[word] & ~pairs[literal, word] & ~forbidden[literal, word]
        if new:
            found = True
            pairs[literal, word] |= new
            while new:
                other = 64 * word + lowest(new)
                pairs[other, literal >> 6] |= ONE << np.uint64(literal & 63)
                new &= new - ONE
    return found


@kernel
def _with(pairs: Words, rows: _Rows, row: int, together: Words) -> bool:
    """Narrow a set down to what goes together with a row of literals; whether these are in it."""
    for i in range(rows[0][row], rows[0][row + 1]):
        for word in range(len(together)):
            together[word] &= pairs[rows[1][i], word]
    return _holds(together, rows, row)


@kernel
def _holds(together: Words, rows: _Rows, row: int) -> bool:
    for i in range(rows[0][row], rows[0][row + 1]):  # noqa: SIM110
        if not _has(together, rows[1][i]):
            return False
    return True


@kernel
def _alive(pairs: Words, row: Words) -> None:
    """Those that may hold at all."""
    row[:] = 0
    for literal in range(len(pairs)):
        if _has(pairs[literal], literal):
            row[literal >> 6] |= ONE << np.uint64(literal & 63)


@kernel
def _persist(together: Words, op: int, effect: int, operators: _Operators) -> None:
    """Leave out of what went with an effect what its operator makes false whenever the effect fires."""
    preconditions, conditions, heads = operators.preconditions, operators.conditions, operators.heads
    for at in range(operators.effects[0][op], operators.effects[0][op + 1]):
        other = operators.effects[1][at]
        for i in range(heads[0][other], heads[0][other + 1]):
            lost = heads[1][i] ^ 1
            if not _has(together, lost):
                continue
            fires = True
            for j in range(conditions[0][other], conditions[0][other + 1]):
                literal = conditions[1][j]
                known = literal == lost
                for k in range(conditions[0][effect], conditions[0][effect + 1]):
                    known = known or conditions[1][k] == literal
                for k in range(preconditions[0][op], preconditions[0][op + 1]):
                    known = known or preconditions[1][k] == literal
                fires = fires and known
            if fires:
                together[lost >> 6] &= ~(ONE << np.uint64(lost & 63))


@kernel
def _spread_axioms(
    pairs: Words, forbidden: Words, n_basic: int, axioms: tuple[Ints, _Rows], alive: Words
) -> bool:
    """What axioms derive, and what may be underivable, beside what it may hold with."""
    axiom_heads, bodies = axioms
    found, row = False, np.empty_like(alive)
    for axiom in range(len(axiom_heads)):
        row[:] = alive
        if _with(pairs, bodies, axiom, row):
            head = 2 * axiom_heads[axiom]
            row[head >> 6] |= ONE << np.uint64(head & 63)
            found = _add(pairs, head, row, forbidden) or found
    for literal in range(2 * n_basic + 1, len(pairs), 2):
        row[:] = alive
        row[literal >> 6] |= ONE << np.uint64(literal & 63)
        found = _add(pairs, literal, row, forbidden) or found
    return found


@kernel
def _spread(
    pairs: Words, forbidden: Words, n_basic: int, axioms: tuple[Ints, _Rows], operators: _Operators
) -> bool:
    """One round over all axioms and operators; whether there are new pairs."""
    conditions, heads = operators.conditions, operators.heads
    words = pairs.shape[1]
    alive, basic = np.empty(words, np.uint64), np.zeros(words, np.uint64)
    for literal in range(2 * n_basic):
        basic[literal >> 6] |= ONE << np.uint64(literal & 63)
    _alive(pairs, alive)
    found = _spread_axioms(pairs, forbidden, n_basic, axioms, alive)
    made = np.zeros(words, np.uint64)
    for op in range(len(operators.preconditions[0]) - 1):
        _alive(pairs, alive)
        if not _with(pairs, operators.preconditions, op, alive):
            continue
        own = operators.effects[1][operators.effects[0][op] : operators.effects[0][op + 1]]
        together = np.empty((len(own), words), np.uint64)
        fires = np.zeros(len(own), np.bool_)
        for i in range(len(own)):
            together[i] = alive
            fires[i] = _with(pairs, conditions, own[i], together[i])
        for i in range(len(own)):
            if not fires[i]:
                continue
            # What it makes true beside what others make true that fire with it, and what stays as it is.
            made[:] = 0
            for j in range(len(own)):
                if fires[j] and _holds(together[i], conditions, own[j]):
                    for k in range(heads[0][own[j]], heads[0][own[j] + 1]):
                        literal = heads[1][k]
                        made[literal >> 6] |= ONE << np.uint64(literal & 63)
            _persist(together[i], op, own[i], operators)
            for word in range(words):
                made[word] |= together[i, word] & basic[word]
            for k in range(heads[0][own[i]], heads[0][own[i] + 1]):
                found = _add(pairs, heads[1][k], made, forbidden) or found
    return found


@kernel
def _consistent(pairs: Words, rows: _Rows) -> Bools:
    """Which rows of literals may hold, as far as pairs can tell."""
    found = np.ones(len(rows[0]) - 1, np.bool_)
    for row in range(len(found)):
        for i in range(rows[0][row], rows[0][row + 1]):
            found[row] = found[row] and _holds(pairs[rows[1][i]], rows, row)
    return found
