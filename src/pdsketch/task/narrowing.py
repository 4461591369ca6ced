"""A drafted task narrowed to one initial state and one goal, in one compiled kernel.

It does what `simplify` does, which says it step by step, for drafts that are narrowed again and again: only
rows that can happen are looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pdsketch.kernels import CSR, Bools, Floats, Ints, kernel
from pdsketch.task.prune import spread_relevant
from pdsketch.task.reach import DraftRows, Rows, find_certain, reach, reach_goal
from pdsketch.task.simplify import Small
from pdsketch.task.tidied import empty_rows, heads_of_effects, tidy_axioms, tidy_operators


class Narrowed(NamedTuple):
    """A task without names; ``kept`` are the facts of the draft that are left, ``chosen`` the operators.

    Where the goal is out of reach, it is not ``solvable``, and all else is of no use.
    """

    solvable: bool
    kept: Ints
    n_basic: int
    init: Bools
    goal: Ints
    chosen: Ints
    costs: Floats
    preconditions_starts: Ints
    preconditions: Ints
    effects_starts: Ints
    effects: Ints
    conditions_starts: Ints
    conditions: Ints
    heads_starts: Ints
    heads: Ints
    axiom_heads: Ints
    bodies_starts: Ints
    bodies: Ints
    axiom_layers: Ints


@kernel
def _matters(relevant: Bools, literal: int) -> bool:
    return relevant[literal] or relevant[literal ^ 1]  # type: ignore[no-any-return]


@kernel
def _renumbered(rows: Rows, kept: Ints, count: int, number: Ints) -> Rows:
    """Some rows over facts with other numbers; literals of facts that have none are left out."""
    size = 0
    for k in range(count):
        size += rows[0][kept[k] + 1] - rows[0][kept[k]]
    found = empty_rows(count, size)
    end = 0
    for k in range(count):
        for i in range(rows[0][kept[k]], rows[0][kept[k] + 1]):
            fact = number[rows[1][i] >> 1]
            if fact >= 0:
                found[1][end] = 2 * fact + (rows[1][i] & 1)
                end += 1
        found[0][k + 1] = end
    return found[0], found[1][:end]


@kernel
def _used(used: Bools, rows: Rows, kept: Ints, count: int) -> None:
    for k in range(count):
        for i in range(rows[0][kept[k]], rows[0][kept[k] + 1]):
            used[rows[1][i] >> 1] = True


@kernel
def _by_layer(axiom_heads: Ints, relevant: Bools, layer: Ints) -> tuple[Ints, int]:
    """The axioms of facts that matter in the order of their layers, and how many they are."""
    top = 0
    for head in axiom_heads:
        top = max(top, layer[head])
    places = np.zeros(top + 2, np.int32)
    count = 0
    for head in axiom_heads:
        if _matters(relevant, 2 * head):
            places[layer[head] + 1] += 1
            count += 1
    for i in range(top + 1):
        places[i + 1] += places[i]
    found = np.empty(count, np.int32)
    for axiom in range(len(axiom_heads)):
        head = axiom_heads[axiom]
        if _matters(relevant, 2 * head):
            found[places[layer[head]]] = axiom
            places[layer[head]] += 1
    return found, count


@kernel
def narrow(rows: DraftRows, init: Bools) -> Narrowed:  # noqa: PLR0912, PLR0915
    """The task from an initial state, which says the truth of the draft's first facts; others are false."""
    n_facts, n_ops, n_effects = len(rows.derived), len(rows.preconditions[0]) - 1, len(rows.owners)
    start = np.zeros(n_facts, np.bool_)
    for fact in range(len(init)):
        start[fact] = init[fact]
    possible, certain = np.empty(2 * n_facts, np.bool_), np.zeros(2 * n_facts, np.bool_)
    left = np.empty(n_ops + n_effects + len(rows.axiom_heads), np.int32)
    queue = np.empty(2 * n_facts + n_ops, np.int32)
    found = True
    while found:
        reach(rows, start, certain, possible, left, queue)
        reach_goal(rows, possible, left)
        found = find_certain(rows, possible, left, certain)
    solvable, n_goal = rows.possible, 0
    for i in range(len(rows.goal)):
        solvable = solvable and possible[rows.goal[i]]
        for j in range(i):
            solvable = solvable and rows.goal[j] != rows.goal[i] ^ 1
    goal = np.empty(len(rows.goal), np.int32)
    for literal in rows.goal:
        if (solvable and not certain[literal]) or not (solvable or possible[literal]):
            goal[n_goal] = literal
            n_goal += 1
    goal = goal[:n_goal]
    op_place, always = np.empty(n_ops, np.int32), np.empty(n_effects, np.bool_)
    ops, effects, pre, conditions = tidy_operators(rows, certain, left, op_place, always)
    heads, owners, own = heads_of_effects(rows, certain, op_place, always, effects, pre, conditions)
    axiom_heads, bodies = tidy_axioms(rows, certain, left)
    # What helps to reach the goal.
    relevant = np.zeros(2 * n_facts, np.bool_)
    relevant[goal] = True
    n_left = len(effects)
    useful, averted = np.zeros(n_left, np.bool_), np.zeros(n_left, np.bool_)
    helpful = np.zeros(len(ops), np.bool_)
    while spread_relevant(
        relevant,
        (helpful, pre[0], pre[1]),
        (useful, owners, conditions[0], conditions[1], heads[0], heads[1]),
        (axiom_heads, bodies[0], bodies[1]),
        averted,
    ):
        pass
    chosen, n_chosen = np.empty(len(ops), np.int32), 0
    for op in range(len(ops)):
        if helpful[op] and solvable:
            chosen[n_chosen] = op
            n_chosen += 1
    kept_effects, n_kept = np.empty(n_left, np.int32), 0
    for effect in range(n_left):
        busy = False
        for i in range(heads[0][effect], heads[0][effect + 1]):
            busy = busy or _matters(relevant, heads[1][i])
        if busy and helpful[owners[effect]] and solvable:
            kept_effects[n_kept] = effect
            n_kept += 1
    axioms, n_axioms = _by_layer(axiom_heads, relevant, rows.layer)
    n_axioms = n_axioms if solvable else 0
    # Facts that are used, numbered anew, basic ones first.
    used = np.zeros(n_facts, np.bool_)
    used[goal >> 1] = True
    _used(used, pre, chosen, n_chosen)
    _used(used, conditions, kept_effects, n_kept)
    for k in range(n_kept):
        for i in range(heads[0][kept_effects[k]], heads[0][kept_effects[k] + 1]):
            if _matters(relevant, heads[1][i]):
                used[heads[1][i] >> 1] = True
    for k in range(n_axioms):
        used[axiom_heads[axioms[k]]] = True
    _used(used, bodies, axioms, n_axioms)
    number = np.full(n_facts, -1, np.int32)
    kept, count, n_basic = np.empty(n_facts, np.int32), 0, 0
    for derived in range(2):
        for fact in range(n_facts):
            if used[fact] and rows.derived[fact] == (derived == 1):
                kept[count] = fact
                number[fact] = count
                count += 1
        if derived == 0:
            n_basic = count
    new_init = np.empty(count, np.bool_)
    for i in range(count):
        new_init[i] = start[kept[i]]
    new_goal = np.empty(n_goal, np.int32)
    for i in range(n_goal):
        new_goal[i] = 2 * number[goal[i] >> 1] + (goal[i] & 1)
    op_number = np.full(len(ops), -1, np.int32)
    numbers, costs = np.empty(n_chosen, np.int32), np.empty(n_chosen, np.float64)
    for k in range(n_chosen):
        op_number[chosen[k]] = k
        numbers[k] = ops[chosen[k]]
        costs[k] = rows.costs[numbers[k]]
    new_own = empty_rows(n_chosen, n_kept)
    place = np.full(n_left, -1, np.int32)
    for k in range(n_kept):
        place[kept_effects[k]] = k
    end = 0
    for k in range(n_chosen):
        for i in range(own[0][chosen[k]], own[0][chosen[k] + 1]):
            if place[own[1][i]] >= 0:
                new_own[1][end] = place[own[1][i]]
                end += 1
        new_own[0][k + 1] = end
    new_heads, layers = np.empty(n_axioms, np.int32), np.empty(n_axioms, np.int32)
    for k in range(n_axioms):
        new_heads[k] = number[axiom_heads[axioms[k]]]
        layers[k] = rows.layer[axiom_heads[axioms[k]]]
    new_pre = _renumbered(pre, chosen, n_chosen, number)
    new_conditions = _renumbered(conditions, kept_effects, n_kept, number)
    new_made = _renumbered(heads, kept_effects, n_kept, number)
    new_bodies = _renumbered(bodies, axioms, n_axioms, number)
    return Narrowed(
        solvable,
        kept[:count],
        n_basic,
        new_init,
        new_goal,
        numbers,
        costs,
        new_pre[0],
        new_pre[1],
        new_own[0],
        new_own[1],
        new_conditions[0],
        new_conditions[1],
        new_made[0],
        new_made[1],
        new_heads,
        new_bodies[0],
        new_bodies[1],
        layers,
    )


def small_of(found: tuple[Any, ...]) -> Small:
    """What `narrow` found as `simplify` says it, without what is possible in the draft."""
    task = Narrowed(*found)
    return Small(
        kept=task.kept,
        n_basic=task.n_basic,
        init=task.init,
        goal=task.goal,
        chosen=task.chosen,
        costs=task.costs,
        preconditions=CSR(task.preconditions_starts, task.preconditions),
        effects=CSR(task.effects_starts, task.effects),
        conditions=CSR(task.conditions_starts, task.conditions),
        heads=CSR(task.heads_starts, task.heads),
        axiom_heads=task.axiom_heads,
        axiom_bodies=CSR(task.bodies_starts, task.bodies),
        axiom_layers=task.axiom_layers,
        possible=np.zeros(0, np.bool_),
        solvable=task.solvable,
    )
