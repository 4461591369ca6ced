"""The join kernel: a compiled, semi-naive Datalog engine over flat arrays.

Facts wait in a queue. When one is taken, it is matched against each condition
that it may satisfy, and the other conditions of that rule are joined to it by
backtracking over hash indexes. Only facts taken before are seen by the joins,
and among equal ones the order of the conditions decides, so every instance of
a rule is found exactly once, in time proportional to the matches tried.

The kernel owns no memory. It returns when an array is full or when its budget
of steps is used up, and goes on where it stopped when it is called again; so
limits on time and size are kept outside, in Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pdsketch.task.task import Bools, Ints

Longs = NDArray[np.int64]

# Kinds of steps of a join.
MATCH, ENUMERATE, OF_TYPE, EQUAL, DIFFERENT, ABSENT, EMIT = range(7)

# Why the kernel returned.
DONE, OUT_OF_BUDGET, NEED_FACTS, NEED_ROWS, NEED_TABLE = range(5)

# What `Store.state` holds.
PHASE, CURRENT, VARIANT, COUNTER, FORWARD, N_FACTS, N_ROWS, ROW_END, USED, N_STATIC = range(10)


class Program(NamedTuple):
    """Rules, their joins and the indexes that these use.

    An operand is the number of a variable, or ``-1 - object``. Lists stand in
    ``pool``.

    - ``steps``: kind, then for `MATCH` index, keys (start, length), bindings
      (start, length), slot of the matched fact or -1, whether the fact must be
      older than the current one; for `ABSENT` index and keys; for the tests and
      `ENUMERATE` two operands (variable and type, or two to compare).
    - ``variants``: rule, first step, trigger (start, length: a mode and an
      operand for each argument); those of relation ``r`` are
      ``triggered[r]:triggered[r + 1]``, and those that nothing triggers come first.
    - ``rules``: number of variables, of recorded conditions, heads (start, count).
    - ``arity`` of each relation; its indexes are ``indexes[r]:indexes[r + 1]``, the
      first of which is over all arguments; ``index_keys`` are the argument
      positions of each index, in ``pool``.
    - ``members``: the objects of each type; ``is_member[type, object]``.
    """

    steps: Ints
    pool: Ints
    variants: Ints
    triggered: Ints
    rules: Ints
    arity: Ints
    indexes: Ints
    index_keys: Ints
    members_start: Ints
    members: Ints
    is_member: Bools


class Store(NamedTuple):
    """What the kernel reads and writes: facts, hash table, rows found, and where it stands.

    ``chain[f, k]`` is the next older fact with the same key as ``f`` in the
    ``k``-th index of its relation. A slot of the table holds an index and the
    newest fact of a chain. Each row is an instance of a rule: the objects of its
    variables, the facts that satisfied its conditions, the facts of its heads.
    """

    relation: Ints
    args: Ints
    chain: Ints
    table_index: Ints
    table_fact: Ints
    row_rule: Ints
    row_start: Longs
    rows: Ints
    pointers: Ints
    binding: Ints
    matched: Ints
    state: Longs


@njit(cache=True, inline="always")
def _mixed(h: np.uint64, value: int) -> np.uint64:
    """A hash with one more value stirred in."""
    h = (h ^ np.uint64(value + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@njit(cache=True)
def _slot_of_fact(p: Program, s: Store, index: int, fact: int) -> np.int64:
    """The slot that holds the key of ``fact`` in ``index``, or the free one where it belongs."""
    start, length = p.index_keys[index, 0], p.index_keys[index, 1]
    h = np.uint64(index + 1)
    for i in range(length):
        h = _mixed(h, s.args[fact, p.pool[start + i]])
    mask = s.table_index.shape[0] - 1
    slot = np.int64(h & np.uint64(mask))
    while s.table_index[slot] >= 0:
        if s.table_index[slot] == index:
            other = s.table_fact[slot]
            same = True
            for i in range(length):
                position = p.pool[start + i]
                if s.args[other, position] != s.args[fact, position]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & mask
    return slot


@njit(cache=True)
def _newest(p: Program, s: Store, index: int, keys: int) -> np.int64:
    """The newest fact whose arguments agree with the operands at ``keys``, or -1."""
    start, length = p.index_keys[index, 0], p.index_keys[index, 1]
    h = np.uint64(index + 1)
    for i in range(length):
        operand = p.pool[keys + i]
        h = _mixed(h, s.binding[operand] if operand >= 0 else -1 - operand)
    mask = s.table_index.shape[0] - 1
    slot = np.int64(h & np.uint64(mask))
    while s.table_index[slot] >= 0:
        if s.table_index[slot] == index:
            other = s.table_fact[slot]
            same = True
            for i in range(length):
                operand = p.pool[keys + i]
                value = s.binding[operand] if operand >= 0 else -1 - operand
                if s.args[other, p.pool[start + i]] != value:
                    same = False
                    break
            if same:
                return np.int64(other)
        slot = (slot + 1) & mask
    return np.int64(-1)


@njit(cache=True)
def _insert(p: Program, s: Store, fact: int, first: int, last: int) -> None:
    """Enter a fact in the indexes ``first`` to ``last`` of its relation."""
    base = p.indexes[s.relation[fact]]
    for k in range(first, last):
        slot = _slot_of_fact(p, s, base + k, fact)
        if s.table_index[slot] < 0:
            s.table_index[slot] = base + k
            s.state[USED] += 1
            s.chain[fact, k] = -1
        else:
            s.chain[fact, k] = s.table_fact[slot]
        s.table_fact[slot] = fact


@njit(cache=True)
def _emit(p: Program, s: Store, rule: int) -> None:
    """Write the instance at hand as a row, and put the facts of its heads in the queue."""
    n_vars, n_body = p.rules[rule, 0], p.rules[rule, 1]
    at, n_heads = p.rules[rule, 2], p.rules[rule, 3]
    row, end = s.state[N_ROWS], s.state[ROW_END]
    s.row_rule[row] = rule
    s.row_start[row] = end
    for i in range(n_vars):
        s.rows[end + i] = s.binding[i]
    end += n_vars
    for i in range(n_body):
        s.rows[end + i] = s.matched[i]
    end += n_body
    for i in range(n_heads):
        relation = p.pool[at]
        arity = p.arity[relation]
        index = p.indexes[relation]
        fact = _newest(p, s, index, at + 1)
        if fact < 0:
            fact = s.state[N_FACTS]
            s.relation[fact] = relation
            for j in range(arity):
                operand = p.pool[at + 1 + j]
                s.args[fact, j] = s.binding[operand] if operand >= 0 else -1 - operand
            s.state[N_FACTS] += 1
            _insert(p, s, fact, 0, 1)
        s.rows[end + i] = fact
        at += 1 + arity
    s.state[N_ROWS] = row + 1
    s.state[ROW_END] = end + n_heads


@njit(cache=True)
def _triggered_by(p: Program, s: Store, variant: int, fact: int) -> bool:
    """Bind the variables of a trigger to the arguments of a fact, if it fits."""
    start, length = p.variants[variant, 2], p.variants[variant, 3]
    for i in range(length):
        mode, operand = p.pool[start + 2 * i], p.pool[start + 2 * i + 1]
        value = s.args[fact, i]
        if mode == 0:
            s.binding[operand] = value
        elif mode == 1:
            if s.binding[operand] != value:
                return False
        elif -1 - operand != value:
            return False
    slot = p.variants[variant, 4]
    if slot >= 0:
        s.matched[slot] = fact
    return True


@njit(cache=True)
def _holds(p: Program, s: Store, pc: int) -> bool:
    """Whether a test step succeeds."""
    kind, a, b = p.steps[pc, 0], p.steps[pc, 1], p.steps[pc, 2]
    if kind == ABSENT:
        return bool(_newest(p, s, a, b) < 0)
    left = s.binding[a] if a >= 0 else -1 - a
    if kind == OF_TYPE:
        return bool(p.is_member[b, left])
    right = s.binding[b] if b >= 0 else -1 - b
    return bool((left == right) == (kind == EQUAL))


@njit(cache=True)
def _next_match(p: Program, s: Store, pc: int, fact: np.int64, current: int) -> np.int64:
    """Bind the variables of a `MATCH` to the next fact of its chain that fits; -1 at the end."""
    index, bind, n_bind = p.steps[pc, 1], p.steps[pc, 4], p.steps[pc, 5]
    newest = current - p.steps[pc, 7]
    k = -1
    while fact >= 0:
        fits = fact <= newest
        if fits:
            for i in range(n_bind):
                at = bind + 3 * i
                value = s.args[fact, p.pool[at + 1]]
                if p.pool[at] == 0:
                    s.binding[p.pool[at + 2]] = value
                elif s.binding[p.pool[at + 2]] != value:
                    fits = False
                    break
        if fits:
            return fact
        if k < 0:
            k = index - p.indexes[s.relation[fact]]
        fact = np.int64(s.chain[fact, k])
    return np.int64(-1)


@njit(cache=True)
def _advance(p: Program, s: Store, pc: int, forward: bool, current: int) -> bool:
    """Take the first choice at a step (``forward``) or the next one; False if there is none."""
    kind = p.steps[pc, 0]
    if kind == MATCH:
        if forward:
            fact = _newest(p, s, p.steps[pc, 1], p.steps[pc, 2])
        else:
            last = s.pointers[pc]
            fact = np.int64(s.chain[last, p.steps[pc, 1] - p.indexes[s.relation[last]]])
        fact = _next_match(p, s, pc, fact, current)
        s.pointers[pc] = fact
        if fact >= 0 and p.steps[pc, 6] >= 0:
            s.matched[p.steps[pc, 6]] = fact
        return bool(fact >= 0)
    if kind == ENUMERATE:
        type_ = p.steps[pc, 2]
        at = p.members_start[type_] if forward else s.pointers[pc] + 1
        s.pointers[pc] = at
        if at >= p.members_start[type_ + 1]:
            return False
        s.binding[p.steps[pc, 1]] = p.members[at]
        return True
    return forward and _holds(p, s, pc)


@njit(cache=True)
def _room(s: Store) -> int:
    """What must grow before one more instance can be emitted, or `DONE`."""
    facts = s.relation.shape[0]
    if s.state[N_FACTS] + s.pointers.shape[0] > facts:
        return NEED_FACTS
    if s.state[N_ROWS] >= s.row_rule.shape[0] or s.state[ROW_END] + s.pointers.shape[0] > s.rows.shape[0]:
        return NEED_ROWS
    if 2 * (s.state[USED] + s.pointers.shape[0]) > s.table_index.shape[0]:
        return NEED_TABLE
    return DONE


@njit(cache=True)
def _join(p: Program, s: Store, variant: int, budget: int) -> int:
    """Find the instances of a variant from where the store stands; the budget left, or ``-reason``."""
    start, current = p.variants[variant, 1], s.state[CURRENT]
    pc, forward = s.state[COUNTER], s.state[FORWARD] == 1
    while pc >= start:
        if p.steps[pc, 0] == EMIT:
            wanted = _room(s)
            if wanted != DONE:
                s.state[COUNTER], s.state[FORWARD] = pc, 1
                return -wanted
            _emit(p, s, p.variants[variant, 0])
            forward = False
            pc -= 1
            continue
        budget -= 1
        if budget <= 0:
            s.state[COUNTER], s.state[FORWARD] = pc, 1 if forward else 0
            return -OUT_OF_BUDGET
        forward = _advance(p, s, pc, forward, current)
        pc += 1 if forward else -1
    return budget


@njit(cache=True)
def load(p: Program, s: Store) -> None:
    """Enter the facts of the initial state: static ones in every index, the others to be found again."""
    for fact in range(s.state[N_FACTS]):
        relation = s.relation[fact]
        indexes = p.indexes[relation + 1] - p.indexes[relation]
        _insert(p, s, fact, 0, indexes if fact < s.state[N_STATIC] else 1)


@njit(cache=True)
def explore(p: Program, s: Store, budget: int) -> int:
    """Derive every fact and find every instance of every rule.

    Returns `DONE`, or why it stopped; then it can be called again.
    ``state[PHASE]`` is 0 while the variants without a trigger are run, then 1;
    ``state[VARIANT]`` is the variant under way or -1 when a new fact is to be taken.
    """
    while True:
        if s.state[PHASE] == 0:
            last = p.triggered[0]
        else:
            fact = s.state[CURRENT]
            if fact >= s.state[N_FACTS]:
                return DONE
            relation = s.relation[fact]
            if s.state[VARIANT] < 0:
                if 2 * (s.state[USED] + s.pointers.shape[0]) > s.table_index.shape[0]:
                    return NEED_TABLE
                _insert(p, s, fact, 1, p.indexes[relation + 1] - p.indexes[relation])
                s.state[VARIANT] = p.triggered[relation]
            last = p.triggered[relation + 1]
        while s.state[VARIANT] < last:
            variant = s.state[VARIANT]
            if s.state[COUNTER] < 0:
                if s.state[PHASE] == 1 and not _triggered_by(p, s, variant, s.state[CURRENT]):
                    s.state[VARIANT] += 1
                    continue
                s.state[COUNTER], s.state[FORWARD] = p.variants[variant, 1], 1
            budget = _join(p, s, variant, budget)
            if budget < 0:
                return -budget
            s.state[COUNTER] = -1
            s.state[VARIANT] += 1
        s.state[CURRENT] = s.state[N_STATIC] if s.state[PHASE] == 0 else s.state[CURRENT] + 1
        s.state[PHASE], s.state[VARIANT] = 1, -1


@njit(cache=True)
def rehash(p: Program, old: Store, new: Store) -> None:
    """Enter every chain of the old table in the new, empty one."""
    for slot in range(old.table_index.shape[0]):
        index = old.table_index[slot]
        if index >= 0:
            fact = old.table_fact[slot]
            to = _slot_of_fact(p, new, index, fact)
            new.table_index[to] = index
            new.table_fact[to] = fact


@njit(cache=True)
def find(p: Program, s: Store, relation: int, columns: Ints, found: Ints) -> None:
    """The fact of ``relation`` with each row of ``columns`` as its arguments; -1 where there is none."""
    index, arity = p.indexes[relation], p.arity[relation]
    mask = s.table_index.shape[0] - 1
    for row in range(columns.shape[0]):
        h = np.uint64(index + 1)
        for i in range(arity):
            h = _mixed(h, columns[row, i])
        slot = np.int64(h & np.uint64(mask))
        found[row] = -1
        while s.table_index[slot] >= 0:
            if s.table_index[slot] == index:
                other = s.table_fact[slot]
                same = True
                for i in range(arity):
                    if s.args[other, i] != columns[row, i]:
                        same = False
                        break
                if same:
                    found[row] = other
                    break
            slot = (slot + 1) & mask
