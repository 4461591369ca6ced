"""Unary operators of the delete relaxation as rows of literals, in compiled kernels.

Rows are written as CSR: starts and items. Literals are those of the task; helper propositions, one a rule,
are numbered from ``2 * n_facts`` on.
"""

from __future__ import annotations

import numpy as np

from pdsketch.kernels.arrays import Bools, Indices, Ints, Longs
from pdsketch.kernels.compiled import kernel

Rows = tuple[Ints, Ints]
"""Starts and items."""

_FEW = 24
"""Rows that are sorted by insertion; larger ones are sorted by numpy's way. Set by hand."""


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
def _sort(items: Ints, first: int, end: int) -> None:
    """Sort a part of an array."""
    if end - first > _FEW:
        items[first:end] = np.sort(items[first:end])
        return
    for i in range(first + 1, end):
        item = items[i]
        at = i
        while at > first and items[at - 1] > item:
            items[at] = items[at - 1]
            at -= 1
        items[at] = item


@kernel
def of_operators(
    effects: Rows, conditions: Rows, heads: Rows, preconditions: Rows, n_literals: int
) -> tuple[Ints, Ints, Ints, Ints, Longs]:
    """One unary operator for all unconditional effects of an operator, then one for each other effect.

    Returns rows of conditions, rows of heads, each sorted and without repetition, and the operators.
    """
    n_operators = len(effects[0]) - 1
    n_effects = len(effects[1])
    most = n_operators + n_effects
    room = len(conditions[1]) + len(preconditions[1])
    for operator in range(n_operators):
        own = preconditions[0][operator + 1] - preconditions[0][operator]
        room += own * (effects[0][operator + 1] - effects[0][operator])
    new_conditions = np.empty(room, np.int32)
    new_heads = np.empty(len(heads[1]), np.int32)
    condition_starts = np.zeros(most + 1, np.int32)
    head_starts = np.zeros(most + 1, np.int32)
    owner = np.empty(most, np.int64)
    stamp = np.full(max(n_literals, 1), -1, np.int32)
    count, end, head_end, mark = 0, 0, 0, 0
    for operator in range(n_operators):
        plain = False
        for i in range(effects[0][operator], effects[0][operator + 1]):
            effect = effects[1][i]
            if conditions[0][effect] == conditions[0][effect + 1]:
                plain = True
                head_end = _with(new_heads, head_end, heads[0], heads[1], effect, stamp, mark)
        if plain:
            _sort(new_heads, head_starts[count], head_end)
            mark += 1
            end = _with(new_conditions, end, preconditions[0], preconditions[1], operator, stamp, mark)
            _sort(new_conditions, condition_starts[count], end)
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
            _sort(new_heads, head_starts[count], head_end)
            mark += 1
            end = _with(new_conditions, end, preconditions[0], preconditions[1], operator, stamp, mark)
            end = _with(new_conditions, end, conditions[0], conditions[1], effect, stamp, mark)
            _sort(new_conditions, condition_starts[count], end)
            mark += 1
            owner[count] = operator
            count += 1
            condition_starts[count], head_starts[count] = end, head_end
    return (
        condition_starts[: count + 1],
        new_conditions[:end],
        head_starts[: count + 1],
        new_heads[:head_end],
        owner[:count],
    )


@kernel
def of_negations(
    wanted: Ints, axiom_heads: Ints, bodies: Rows, recursive: Bools, n_basic: int, n_facts: int
) -> tuple[Ints, Ints, Ints]:
    """How the negations of derived facts come about: those wanted, and those that they need in turn.

    A negation holds where each rule of its fact is broken, unless the rule is ``recursive``. Returns rows
    of conditions, and one head each.
    """
    starts, items = bodies
    n_rules = len(axiom_heads)
    rule_starts = np.zeros(n_facts + 1, np.int32)
    for head in axiom_heads:
        rule_starts[head + 1] += 1
    for fact in range(n_facts):
        rule_starts[fact + 1] += rule_starts[fact]
    rules = np.empty(n_rules, np.int32)
    place = rule_starts.copy()
    for rule in range(n_rules):
        head = axiom_heads[rule]
        rules[place[head]] = rule
        place[head] += 1
    most = n_facts - n_basic + len(items)
    row_starts = np.zeros(most + 1, np.int32)
    conditions = np.empty(n_rules + len(items), np.int32)
    heads = np.empty(most, np.int32)
    seen = np.zeros(n_facts, np.bool_)
    layer = wanted.copy()
    for fact in layer:
        seen[fact] = True
    count, end = 0, 0
    while len(layer) > 0:
        for fact in layer:
            for i in range(rule_starts[fact], rule_starts[fact + 1]):
                if not recursive[rules[i]]:
                    conditions[end] = 2 * n_facts + rules[i]
                    end += 1
            heads[count] = 2 * fact + 1
            count += 1
            row_starts[count] = end
        found = 0
        after = np.empty(n_facts, np.int32)
        for fact in layer:
            for i in range(rule_starts[fact], rule_starts[fact + 1]):
                rule = rules[i]
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
                        after[found] = below
                        found += 1
        _sort(after, 0, found)
        layer = after[:found].copy()
    return row_starts[: count + 1], conditions[:end], heads[:count]


