"""Unary operators of the delete relaxation as rows of literals, in compiled kernels.

Rows are written as CSR: starts and items. Literals are those of the task; helper propositions, one a rule,
are numbered from ``2 * n_facts`` on. The kernels allocate nothing, so that they can be linked: who calls them
gives them arrays that are large enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdsketch.kernels import Bools, Indices, Ints, Longs, kernel

Rows = tuple[Ints, Ints]
"""Starts and items."""


@kernel
def _with(into: Ints, end: int, starts: Ints, items: Ints, row: int, stamp: Ints, mark: int) -> int:
    """Add the items of a row that are not marked yet; returns the new end."""
    for i in range(starts[row], starts[row + 1]):
        item = items[i]
        if stamp[item] != mark:
            stamp[item] = mark
            into[end] = item
            end += 1
    return end


@kernel
def sort(items: NDArray[np.signedinteger], first: int, end: int) -> None:
    """Sort a part of an array: Shell's sort with Knuth's gaps, which for short rows is insertion."""
    gap = 1
    while 3 * gap < end - first:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, end):
            item = items[i]
            at = i
            while at >= first + gap and items[at - gap] > item:
                items[at] = items[at - gap]
                at -= gap
            items[at] = item
        gap //= 3


@kernel
def of_operators(
    effects: Rows,
    conditions: Rows,
    heads: Rows,
    preconditions: Rows,
    stamp: Ints,
    unary: tuple[Rows, Rows, Longs],
) -> int:
    """One unary operator for all unconditional effects of an operator, then one for each other effect.

    Writes rows of conditions, rows of heads, each sorted and without repetition, and the operators; returns
    how many there are. ``stamp`` is -1 for each literal.
    """
    (condition_starts, new_conditions), (head_starts, new_heads), owner = unary
    n_operators = len(effects[0]) - 1
    condition_starts[0] = head_starts[0] = 0
    count, end, head_end, mark = 0, 0, 0, 0
    for operator in range(n_operators):
        plain = False
        for i in range(effects[0][operator], effects[0][operator + 1]):
            effect = effects[1][i]
            if conditions[0][effect] == conditions[0][effect + 1]:
                plain = True
                head_end = _with(new_heads, head_end, heads[0], heads[1], effect, stamp, mark)
        if plain:
            sort(new_heads, head_starts[count], head_end)
            mark += 1
            end = _with(new_conditions, end, preconditions[0], preconditions[1], operator, stamp, mark)
            sort(new_conditions, condition_starts[count], end)
            mark += 1
            owner[count] = operator
            count += 1
            condition_starts[count], head_starts[count] = end, head_end
    for operator in range(n_operators):
        for i in range(effects[0][operator], effects[0][operator + 1]):
            effect = effects[1][i]
            if conditions[0][effect] == conditions[0][effect + 1]:
                continue
            head_end = _with(new_heads, head_end, heads[0], heads[1], effect, stamp, mark)
            sort(new_heads, head_starts[count], head_end)
            mark += 1
            end = _with(new_conditions, end, preconditions[0], preconditions[1], operator, stamp, mark)
            end = _with(new_conditions, end, conditions[0], conditions[1], effect, stamp, mark)
            sort(new_conditions, condition_starts[count], end)
            mark += 1
            owner[count] = operator
            count += 1
            condition_starts[count], head_starts[count] = end, head_end
    return count


@kernel
def of_negations(
    n_wanted: int,
    queue: Ints,
    rules: Rows,
    bodies: Rows,
    recursive: Bools,
    seen: Bools,
    n_basic: int,
    unary: tuple[Rows, Ints],
) -> int:
    """How the negations of derived facts come about: those wanted, and those that they need in turn.

    ``queue`` begins with the facts that are wanted; ``rules`` are those of each fact. A negation holds where
    each rule of its fact is broken, unless the rule is ``recursive``. Writes rows of conditions, and one head
    each; returns how many there are.
    """
    (row_starts, conditions), heads = unary
    starts, items = bodies
    n_facts = len(seen)
    for i in range(n_wanted):
        seen[queue[i]] = True
    row_starts[0] = 0
    count, end, first, last = 0, 0, 0, n_wanted
    while first < last:
        for k in range(first, last):
            fact = queue[k]
            for i in range(rules[0][fact], rules[0][fact + 1]):
                if not recursive[rules[1][i]]:
                    conditions[end] = 2 * n_facts + rules[1][i]
                    end += 1
            heads[count] = 2 * fact + 1
            count += 1
            row_starts[count] = end
        after = last
        for k in range(first, last):
            fact = queue[k]
            for i in range(rules[0][fact], rules[0][fact + 1]):
                rule = rules[1][i]
                if recursive[rule]:
                    continue
                for j in range(starts[rule], starts[rule + 1]):
                    literal = items[j]
                    conditions[end] = literal ^ 1
                    end += 1
                    heads[count] = 2 * n_facts + rule
                    count += 1
                    row_starts[count] = end
                    below = literal >> 1
                    if literal & 1 == 0 and below >= n_basic and not seen[below]:
                        seen[below] = True
                        queue[after] = below
                        after += 1
        sort(queue, last, after)
        first, last = last, after
    return count


@kernel
def number_propositions(conditions: Ints, goal: Ints, numbers: Longs) -> int:
    """Number the literals and helpers that some condition or the goal mentions; the others stay -1."""
    for literal in conditions:
        numbers[literal] = 0
    for literal in goal:
        numbers[literal] = 0
    count = 0
    for literal in range(len(numbers)):
        if numbers[literal] == 0:
            numbers[literal] = count
            count += 1
    return count


@kernel
def useful(
    conditions: Rows,
    heads: Rows,
    numbers: Longs,
    most_conditions: int,
    stamp: Ints,
    kept: Ints,
    unary: tuple[Rows, Rows, Longs],
) -> int:
    """Over propositions: heads that nobody needs, or that are conditions too, are left out.

    Operators with several conditions come first. Writes rows of conditions and of heads, and the rows that
    they were; returns how many have several. Rows are cut to what an operator's counter can hold: fewer
    conditions relax more, and stay sound. ``stamp`` is -1 for each proposition, ``kept`` 0 for each row; the
    last of ``kept`` is the number of rows that are left.
    """
    (new_starts, new_items), (head_starts, new_heads), rows = unary
    n = len(conditions[0]) - 1
    for row in range(n):
        for i in range(conditions[0][row], conditions[0][row + 1]):
            stamp[numbers[conditions[1][i]]] = row
        for i in range(heads[0][row], heads[0][row + 1]):
            number = numbers[heads[1][i]]
            if number >= 0 and stamp[number] != row:
                kept[row] += 1
    for i in range(len(stamp)):
        stamp[i] = -1
    new_starts[0] = head_starts[0] = 0
    at, end, head_end, n_several = 0, 0, 0, 0
    for few in range(2):
        for row in range(n):
            size = min(conditions[0][row + 1] - conditions[0][row], most_conditions)
            if kept[row] == 0 or (size < 2) != (few == 1):
                continue
            for i in range(conditions[0][row], conditions[0][row + 1]):
                number = numbers[conditions[1][i]]
                stamp[number] = row
                if i < conditions[0][row] + size:
                    new_items[end] = number
                    end += 1
            for i in range(heads[0][row], heads[0][row + 1]):
                number = numbers[heads[1][i]]
                if number >= 0 and stamp[number] != row:
                    new_heads[head_end] = number
                    head_end += 1
            rows[at] = row
            at += 1
            new_starts[at], head_starts[at] = end, head_end
        if few == 0:
            n_several = at
    kept[n] = at
    return n_several


@kernel
def index_uses(
    conditions: Rows,
    heads: Rows,
    base: Longs,
    n_several: int,
    uses: tuple[Indices, Indices],
    edges: tuple[Indices, Indices],
) -> None:
    """By proposition: the operators with several conditions that it is one of, and what it leads to alone.

    Writes starts and items of each; an edge is a row (head, operator, cost). Starts are 0 before.
    """
    n, count = len(conditions[0]) - 1, len(uses[0]) - 1
    # Starts are shifted by one while places are given out.
    for row in range(n):
        for i in range(conditions[0][row], conditions[0][row + 1]):
            if row < n_several:
                uses[0][conditions[1][i]] += np.uint32(1)
            else:
                edges[0][conditions[1][i]] += np.uint32(heads[0][row + 1] - heads[0][row])
    for table in (uses[0], edges[0]):
        total = np.uint32(0)
        for proposition in range(count + 1):
            total += table[proposition]
            table[proposition] = total
    for row in range(n - 1, -1, -1):
        for i in range(conditions[0][row + 1] - 1, conditions[0][row] - 1, -1):
            proposition = conditions[1][i]
            if row < n_several:
                uses[0][proposition] -= np.uint32(1)
                uses[1][uses[0][proposition]] = row
                continue
            for j in range(heads[0][row + 1] - 1, heads[0][row] - 1, -1):
                edges[0][proposition] -= np.uint32(1)
                at = edges[0][proposition]
                edges[1][at, 0], edges[1][at, 1], edges[1][at, 2] = heads[1][j], row, base[row]
