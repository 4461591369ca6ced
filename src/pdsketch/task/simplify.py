"""A drafted task without what can never happen, what is always so, and what does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from pdsketch.budget import Budget
from pdsketch.kernels import CSR, Bools, Floats, Ints, emptied, filtered, gather, group, owners_of
from pdsketch.lang import dataclass
from pdsketch.task.draft import Draft
from pdsketch.task.prune import (
    derive_certain,
    spread_possible,
    spread_relevant,
    tidy_conditions,
    tidy_heads,
)

_NONE = np.zeros(0, np.int32)


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of each fact of a draft: its initial truth, whether it is derived, and its layer.

    ``free``: it may as well be false in the beginning.
    """

    init: Bools
    free: Bools
    derived: Bools
    layer: Ints


@final
@dataclass(frozen=True, slots=True)
class Small:
    """A task without names. ``kept`` are the facts of the draft that are left, ``chosen`` the operators.

    ``possible`` says of every literal of the draft whether it can hold. An
    impossible goal leaves the goal as it was, with nothing that could reach it.
    """

    kept: Ints
    n_basic: int
    init: Bools
    goal: Ints
    chosen: Ints
    costs: Floats
    preconditions: CSR
    effects: CSR
    conditions: CSR
    heads: CSR
    axiom_heads: Ints
    axiom_bodies: CSR
    axiom_layers: Ints
    possible: Bools
    solvable: bool


@final
@dataclass(slots=True)
class _Work:
    """The draft, as it shrinks. Operators, effects and axioms that are out are False in their masks."""

    pre: CSR
    owners: Ints
    cond: CSR
    heads: CSR
    ax_heads: Ints
    bodies: CSR
    ops: Bools
    effects: Bools
    axioms: Bools

    @property
    def nbytes(self) -> int:
        """The memory that its rows take."""
        return sum(rows.items.nbytes for rows in (self.pre, self.cond, self.heads, self.bodies))


def simplify(draft: Draft, facts: Facts, budget: Budget) -> Small:
    """Everything at once: forward reachability, constants, idle effects, backward relevance."""
    work = _Work(
        draft.preconditions,
        draft.owners,
        draft.conditions,
        draft.heads,
        draft.axiom_heads,
        draft.axiom_bodies,
        np.ones(len(draft.rules), np.bool_),
        np.ones(len(draft.owners), np.bool_),
        np.ones(len(draft.axiom_heads), np.bool_),
    )
    possible = _reach(work, facts, budget)
    contradicts = bool(np.isin(draft.goal ^ 1, draft.goal).any())
    solvable = draft.possible and not contradicts and bool(possible[draft.goal].all())
    certain = ~possible[np.arange(len(possible)) ^ 1]
    budget.reserve(work.nbytes + 6 * 8 * len(facts.init))
    _tidy(work, certain)
    _drop_dominated(work, draft.groups, budget)
    goal = draft.goal[~certain[draft.goal]] if solvable else draft.goal[~possible[draft.goal]]
    if solvable:
        budget.reserve(3 * work.nbytes)
        _keep_relevant(work, goal, len(facts.init), budget)
    else:
        work.ops[:] = work.effects[:] = work.axioms[:] = False
    budget.reserve(3 * work.nbytes)
    return _finish(work, draft, facts, goal, possible, solvable)


def _reach(work: _Work, facts: Facts, budget: Budget) -> Bools:
    """Which literals can hold; what can never happen is put out.

    A derived fact that is certain makes its negation impossible, which may make
    more things impossible: then reachability is computed anew.
    """
    n = len(facts.init)
    certain = np.zeros(2 * n, np.bool_)
    while True:
        possible = np.empty(2 * n, np.bool_)
        possible[0::2] = facts.init
        possible[1::2] = (~facts.init | facts.free) & ~certain[0::2]
        work.ops[:] = work.effects[:] = work.axioms[:] = False
        while spread_possible(
            possible,
            (work.ops, work.pre.starts, work.pre.items),
            (
                work.effects,
                work.owners,
                work.cond.starts,
                work.cond.items,
                work.heads.starts,
                work.heads.items,
            ),
            (work.axioms, work.ax_heads, work.bodies.starts, work.bodies.items),
        ):
            budget.check()
        if not len(work.ax_heads):
            return possible
        before = certain
        certain = ~possible[np.arange(2 * n) ^ 1] | before
        found = False
        while derive_certain(certain, work.ax_heads, work.bodies.starts, work.bodies.items):
            budget.check()
            found = True
        if not found:
            return possible


def _tidy(work: _Work, certain: Bools) -> None:
    """Take out certain literals and idle effects; what has become unconditional is merged."""
    n_facts, n_ops, n_effects = len(certain) // 2, len(work.ops), len(work.effects)

    def stamp(size: int = 2 * n_facts) -> Ints:
        return np.full(size, -1, np.int32)

    empty = (_NONE, _NONE, _NONE)
    fine, work.pre = _tidied(certain, empty, work.pre)
    work.ops &= fine
    if len(work.cond.items) or n_effects > n_ops:
        outer = (work.owners, work.pre.starts, work.pre.items)
        fine, work.cond = _tidied(certain, outer, work.cond)
        work.effects &= fine
    work.effects &= work.ops[work.owners]
    _merge_unconditional(work)
    own = group(work.owners[work.effects], np.flatnonzero(work.effects), n_ops)
    keep = np.zeros(len(work.heads.items), np.bool_)
    tidy_heads(
        certain,
        (work.pre.starts, work.pre.items),
        (own.starts, own.items),
        (work.cond.starts, work.cond.items, work.heads.starts, work.heads.items),
        (stamp(), stamp(n_facts), stamp(n_facts), stamp(), stamp(), stamp()),
        keep,
    )
    work.heads = filtered(work.heads, keep)
    if len(work.ax_heads):
        fine, work.bodies = _tidied(certain, empty, work.bodies)
        work.axioms &= fine & ~certain[2 * work.ax_heads]


