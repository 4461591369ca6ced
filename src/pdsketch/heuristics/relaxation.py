"""The delete relaxation of a task: propositions, and unary operators that make them true.

A *proposition* is a literal that some condition or the goal mentions, a fact
and its negation alike. A *unary operator* is an operator with one of its
effects (all unconditional ones together), or an axiom, which costs nothing.

The negation of a derived fact holds if every rule for the fact is broken, that
is, has a false literal in its body. This is relaxed as it stands, with one
helper proposition a rule: "the rule is broken". A rule that depends on its own
head is taken to be broken already; otherwise two facts that support each other
could never be seen to vanish, and infinity would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pdsketch.budget import UNLIMITED, Budget
from pdsketch.heuristics.recursion import components
from pdsketch.heuristics.unary import (
    Rows,
    index_uses,
    number_propositions,
    of_negations,
    of_operators,
    useful,
)
from pdsketch.kernels import CSR, Bools, Floats, Indices, Ints, Longs, distinct, group, owners_of, stack
from pdsketch.task import Task

COUNT_BITS = 14
"""An operator's state is ``cost << COUNT_BITS | unreached conditions``."""

MOST_CONDITIONS = (1 << COUNT_BITS) - 1
_LARGEST_COST = float(1 << 28)


class Relaxation(NamedTuple):
    """What the relaxed exploration reads.

    ``positive[f]`` and ``negative[f]`` are the propositions of a fact and of its
    negation, or -1; ``negated`` lists the facts whose negation has one.
    Unary operators with several conditions come first: ``uses`` lists those a
    proposition is a condition of, and ``initial`` is the state of each before the
    exploration. Those with one condition need no state: ``edges`` lists, for
    their proposition, a head, the unary operator and its cost. ``owner`` is the
    operator of a unary operator, -1 for axioms; ``group`` is what hFF counts once.
    Costs are integers: the task's, times ``scale``.
    """

    scale: float
    positive: Ints
    negative: Ints
    negated: Ints
    uses_starts: Indices
    uses: Indices
    edges_starts: Indices
    edges: Indices
    conditions_starts: Indices
    conditions: Indices
    heads_starts: Indices
    heads: Indices
    initial: Longs
    free: Indices
    owner: Ints
    group: Ints
    base: Longs
    preconditions_starts: Ints
    preconditions: Ints
    goal: Indices
    is_goal: Bools
    goal_literals: Ints
    cheapest: float


def scale_costs(costs: Floats) -> tuple[Longs, float]:
    """The costs as integers, and the factor they were multiplied with.

    Decimal costs become integers exactly; others are rounded down, so that an
    admissible heuristic stays one.
    """
    top = float(costs.max(initial=0.0))
    for scale in (1.0, 10.0, 100.0, 1000.0, 10000.0):
        scaled = costs * scale
        nearest = np.rint(scaled)
        if top * scale <= _LARGEST_COST and bool(np.all(np.abs(scaled - nearest) <= 1e-9 * scale)):
            return nearest.astype(np.int64), scale
    scale = _LARGEST_COST / top
    return np.floor(costs * scale).astype(np.int64), scale


def _recursive_rules(task: Task) -> Bools:
    """Which rules depend on their own heads."""
    component = components(task)
    owners, items = owners_of(task.axiom_bodies), task.axiom_bodies.items
    recursive = np.zeros(len(task.axiom_heads), np.bool_)
    recursive[owners[component[items >> 1] == component[task.axiom_heads[owners]]]] = True
    return recursive


class _Unary(NamedTuple):
    """Unary operators over literals: rows of conditions and of heads, and the operators, -1 for axioms."""

    conditions: Rows
    heads: Rows
    owner: Longs


def _unary(task: Task, budget: Budget) -> _Unary:
    """Those of operators, then of axioms, then of the negations of derived facts."""
    bodies, axiom_heads = _rows(task.axiom_bodies), task.axiom_heads.astype(np.int32, copy=False)
    first = _of_operators(task)
    budget.check()
    needed = _needed((first.conditions[1], bodies[1], task.goal), 2 * task.n_facts, 2 * task.n_basic)
    row_starts, broken, broken_heads = _of_negations(task, needed, bodies, axiom_heads)
    budget.check()
    parts = [CSR(*first.conditions), CSR(*bodies), CSR(row_starts, broken)]
    single = np.arange(len(axiom_heads) + len(broken_heads) + 1, dtype=np.int32)
    heads = [CSR(*first.heads), CSR(single, np.concatenate([2 * axiom_heads, broken_heads]))]
    budget.reserve(128 * sum(len(part.items) for part in (*parts, *heads)))
    owner = np.concatenate([first.owner, np.full(len(single) - 1, -1, np.int64)])
    return _Unary(_rows(stack(parts)), _rows(stack(heads)), owner)


def _of_operators(task: Task) -> _Unary:
    pre, effects = np.diff(task.preconditions.starts), np.diff(task.effects.starts)
    most = len(effects) + len(task.effects.items)
    room = len(task.conditions.items) + int((pre.astype(np.int64) * (effects + 1)).sum())
    conditions = (np.empty(most + 1, np.int32), np.empty(room, np.int32))
    heads = (np.empty(most + 1, np.int32), np.empty(len(task.heads.items), np.int32))
    owner = np.empty(most, np.int64)
    count = of_operators(
        _rows(task.effects),
        _rows(task.conditions),
        _rows(task.heads),
        _rows(task.preconditions),
        np.full(2 * task.n_facts, -1, np.int32),
        (conditions, heads, owner),
    )
    return _Unary(_first(conditions, count), _first(heads, count), owner[:count])


