"""The delete relaxation of a narrowed task, and room for its explorations, in compiled kernels.

They make what `relax` and `make_work` make, without Python in between, for tasks whose costs are whole
numbers and whose derived facts do not depend on themselves.
"""

from __future__ import annotations

import numpy as np

from pdsketch.heuristics.explore import BUCKETS, Work
from pdsketch.heuristics.relaxation import COUNT_BITS, MOST_CONDITIONS, Relaxation
from pdsketch.heuristics.unary import (
    Rows,
    index_uses,
    number_propositions,
    of_negations,
    of_operators,
    sort,
    useful,
)
from pdsketch.kernels import Bools, Indices, Ints, Longs, kernel
from pdsketch.task import Narrowed


@kernel
def _starts(n_rows: int) -> Ints:
    return np.zeros(n_rows + 1, np.int32)


@kernel
def _operators(task: Narrowed) -> tuple[int, Rows, Rows, Longs]:
    """The unary operators of effects: how many, their conditions, their heads and their operators."""
    n_ops, n_facts = len(task.chosen), len(task.kept)
    most = n_ops + len(task.effects)
    size = len(task.conditions)
    for op in range(n_ops):
        literals = task.preconditions_starts[op + 1] - task.preconditions_starts[op]
        size += literals * (task.effects_starts[op + 1] - task.effects_starts[op] + 1)
    conditions = (_starts(most), np.empty(size, np.int32))
    heads = (_starts(most), np.empty(len(task.heads), np.int32))
    owner = np.empty(most, np.int64)
    count = of_operators(
        (task.effects_starts, task.effects),
        (task.conditions_starts, task.conditions),
        (task.heads_starts, task.heads),
        (task.preconditions_starts, task.preconditions),
        np.full(2 * n_facts, -1, np.int32),
        (conditions, heads, owner),
    )
    return count, conditions, heads, owner


@kernel
def _mark(asked: Bools, literals: Ints, count: int) -> None:
    for i in range(count):
        asked[literals[i]] = True


@kernel
def _negations(task: Narrowed, conditions: Ints, n_conditions: int) -> tuple[int, Rows, Ints]:
    """How negations of derived facts come about: how many ways, their conditions and heads."""
    n_facts, n_rules = len(task.kept), len(task.axiom_heads)
    asked = np.zeros(2 * n_facts, np.bool_)
    _mark(asked, conditions, n_conditions)
    _mark(asked, task.bodies, len(task.bodies))
    _mark(asked, task.goal, len(task.goal))
    queue, n_wanted = np.empty(n_facts, np.int32), 0
    for fact in range(task.n_basic, n_facts):
        if asked[2 * fact + 1]:
            queue[n_wanted] = fact
            n_wanted += 1
    most = n_facts - task.n_basic + len(task.bodies)
    rows = (_starts(most), np.empty(n_rules + len(task.bodies), np.int32))
    heads = np.empty(most, np.int32)
    if n_wanted == 0:
        return 0, rows, heads
    rules = (_starts(n_facts), np.empty(n_rules, np.int32))
    for head in task.axiom_heads:
        rules[0][head] += 1
    total = 0
    for fact in range(n_facts):
        total += rules[0][fact]
        rules[0][fact] = total
    rules[0][n_facts] = total
    for rule in range(n_rules - 1, -1, -1):
        head = task.axiom_heads[rule]
        rules[0][head] -= 1
        rules[1][rules[0][head]] = rule
    count = of_negations(
        n_wanted,
        queue,
        rules,
        (task.bodies_starts, task.bodies),
        np.zeros(n_rules, np.bool_),
        np.zeros(n_facts, np.bool_),
        task.n_basic,
        (rows, heads),
    )
    return count, rows, heads


@kernel
def _append(into: Rows, row: int, end: int, rows: Rows, count: int) -> int:
    """Add rows behind others; returns where the items end then."""
    for k in range(count):
        for i in range(rows[0][k], rows[0][k + 1]):
            into[1][end] = rows[1][i]
            end += 1
        into[0][row + k + 1] = end
    return end


@kernel
def _indices(items: Ints, count: int) -> Indices:
    """The first items, as indices."""
    found = np.empty(count, np.uint32)
    for i in range(count):
        found[i] = items[i]
    return found