def _tidied(certain: Bools, outer: tuple[Ints, Ints, Ints], rows: CSR) -> tuple[Bools, CSR]:
    """Which rows of conditions can hold, and the rows without what need not be said."""
    fine, keep = np.ones(len(rows), np.bool_), np.zeros(len(rows.items), np.bool_)
    stamp = np.full(len(certain), -1, np.int32)
    tidy_conditions(certain, outer, rows.starts, rows.items, stamp, fine, keep)
    return fine, filtered(rows, keep)


def _drop_dominated(work: _Work, groups: Sequence[Ints], budget: Budget) -> None:
    """Of operators that are one action, put out those whose precondition another's is a part of."""
    for same in groups:
        kept: list[set[int]] = []
        alive = [o for o in same.tolist() if work.ops[o]]
        for operator in sorted(alive, key=lambda o: work.pre.starts[o + 1] - work.pre.starts[o]):
            budget.tick()
            needs = set(work.pre[operator].tolist())
            if any(fewer <= needs for fewer in kept):
                work.ops[operator] = False
            else:
                kept.append(needs)
    if groups:
        work.effects &= work.ops[work.owners]


def _merge_unconditional(work: _Work) -> None:
    """Give the heads of conditional effects without conditions to the operator's unconditional effect."""
    n_ops, n_effects = len(work.ops), len(work.effects)
    if n_effects == n_ops:
        return
    numbers = np.arange(n_effects, dtype=np.int32)
    always = (np.diff(work.cond.starts) == 0) & (numbers >= n_ops)
    target = np.where(always, work.owners, numbers).astype(np.int32)
    alive = np.repeat(work.effects, np.diff(work.heads.starts))
    rows = np.repeat(target, np.diff(work.heads.starts))[alive]
    work.heads = group(rows, work.heads.items[alive], n_effects)
    work.effects &= ~always
    work.effects[:n_ops] = work.ops


def _keep_relevant(work: _Work, goal: Ints, n_facts: int, budget: Budget) -> None:
    """Put out effects that help nothing, operators without effects, axioms of facts that do not matter."""
    relevant = np.zeros(2 * n_facts, np.bool_)
    relevant[goal] = True
    useful, helpful = ~work.effects, np.zeros(len(work.ops), np.bool_)
    bodies = emptied(work.bodies, ~work.axioms)
    averted = np.zeros(len(work.owners), np.bool_)
    while spread_relevant(
        relevant,
        (helpful, work.pre.starts, work.pre.items),
        (useful, work.owners, work.cond.starts, work.cond.items, work.heads.starts, work.heads.items),
        (work.ax_heads, bodies.starts, bodies.items),
        averted,
    ):
        budget.check()
    matters = relevant[0::2] | relevant[1::2]
    work.ops &= helpful
    busy = np.zeros(len(work.effects), np.bool_)
    busy[owners_of(work.heads)[matters[work.heads.items >> 1]]] = True
    work.effects &= work.ops[work.owners] & busy
    work.axioms &= matters[work.ax_heads]
    work.heads = filtered(work.heads, matters[work.heads.items >> 1])


def _finish(work: _Work, draft: Draft, facts: Facts, goal: Ints, possible: Bools, solvable: bool) -> Small:
    """Number what is left, basic facts first, and lay it out."""
    chosen = np.nonzero(work.ops)[0].astype(np.int32)
    effects = np.nonzero(work.effects)[0].astype(np.int32)
    axioms = np.nonzero(work.axioms)[0].astype(np.int32)
    axioms = axioms[np.argsort(facts.layer[work.ax_heads[axioms]], kind="stable")]
    n = len(facts.init)
    used = np.zeros(n, np.bool_)
    used[goal >> 1] = True
    used[work.ax_heads[axioms]] = True
    for rows, picked in (
        (work.pre, chosen),
        (work.cond, effects),
        (work.heads, effects),
        (work.bodies, axioms),
    ):
        used[gather(rows, picked).items >> 1] = True
    kept = np.concatenate([np.nonzero(used & ~facts.derived)[0], np.nonzero(used & facts.derived)[0]])
    renumber = np.full(n, -1, np.int32)
    renumber[kept] = np.arange(len(kept), dtype=np.int32)

    def renumbered(rows: CSR, picked: Ints) -> CSR:
        found = gather(rows, picked)
        return CSR(found.starts, 2 * renumber[found.items >> 1] + (found.items & 1))

    op_number = np.full(len(work.ops), -1, np.int32)
    op_number[chosen] = np.arange(len(chosen), dtype=np.int32)
    return Small(
        kept=kept.astype(np.int32),
        n_basic=int((used & ~facts.derived).sum()),
        init=facts.init[kept],
        goal=(2 * renumber[goal >> 1] + (goal & 1)).astype(np.int32),
        chosen=chosen,
        costs=draft.costs[chosen],
        preconditions=renumbered(work.pre, chosen),
        effects=group(op_number[work.owners[effects]], np.arange(len(effects)), len(chosen)),
        conditions=renumbered(work.cond, effects),
        heads=renumbered(work.heads, effects),
        axiom_heads=renumber[work.ax_heads[axioms]],
        axiom_bodies=renumbered(work.bodies, axioms),
        axiom_layers=facts.layer[work.ax_heads[axioms]].astype(np.int32),
        possible=possible,
        solvable=solvable,
    )