def _of_negations(task: Task, needed: Ints, bodies: Rows, axiom_heads: Ints) -> tuple[Ints, Ints, Ints]:
    """Rows of conditions, and a head each."""
    if not len(needed):
        return np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32)
    rules = group(axiom_heads, np.arange(len(axiom_heads)), task.n_facts)
    most = task.n_facts - task.n_basic + len(bodies[1])
    rows = (np.empty(most + 1, np.int32), np.empty(len(axiom_heads) + len(bodies[1]), np.int32))
    heads = np.empty(most, np.int32)
    queue = np.empty(task.n_facts, np.int32)
    queue[: len(needed)] = needed
    recursive, seen = _recursive_rules(task), np.zeros(task.n_facts, np.bool_)
    count = of_negations(
        len(needed), queue, _rows(rules), bodies, recursive, seen, task.n_basic, (rows, heads)
    )
    return *_first(rows, count), heads[:count]


def _useful(unary: _Unary, numbers: Longs, count: int) -> tuple[Rows, Rows, Longs, int]:
    """Rows over propositions, conditions and heads; what they were; how many have several conditions."""
    n = len(unary.owner)
    conditions = (np.empty(n + 1, np.int32), np.empty(len(unary.conditions[1]), np.int32))
    heads = (np.empty(n + 1, np.int32), np.empty(len(unary.heads[1]), np.int32))
    origins, kept = np.empty(n, np.int64), np.zeros(n + 1, np.int32)
    stamp = np.full(count, -1, np.int32)
    n_several = useful(
        unary.conditions, unary.heads, numbers, MOST_CONDITIONS, stamp, kept, (conditions, heads, origins)
    )
    left = int(kept[n])
    return _first(conditions, left), _first(heads, left), origins[:left], n_several


def _first(rows: Rows, count: int) -> Rows:
    """The first rows, without room that is not used."""
    return rows[0][: count + 1], rows[1][: rows[0][count]]


def relax(
    task: Task, costs: Floats | None = None, *, per_effect: bool = False, budget: Budget = UNLIMITED
) -> Relaxation:
    """The delete relaxation of ``task``.

    ``costs`` stand in for the task's own. With ``per_effect``, hFF counts each
    conditional effect as an operator of its own.
    """
    scaled, scale = scale_costs(task.costs if costs is None else costs)
    budget.reserve(64 * (len(task.heads.items) + len(task.preconditions.items) + len(task.conditions.items)))
    unary = _unary(task, budget)
    budget.check()
    numbers = np.full(2 * task.n_facts + len(task.axiom_heads), -1, np.int64)
    count = number_propositions(unary.conditions[1], task.goal.astype(np.int32, copy=False), numbers)
    small, made, origins, n_several = _useful(unary, numbers, count)
    budget.check()
    owner = unary.owner[origins]
    base = np.where(owner >= 0, np.append(scaled, 0)[owner], 0)
    uses_starts, edges_starts = np.zeros(count + 1, np.uint32), np.zeros(count + 1, np.uint32)
    uses = np.empty(small[0][n_several], np.uint32)
    edges = np.empty((made[0][-1] - made[0][n_several], 3), np.uint32)
    index_uses(small, made, base, n_several, (uses_starts, uses), (edges_starts, edges))
    edges = edges[: edges_starts[-1]]
    budget.check()
    sizes = np.diff(small[0]).astype(np.int64)
    negative = numbers[1 : 2 * task.n_facts : 2].astype(np.int32)
    goal_literals = distinct(task.goal).astype(np.int32)
    goal = numbers[goal_literals]
    is_goal = np.zeros(count, np.bool_)
    is_goal[goal] = True
    groups = np.arange(len(owner)) + len(scaled) if per_effect else owner
    return Relaxation(
        scale=scale,
        positive=numbers[0 : 2 * task.n_facts : 2].astype(np.int32),
        negative=negative,
        negated=np.flatnonzero(negative >= 0).astype(np.int32),
        uses_starts=uses_starts,
        uses=uses,
        edges_starts=edges_starts,
        edges=edges,
        conditions_starts=small[0].astype(np.uint32),
        conditions=small[1].astype(np.uint32),
        heads_starts=made[0].astype(np.uint32),
        heads=made[1].astype(np.uint32),
        initial=((base << COUNT_BITS) | sizes)[:n_several],
        free=np.flatnonzero(sizes == 0).astype(np.uint32),
        owner=owner.astype(np.int32),
        group=groups.astype(np.int32),
        base=base,
        preconditions_starts=task.preconditions.starts.astype(np.int32),
        preconditions=task.preconditions.items.astype(np.int32),
        goal=goal.astype(np.uint32),
        is_goal=is_goal,
        goal_literals=goal_literals,
        cheapest=float(scaled.min(initial=1 << 28)) / scale if len(scaled) else 1.0,
    )


def _rows(rows: CSR) -> Rows:
    return rows.starts.astype(np.int32, copy=False), rows.items.astype(np.int32, copy=False)


def _needed(literals: Iterable[Ints], n_literals: int, first: int) -> Ints:
    """The derived facts whose negations are among some literals; derived ones begin at ``first``."""
    asked = np.zeros(n_literals, np.bool_)
    for some in literals:
        asked[some] = True
    return (np.flatnonzero(asked[first + 1 :: 2]) + first // 2).astype(np.int32)
