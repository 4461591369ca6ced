"""The join kernel: a compiled, semi-naive Datalog engine over flat arrays.

Facts wait in a queue. When one is taken, it is matched against each condition
that it may satisfy, and the other conditions of that rule are joined to it by
backtracking over hash indexes. Only facts taken before are seen by the joins,
and among equal ones the order of the conditions decides, so every instance of
a rule is found exactly once, in time proportional to the matches tried.

The kernel owns no memory. It returns when an array is full or when its budget
of steps is used up, and goes on where it stopped when it is called again; so
limits on time and size are kept outside, in Python.

Its arrays are few, and passed one by one: fields of tuples would be counted
references in the inner loops, which makes them ten times slower.

- ``code``: the program, as `pdsketch.task.program` lays it out. Everything in it
  is referred to by its address.
- ``facts``: a row for each fact: the address of its relation, its arguments, and
  for each index of the relation the next older fact with the same key, or -1.
- ``table``: open addressing; a slot holds the address of an index and the newest
  fact with one key, or -1.
- ``frame``: the objects of the variables, the facts that were matched, how far
  each step of a join has come, and how many facts were passed over.
- ``rows`` and ``starts``: the instances found. Each is the objects of its
  variables, the facts of its conditions and those of its heads; ``starts`` holds
  its rule and where it begins.
- ``state``: where the kernel stands, as named below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdsketch.kernels import Ints, kernel

Longs = NDArray[np.int64]

# Kinds of steps of a join.
MATCH, ENUMERATE, OF_TYPE, EQUAL, DIFFERENT, ABSENT, EMIT = range(7)

# Why the kernel returned.
DONE, OUT_OF_BUDGET, NEED_FACTS, NEED_ROWS, NEED_TABLE = range(5)

# What ``state`` holds. PHASE: -1 at first, 0 while rules that nothing triggers are run, then 1. CURRENT: the
# fact taken. VARIANT: the address of the join under way, or -1 if CURRENT is to be entered. COUNTER: the
# address of its next step, or -1 if it has not begun; FORWARD: whether that step is met for the first time.
# UNTRIGGERED: the address of a relation that holds the joins without a trigger. MATCHED: where in the frame
# the matched facts stand. ROOM: enough space for any one instance.
(
    PHASE,
    CURRENT,
    VARIANT,
    COUNTER,
    FORWARD,
    N_FACTS,
    N_ROWS,
    ROW_END,
    USED,
    N_STATIC,
    UNTRIGGERED,
    MATCHED,
    ROOM,
) = range(13)


@kernel
def _mixed(h: np.uint64, value: int) -> np.uint64:
    """A hash with one more value stirred in."""
    h = (h ^ np.uint64(value + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@kernel
def _slot_of_fact(code: Ints, facts: Ints, table: Ints, index: int, fact: int) -> np.int64:
    """The slot that holds the key of ``fact`` in ``index``, or the free one where it belongs."""
    first, last = index + 2, index + 2 + code[index + 1]
    h = np.uint64(index) << np.uint64(20)
    for i in range(first, last):
        h = _mixed(h, facts[fact, code[i]])
    mask = table.shape[0] - 1
    slot = np.int64(h & np.uint64(mask))
    while table[slot, 0] >= 0:
        if table[slot, 0] == index:
            other = table[slot, 1]
            same = True
            for i in range(first, last):
                if facts[other, code[i]] != facts[fact, code[i]]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & mask
    return slot


@kernel
def _newest(code: Ints, facts: Ints, table: Ints, frame: Ints, index: int, keys: int) -> np.int64:
    """The newest fact whose arguments agree with the operands at ``keys``, or -1."""
    length = code[index + 1]
    h = np.uint64(index) << np.uint64(20)
    for i in range(length):
        operand = code[keys + i]
        h = _mixed(h, frame[operand] if operand >= 0 else -1 - operand)
    mask = table.shape[0] - 1
    slot = np.int64(h & np.uint64(mask))
    while table[slot, 0] >= 0:
        if table[slot, 0] == index:
            other = table[slot, 1]
            same = True
            for i in range(length):
                operand = code[keys + i]
                value = frame[operand] if operand >= 0 else -1 - operand
                if facts[other, code[index + 2 + i]] != value:
                    same = False
                    break
            if same:
                return np.int64(other)
        slot = (slot + 1) & mask
    return np.int64(-1)


@kernel
def _insert(code: Ints, facts: Ints, table: Ints, state: Longs, fact: int, index: int) -> None:
    """Enter a fact in an index of its relation."""
    slot = _slot_of_fact(code, facts, table, index, fact)
    if table[slot, 0] < 0:
        table[slot, 0] = index
        state[USED] += 1
        facts[fact, code[index]] = -1
    else:
        facts[fact, code[index]] = table[slot, 1]
    table[slot, 1] = fact


@kernel
def _add_fact(code: Ints, facts: Ints, table: Ints, frame: Ints, state: Longs, at: int) -> np.int64:
    """The fact of the head at an address; a new one is put in the queue."""
    relation = code[at]
    index = code[relation + 4]
    fact = _newest(code, facts, table, frame, index, at + 1)
    if fact < 0:
        fact = state[N_FACTS]
        facts[fact, 0] = relation
        for j in range(code[relation]):
            operand = code[at + 1 + j]
            facts[fact, 1 + j] = frame[operand] if operand >= 0 else -1 - operand
        state[N_FACTS] += 1
        _insert(code, facts, table, state, fact, index)
    return fact


@kernel
def _emit(
    code: Ints, facts: Ints, table: Ints, frame: Ints, rows: Ints, starts: Longs, state: Longs, rule: int
) -> None:
    """Write the instance at hand as a row, and put the facts of its heads in the queue."""
    n_vars, n_body, n_heads = code[rule + 1], code[rule + 2], code[rule + 3]
    row, end = state[N_ROWS], state[ROW_END]
    starts[row, 0] = code[rule]
    starts[row, 1] = end
    for i in range(n_vars):
        rows[end + i] = frame[i]
    end += n_vars
    for i in range(n_body):
        rows[end + i] = frame[state[MATCHED] + i]
    end += n_body
    at = rule + 4
    for i in range(n_heads):
        rows[end + i] = _add_fact(code, facts, table, frame, state, at)
        at += 1 + code[code[at]]
    state[N_ROWS] = row + 1
    state[ROW_END] = end + n_heads


@kernel
def _triggered_by(code: Ints, facts: Ints, frame: Ints, variant: int, fact: int) -> bool:
    """Bind the variables of a trigger to the arguments of a fact, if it fits."""
    at = code[variant + 2]
    for i in range(code[code[variant + 3]]):
        mode, operand = code[at + 2 * i], code[at + 2 * i + 1]
        value = facts[fact, 1 + i]
        if mode == 0:
            frame[operand] = value
        elif mode == 1:
            if frame[operand] != value:
                return False
        elif -1 - operand != value:
            return False
    frame[code[variant + 4]] = fact
    return True


@kernel
def _holds(code: Ints, facts: Ints, table: Ints, frame: Ints, pc: int) -> bool:
    """Whether a test step succeeds."""
    kind, a, b = code[pc], code[pc + 1], code[pc + 2]
    if kind == ABSENT:
        return bool(_newest(code, facts, table, frame, a, b) < 0)
    left = frame[a] if a >= 0 else -1 - a
    if kind == OF_TYPE:
        return bool(code[b + left] == 1)
    right = frame[b] if b >= 0 else -1 - b
    return bool((left == right) == (kind == EQUAL))


@kernel
def _next_match(code: Ints, facts: Ints, frame: Ints, pc: int, fact: np.int64, current: int) -> np.int64:
    """Bind the variables of a `MATCH` to the next fact of its chain that fits; -1 at the end."""
    column, bind, n_bind = code[code[pc + 1]], code[pc + 3], code[pc + 4]
    newest = current - code[pc + 6]
    while fact >= 0:
        fits = fact <= newest
        if fits:
            for at in range(bind, bind + 3 * n_bind, 3):
                value = facts[fact, code[at + 1]]
                if code[at] == 0:
                    frame[code[at + 2]] = value
                elif frame[code[at + 2]] != value:
                    fits = False
                    break
        if fits:
            return fact
        frame[frame.shape[0] - 1] += 1
        fact = np.int64(facts[fact, column])
    return np.int64(-1)


@kernel
def _advance(code: Ints, facts: Ints, table: Ints, frame: Ints, pc: int, forward: bool, current: int) -> bool:
    """Take the first choice at a step (``forward``) or the next one; False if there is none."""
    kind, pointer = code[pc], code[pc + 7]
    if kind == MATCH:
        if forward:
            fact = _newest(code, facts, table, frame, code[pc + 1], code[pc + 2])
        else:
            fact = np.int64(facts[frame[pointer], code[code[pc + 1]]])
        fact = _next_match(code, facts, frame, pc, fact, current)
        frame[pointer] = fact
        if fact >= 0 and code[pc + 5] >= 0:
            frame[code[pc + 5]] = fact
        return bool(fact >= 0)
    if kind == ENUMERATE:
        members = code[pc + 2]
        at = members if forward else frame[pointer] + 1
        frame[pointer] = at
        if at >= members + code[pc + 3]:
            return False
        frame[code[pc + 1]] = code[at]
        return True
    return forward and _holds(code, facts, table, frame, pc)


@kernel
def _wanted(facts: Ints, table: Ints, rows: Ints, starts: Longs, state: Longs) -> int:
    """What must grow before one more instance can be emitted, or `DONE`."""
    room = state[ROOM]
    if state[N_FACTS] + room > facts.shape[0]:
        return NEED_FACTS
    if state[N_ROWS] >= starts.shape[0] or state[ROW_END] + room > rows.shape[0]:
        return NEED_ROWS
    if 2 * (state[USED] + room) > table.shape[0]:
        return NEED_TABLE
    return DONE


@kernel
def _join(
    code: Ints, facts: Ints, table: Ints, frame: Ints, rows: Ints, starts: Longs, state: Longs, budget: int
) -> int:
    """Find the instances of a variant from where the state stands; the budget left, or ``-reason``."""
    variant, current = state[VARIANT], state[CURRENT]
    pc, forward = state[COUNTER], state[FORWARD] == 1
    last = frame.shape[0] - 1
    while pc >= code[variant + 1]:
        if code[pc] == EMIT:
            wanted = _wanted(facts, table, rows, starts, state)
            if wanted != DONE:
                state[COUNTER], state[FORWARD] = pc, 1
                return -wanted
            _emit(code, facts, table, frame, rows, starts, state, code[variant])
            forward = False
            pc -= 8
            continue
        budget -= 1
        if budget <= 0:
            state[COUNTER], state[FORWARD] = pc, 1 if forward else 0
            return -OUT_OF_BUDGET
        forward = _advance(code, facts, table, frame, pc, forward, current)
        pc += 8 if forward else -8
        budget -= frame[last]
        frame[last] = 0
    return max(budget, 0)


@kernel
def _load(code: Ints, facts: Ints, table: Ints, state: Longs) -> None:
    """Enter the facts of the initial state: static ones in every index, the others to be found again."""
    for fact in range(state[N_FACTS]):
        relation = facts[fact, 0]
        indexes = code[relation + 3] if fact < state[N_STATIC] else 1
        for k in range(indexes):
            _insert(code, facts, table, state, fact, code[code[relation + 5] + k])


@kernel
def explore(
    code: Ints, facts: Ints, table: Ints, frame: Ints, rows: Ints, starts: Longs, state: Longs, budget: int
) -> int:
    """Derive every fact and find every instance of every rule.

    Returns `DONE`, or why it stopped; then it can be called again.
    """
    if budget <= 0:
        return OUT_OF_BUDGET
    if state[PHASE] < 0:
        _load(code, facts, table, state)
        state[PHASE] = 0
    while True:
        relation = state[UNTRIGGERED]
        if state[PHASE] == 1:
            if state[CURRENT] >= state[N_FACTS]:
                return DONE
            relation = np.int64(facts[state[CURRENT], 0])
        if state[VARIANT] < 0:
            if 2 * (state[USED] + state[ROOM]) > table.shape[0]:
                return NEED_TABLE
            for k in range(1, code[relation + 3]):
                _insert(code, facts, table, state, state[CURRENT], code[code[relation + 5] + k])
            state[VARIANT] = code[relation + 1]
        while state[VARIANT] < code[relation + 2]:
            variant = state[VARIANT]
            if state[COUNTER] < 0:
                budget -= 1
                if budget <= 0:
                    return OUT_OF_BUDGET
                if state[PHASE] == 1 and not _triggered_by(code, facts, frame, variant, state[CURRENT]):
                    state[VARIANT] += 5
                    continue
                state[COUNTER], state[FORWARD] = code[variant + 1], 1
            budget = _join(code, facts, table, frame, rows, starts, state, budget)
            if budget < 0:
                return -budget
            state[COUNTER] = -1
            state[VARIANT] += 5
        state[CURRENT] = state[N_STATIC] if state[PHASE] == 0 else state[CURRENT] + 1
        state[PHASE], state[VARIANT] = 1, -1
        budget -= 1


@kernel
def rehash(code: Ints, facts: Ints, old: Ints, new: Ints) -> None:
    """Enter every chain of the old table in the new, empty one."""
    for slot in range(old.shape[0]):
        if old[slot, 0] >= 0:
            to = _slot_of_fact(code, facts, new, old[slot, 0], old[slot, 1])
            new[to, 0], new[to, 1] = old[slot, 0], old[slot, 1]


@kernel
def find(code: Ints, facts: Ints, table: Ints, relation: int, columns: Ints, found: Ints) -> None:
    """The fact of ``relation`` with each row of ``columns`` as its arguments; -1 where there is none."""
    index, arity = code[relation + 4], code[relation]
    mask = table.shape[0] - 1
    for row in range(columns.shape[0]):
        h = np.uint64(index) << np.uint64(20)
        for i in range(arity):
            h = _mixed(h, columns[row, i])
        slot = np.int64(h & np.uint64(mask))
        found[row] = -1
        while table[slot, 0] >= 0 and found[row] < 0:
            if table[slot, 0] == index:
                other = table[slot, 1]
                same = True
                for i in range(arity):
                    if facts[other, 1 + i] != columns[row, i]:
                        same = False
                        break
                if same:
                    found[row] = other
            slot = (slot + 1) & mask
