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

from typing import NamedTuple

import numpy as np

from pdsketch.budget import UNLIMITED, Budget
from pdsketch.heuristics.recursion import components
from pdsketch.kernels.arrays import Bools, Floats, Indices, Ints, Longs
from pdsketch.kernels.csr import (
    CSR,
    csr_of,
    distinct,
    filtered,
    gather,
    group,
    invert,
    owners_of,
    repeated,
    stack,
    unite,
)
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


class _Unary(NamedTuple):
    """Unary operators over literals: one row of conditions and one of heads each."""

    conditions: CSR
    heads: CSR
    owner: Longs


def _from_operators(task: Task, budget: Budget) -> _Unary:
    """One unary operator for all unconditional effects of an operator, one for each other effect."""
    width = 2 * task.n_facts
    owner = owners_of(task.effects)
    effect = task.effects.items.astype(np.int64)
    conditional = np.diff(task.conditions.starts)[effect] > 0
    plain, place = np.unique(owner[~conditional], return_inverse=True)
    unary = np.empty(len(owner), np.int64)
    unary[~conditional] = place
    unary[conditional] = len(plain) + np.arange(int(conditional.sum()))
    owners = np.concatenate([plain, owner[conditional]])
    budget.check()
    heads = gather(task.heads, effect)
    heads = unite(unary[owners_of(heads)], heads.items, len(owners), width)
    budget.check()
    before = gather(task.preconditions, owners)
    extra = gather(task.conditions, effect[conditional])
    conditions = unite(
        np.concatenate([owners_of(before), len(plain) + owners_of(extra)]),
        np.concatenate([before.items, extra.items]),
        len(owners),
        width,
    )
    return _Unary(conditions, heads, owners)


def _from_axioms(task: Task) -> _Unary:
    heads = 2 * task.axiom_heads.astype(np.int64)
    count = len(heads)
    return _Unary(task.axiom_bodies, group(np.arange(count), heads, count), np.full(count, -1, np.int64))


def _from_negations(task: Task, needed: Ints, budget: Budget) -> _Unary:
    """How the negations of derived facts come about: those in ``needed``, and those that they need in turn.

    Helper propositions are numbered from ``2 * n_facts`` on, one a rule.
    """
    wanted = needed[(needed >= 2 * task.n_basic) & (needed & 1 == 1)] >> 1
    if not len(wanted):
        return _Unary(csr_of([]), csr_of([]), np.zeros(0, np.int64))
    rules = invert(CSR(np.arange(len(task.axiom_heads) + 1, dtype=np.int32), task.axiom_heads), task.n_facts)
    component = components(task)
    owners, items = owners_of(task.axiom_bodies), task.axiom_bodies.items
    recursive = np.zeros(len(task.axiom_heads), np.bool_)
    recursive[owners[component[items >> 1] == component[task.axiom_heads[owners]]]] = True
    parts: list[tuple[CSR, CSR]] = []
    seen = np.zeros(task.n_facts, np.bool_)
    while len(wanted):
        budget.check()
        seen[wanted] = True
        of_fact = gather(rules, wanted)
        of_fact = filtered(of_fact, ~recursive[of_fact.items])
        broken = of_fact.items
        conditions = CSR(of_fact.starts, (2 * task.n_facts + broken).astype(np.int32))
        parts.append((conditions, group(np.arange(len(wanted)), 2 * wanted + 1, len(wanted))))
        bodies = gather(task.axiom_bodies, broken)
        n = np.arange(len(bodies.items))
        helpers = 2 * task.n_facts + broken[owners_of(bodies)]
        parts.append((group(n, bodies.items ^ 1, len(n)), group(n, helpers, len(n))))
        next_ = bodies.items[(bodies.items & 1 == 0) & (bodies.items >> 1 >= task.n_basic)] >> 1
        wanted = distinct(next_[~seen[next_]]).astype(np.int32)
    heads = stack([heads for _, heads in parts])
    return _Unary(stack([c for c, _ in parts]), heads, np.full(len(heads.starts) - 1, -1, np.int64))


def _numbered(task: Task, unary: _Unary) -> tuple[Longs, int]:
    """A number for each literal and helper that some condition or the goal mentions, -1 for the others."""
    numbers = np.full(2 * task.n_facts + len(task.axiom_heads), -1, np.int64)
    mentioned = distinct(np.concatenate([unary.conditions.items, task.goal]))
    numbers[mentioned] = np.arange(len(mentioned))
    return numbers, len(mentioned)


def _useful(unary: _Unary, numbers: Longs, n_propositions: int) -> _Unary:
    """Over propositions: heads that nobody needs, or that are conditions too, are left out."""
    owners, heads = owners_of(unary.heads), numbers[unary.heads.items]
    width = max(n_propositions, 1)
    conditions = CSR(unary.conditions.starts, numbers[unary.conditions.items].astype(np.int32))
    own = np.sort(owners_of(conditions) * width + conditions.items)
    keep = (heads >= 0) & ~_among(owners * width + heads, own)
    heads_rows = group(owners[keep], heads[keep], len(unary.owner))
    picks = np.flatnonzero(np.diff(heads_rows.starts) > 0)
    conditions = gather(conditions, picks)
    if bool(np.any(np.diff(conditions.starts) > _MOST_CONDITIONS)):
        conditions = _shortened(conditions)
    return _Unary(conditions, gather(heads_rows, picks), unary.owner[picks])