@kernel
def number_propositions(conditions: Ints, goal: Ints, size: int) -> tuple[Longs, int]:
    """A number for each literal and helper that some condition or the goal mentions, -1 for the others."""
    numbers = np.full(size, -1, np.int64)
    for literal in conditions:
        numbers[literal] = 0
    for literal in goal:
        numbers[literal] = 0
    count = 0
    for literal in range(size):
        if numbers[literal] == 0:
            numbers[literal] = count
            count += 1
    return numbers, count


@kernel
def useful(
    conditions: Rows, heads: Rows, numbers: Longs, count: int, most_conditions: int
) -> tuple[Ints, Ints, Ints, Ints, Longs, int]:
    """Over propositions: heads that nobody needs, or that are conditions too, are left out.

    Operators with several conditions come first; returns rows of conditions and of heads, the rows that
    they were, and how many have several. Rows are cut to what an operator's counter can hold: fewer
    conditions relax more, and stay sound.
    """
    n = len(conditions[0]) - 1
    stamp = np.full(max(count, 1), -1, np.int32)
    kept = np.zeros(n, np.int32)
    n_several, n_kept, n_items, n_heads = 0, 0, 0, 0
    for row in range(n):
        for i in range(conditions[0][row], conditions[0][row + 1]):
            stamp[numbers[conditions[1][i]]] = row
        for i in range(heads[0][row], heads[0][row + 1]):
            number = numbers[heads[1][i]]
            if number >= 0 and stamp[number] != row:
                kept[row] += 1
        if kept[row] > 0:
            size = min(conditions[0][row + 1] - conditions[0][row], most_conditions)
            n_kept += 1
            n_items += size
            n_heads += kept[row]
            if size > 1:
                n_several += 1
    new_starts, new_items = np.zeros(n_kept + 1, np.int32), np.empty(n_items, np.int32)
    head_starts, new_heads = np.zeros(n_kept + 1, np.int32), np.empty(n_heads, np.int32)
    rows = np.empty(n_kept, np.int64)
    stamp[:] = -1
    at, end, head_end = 0, 0, 0
    for several in (True, False):
        for row in range(n):
            size = min(conditions[0][row + 1] - conditions[0][row], most_conditions)
            if kept[row] == 0 or (size > 1) != several:
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
    return new_starts, new_items, head_starts, new_heads, rows, n_several


@kernel
def index_uses(
    conditions: Rows, heads: Rows, base: Longs, n_several: int, count: int
) -> tuple[Indices, Indices, Indices, Indices]:
    """By proposition: the operators with several conditions that it is one of, and the heads that it leads to
    alone, as rows (head, operator, cost); starts and items of each.
    """
    n = len(conditions[0]) - 1
    use_starts = np.zeros(count + 1, np.uint32)
    edge_starts = np.zeros(count + 1, np.uint32)
    for row in range(n):
        for i in range(conditions[0][row], conditions[0][row + 1]):
            if row < n_several:
                use_starts[conditions[1][i] + 1] += 1
            else:
                edge_starts[conditions[1][i] + 1] += heads[0][row + 1] - heads[0][row]
    for proposition in range(count):
        use_starts[proposition + 1] += use_starts[proposition]
        edge_starts[proposition + 1] += edge_starts[proposition]
    uses = np.empty(use_starts[count], np.uint32)
    edges = np.empty((edge_starts[count], 3), np.uint32)
    use_place, edge_place = use_starts.copy(), edge_starts.copy()
    for row in range(n):
        for i in range(conditions[0][row], conditions[0][row + 1]):
            proposition = conditions[1][i]
            if row < n_several:
                uses[use_place[proposition]] = row
                use_place[proposition] += np.uint32(1)
                continue
            for j in range(heads[0][row], heads[0][row + 1]):
                at = edge_place[proposition]
                edges[at, 0], edges[at, 1], edges[at, 2] = heads[1][j], row, base[row]
                edge_place[proposition] += np.uint32(1)
    return use_starts, uses, edge_starts, edges