@kernel
def relax_narrowed(task: Narrowed, per_effect: bool) -> Relaxation:
    """The delete relaxation; with ``per_effect``, hFF counts each effect as an operator of its own."""
    n_ops, n_facts, n_rules = len(task.chosen), len(task.kept), len(task.axiom_heads)
    n_first, first, made, first_owner = _operators(task)
    n_broken, broken, broken_heads = _negations(task, first[1], first[0][n_first])
    n = n_first + n_rules + n_broken
    conditions = (
        _starts(n),
        np.empty(first[0][n_first] + len(task.bodies) + broken[0][n_broken], np.int32),
    )
    end = _append(conditions, 0, 0, first, n_first)
    end = _append(conditions, n_first, end, (task.bodies_starts, task.bodies), n_rules)
    _append(conditions, n_first + n_rules, end, broken, n_broken)
    heads = (_starts(n), np.empty(made[0][n_first] + n_rules + n_broken, np.int32))
    end = _append(heads, 0, 0, made, n_first)
    for rule in range(n_rules + n_broken):
        heads[1][end] = 2 * task.axiom_heads[rule] if rule < n_rules else broken_heads[rule - n_rules]
        end += 1
        heads[0][n_first + rule + 1] = end
    numbers = np.full(2 * n_facts + n_rules, -1, np.int64)
    count = number_propositions(conditions[1], task.goal, numbers)
    small = (_starts(n), np.empty(len(conditions[1]), np.int32))
    new_heads = (_starts(n), np.empty(len(heads[1]), np.int32))
    origins, kept = np.empty(n, np.int64), np.zeros(n + 1, np.int32)
    n_several = useful(
        conditions,
        heads,
        numbers,
        MOST_CONDITIONS,
        np.full(count, -1, np.int32),
        kept,
        (small, new_heads, origins),
    )
    left = kept[n]
    small = (small[0][: left + 1], small[1])
    new_heads = (new_heads[0][: left + 1], new_heads[1])
    owner, group = np.empty(left, np.int32), np.empty(left, np.int32)
    base, initial = np.zeros(left, np.int64), np.empty(n_several, np.int64)
    free, n_free = np.empty(left, np.uint32), 0
    for k in range(left):
        owner[k] = first_owner[origins[k]] if origins[k] < n_first else -1
        group[k] = k + n_ops if per_effect else owner[k]
        if owner[k] >= 0:
            base[k] = np.int64(task.costs[owner[k]])
        size = small[0][k + 1] - small[0][k]
        if k < n_several:
            initial[k] = (base[k] << COUNT_BITS) | size
        if size == 0:
            free[n_free] = k
            n_free += 1
    uses_starts, edges_starts = np.zeros(count + 1, np.uint32), np.zeros(count + 1, np.uint32)
    uses = np.empty(small[0][n_several], np.uint32)
    edges = np.empty((new_heads[0][left] - new_heads[0][n_several], 3), np.uint32)
    index_uses(small, new_heads, base, n_several, (uses_starts, uses), (edges_starts, edges))
    edges = edges[: edges_starts[count]]
    positive, negative = np.empty(n_facts, np.int32), np.empty(n_facts, np.int32)
    negated, n_negated = np.empty(n_facts, np.int32), 0
    for fact in range(n_facts):
        positive[fact], negative[fact] = numbers[2 * fact], numbers[2 * fact + 1]
        if negative[fact] >= 0:
            negated[n_negated] = fact
            n_negated += 1
    literals = task.goal.copy()
    sort(literals, 0, len(literals))
    n_goal = 0
    for i in range(len(literals)):
        if i == 0 or literals[i] != literals[i - 1]:
            literals[n_goal] = literals[i]
            n_goal += 1
    literals = literals[:n_goal]
    goal, is_goal = np.empty(n_goal, np.uint32), np.zeros(count, np.bool_)
    for i in range(n_goal):
        goal[i] = numbers[literals[i]]
        is_goal[goal[i]] = True
    cheapest = np.float64(1 << 28) if n_ops else 1.0
    for cost in task.costs:
        cheapest = min(cheapest, cost)
    return Relaxation(
        1.0,
        positive,
        negative,
        negated[:n_negated],
        uses_starts,
        uses,
        edges_starts,
        edges,
        _indices(small[0], left + 1),
        _indices(small[1], small[0][left]),
        _indices(new_heads[0], left + 1),
        _indices(new_heads[1], new_heads[0][left]),
        initial,
        free[:n_free],
        owner,
        group,
        base,
        task.preconditions_starts,
        task.preconditions,
        goal,
        is_goal,
        literals,
        cheapest,
    )


@kernel
def work_of(relaxation: Relaxation, n_operators: int) -> Work:
    """Room for explorations."""
    propositions = len(relaxation.is_goal)
    entries = propositions + len(relaxation.heads) + 1
    groups = 1
    for group in relaxation.group:
        groups = max(groups, group + 1)
    return Work(
        relaxation.initial.copy(),
        np.empty(propositions, np.int64),
        np.empty(propositions, np.int32),
        np.full(BUCKETS, -1, np.int32),
        np.empty(entries, np.uint32),
        np.empty(entries, np.int32),
        np.empty(entries, np.int64),
        np.empty(propositions + 1, np.uint32),
        np.zeros(propositions, np.int64),
        np.zeros(groups, np.int64),
        np.zeros(n_operators + 1, np.int64),
        np.zeros(n_operators + 1, np.int32),
        np.zeros(3, np.int64),
    )