def _among(values: Longs, ordered: Longs) -> Bools:
    """Which of the values are among others, which are in order."""
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    found: Bools = ordered[places] == values
    return found


def _shortened(conditions: CSR) -> CSR:
    """Rows cut to what an operator's counter can hold; fewer conditions relax more, and stay sound."""
    _, place = repeated(np.diff(conditions.starts))
    return filtered(conditions, place < _MOST_CONDITIONS)


def relax(
    task: Task, costs: Floats | None = None, *, per_effect: bool = False, budget: Budget = UNLIMITED
) -> Relaxation:
    """The delete relaxation of ``task``.

    ``costs`` stand in for the task's own. With ``per_effect``, hFF counts each
    conditional effect as an operator of its own.
    """
    scaled, scale = scale_costs(task.costs if costs is None else costs)
    budget.reserve(64 * (len(task.heads.items) + len(task.preconditions.items) + len(task.conditions.items)))
    parts = [_from_operators(task, budget), _from_axioms(task)]
    budget.check()
    needed = distinct(np.concatenate([*(p.conditions.items for p in parts), task.goal])).astype(np.int32)
    budget.check()
    parts.append(_from_negations(task, needed, budget))
    budget.reserve(64 * sum(len(p.conditions.items) + len(p.heads.items) for p in parts))
    unary = _Unary(
        stack([p.conditions for p in parts]),
        stack([p.heads for p in parts]),
        np.concatenate([p.owner for p in parts]),
    )
    budget.check()
    numbers, count = _numbered(task, unary)
    budget.check()
    unary = _useful(unary, numbers, count)
    budget.reserve(64 * (len(unary.conditions.items) + len(unary.heads.items)))
    unary, n_several = _sorted_by_size(unary)
    budget.check()
    return _assemble(task, unary, n_several, numbers, count, scaled, scale, per_effect)


def _sorted_by_size(unary: _Unary) -> tuple[_Unary, int]:
    """Operators with several conditions first, then the others; and how many of the first there are."""
    few = np.diff(unary.conditions.starts) < 2
    order = np.argsort(few, kind="stable")
    parts = _Unary(gather(unary.conditions, order), gather(unary.heads, order), unary.owner[order])
    return parts, int((~few).sum())


def _uses(unary: _Unary, n_several: int, count: int) -> tuple[CSR, CSR]:
    """For each proposition, the operators with several conditions, and the heads it leads to alone."""
    starts, items = unary.conditions.starts, unary.conditions.items
    several = CSR(starts[: n_several + 1], items[: starts[n_several]])
    single = n_several + np.flatnonzero(np.diff(starts[n_several:]) == 1)
    heads = gather(unary.heads, single)
    places = unary.heads.starts[single][owners_of(heads)] + (
        np.arange(len(heads.items)) - heads.starts[:-1][owners_of(heads)]
    )
    return invert(several, count), group(items[starts[single]][owners_of(heads)], places, count)


def _edge_table(unary: _Unary, edges: CSR, base: Longs) -> Indices:
    """A row (head, unary operator, cost) for each edge, one after the other."""
    operators = owners_of(unary.heads)[edges.items]
    table = np.stack([unary.heads.items[edges.items], operators, base[operators]], axis=1)
    return table.astype(np.uint32)


def _assemble(
    task: Task,
    unary: _Unary,
    n_several: int,
    numbers: Longs,
    count: int,
    scaled: Longs,
    scale: float,
    per_effect: bool,
) -> Relaxation:
    owner = unary.owner
    base = np.where(owner >= 0, np.append(scaled, 0)[owner], 0)
    sizes = np.diff(unary.conditions.starts).astype(np.int64)
    uses, edges = _uses(unary, n_several, count)
    negative = numbers[1 : 2 * task.n_facts : 2].astype(np.int32)
    goal = numbers[distinct(task.goal)].astype(np.int32)
    is_goal = np.zeros(count, np.bool_)
    is_goal[goal] = True
    groups = np.arange(len(owner)) + len(scaled) if per_effect else owner
    return Relaxation(
        scale=scale,
        positive=numbers[0 : 2 * task.n_facts : 2].astype(np.int32),
        negative=negative,
        negated=np.flatnonzero(negative >= 0).astype(np.int32),
        uses_starts=uses.starts.astype(np.uint32),
        uses=uses.items.astype(np.uint32),
        edges_starts=edges.starts.astype(np.uint32),
        edges=_edge_table(unary, edges, base),
        conditions_starts=unary.conditions.starts.astype(np.uint32),
        conditions=unary.conditions.items.astype(np.uint32),
        heads_starts=unary.heads.starts.astype(np.uint32),
        heads=unary.heads.items.astype(np.uint32),
        initial=((base << COUNT_BITS) | sizes)[:n_several],
        free=np.flatnonzero(sizes == 0).astype(np.uint32),
        owner=owner.astype(np.int32),
        group=groups.astype(np.int32),
        base=base,
        preconditions_starts=task.preconditions.starts.astype(np.int32),
        preconditions=task.preconditions.items.astype(np.int32),
        goal=goal.astype(np.uint32),
        is_goal=is_goal,
        goal_literals=distinct(task.goal).astype(np.int32),
        cheapest=float(scaled.min(initial=1 << 28)) / scale if len(scaled) else 1.0,
    )
