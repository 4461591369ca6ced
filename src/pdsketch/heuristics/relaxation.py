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
from pdsketch.kernels.arrays import Bools, Floats, Indices, Ints, Longs
from pdsketch.kernels.csr import CSR, distinct, owners_of, stack
from pdsketch.task.task import Task

COUNT_BITS = 14
"""An operator's state is ``cost << COUNT_BITS | unreached conditions``."""

_MOST_CONDITIONS = (1 << COUNT_BITS) - 1
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


def relax(
    task: Task, costs: Floats | None = None, *, per_effect: bool = False, budget: Budget = UNLIMITED
) -> Relaxation:
    """The delete relaxation of ``task``.

    ``costs`` stand in for the task's own. With ``per_effect``, hFF counts each
    conditional effect as an operator of its own.
    """
    scaled, scale = scale_costs(task.costs if costs is None else costs)
    budget.reserve(64 * (len(task.heads.items) + len(task.preconditions.items) + len(task.conditions.items)))
    first = of_operators(
        _rows(task.effects),
        _rows(task.conditions),
        _rows(task.heads),
        _rows(task.preconditions),
        2 * task.n_facts,
    )
    budget.check()
    bodies, axiom_heads = task.axiom_bodies, task.axiom_heads.astype(np.int32, copy=False)
    needed = _needed((first[1], bodies.items, task.goal), 2 * task.n_facts, 2 * task.n_basic)
    recursive = _recursive_rules(task) if len(needed) else np.zeros(len(axiom_heads), np.bool_)
    budget.check()
    negations = of_negations(needed, axiom_heads, _rows(bodies), recursive, task.n_basic, task.n_facts)
    parts = [CSR(first[0], first[1]), bodies, CSR(negations[0], negations[1])]
    single = np.arange(len(axiom_heads) + len(negations[2]) + 1, dtype=np.int32)
    heads = [CSR(first[2], first[3]), CSR(single, np.concatenate([2 * axiom_heads, negations[2]]))]
    budget.reserve(128 * sum(len(part.items) for part in (*parts, *heads)))
    conditions = _rows(stack(parts))
    numbers, count = number_propositions(
        conditions[1], task.goal.astype(np.int32, copy=False), 2 * task.n_facts + len(axiom_heads)
    )
    budget.check()
    *unary, origins, n_several = useful(conditions, _rows(stack(heads)), numbers, count, _MOST_CONDITIONS)
    budget.check()
    owner = np.concatenate([first[4], np.full(len(single) - 1, -1, np.int64)])[origins]
    small, made = (unary[0], unary[1]), (unary[2], unary[3])
    base = np.where(owner >= 0, np.append(scaled, 0)[owner], 0)
    uses_starts, uses, edges_starts, edges = index_uses(small, made, base, n_several, count)
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
