"""What can hold from an initial state, and what holds in all states after it: kernels over indexed rows.

They find what `spread_possible` and `derive_certain` find, for drafts from which many states are reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdsketch.kernels import CSR, Bools, Floats, Ints, invert, kernel, stack
from pdsketch.task.draft import Draft

Rows = tuple[Ints, Ints]
"""Starts and items."""


class DraftRows(NamedTuple):
    """A draft, and what of it does not depend on the initial state.

    ``own`` are the effects of each operator. ``watch`` are the rows that wait for a literal: operators by
    their numbers, effects behind them, then the first ``n_watched`` axioms; behind the literals come the
    operators, for which their effects wait. ``sizes`` says for how many a row waits. Further axioms, those
    of a goal, have bodies over facts before their heads.
    """

    preconditions: Rows
    owners: Ints
    conditions: Rows
    heads: Rows
    axiom_heads: Ints
    axiom_bodies: Rows
    own: Rows
    watch: Rows
    sizes: Ints
    n_watched: int
    costs: Floats
    derived: Bools
    layer: Ints
    goal: Ints
    possible: bool


def draft_rows(draft: Draft, derived: Bools, layer: Ints) -> DraftRows:
    """A draft, made ready to be narrowed. Its ``groups`` are not looked at."""
    n_ops, n_effects, n_literals = len(draft.rules), len(draft.owners), 2 * len(derived)
    starts = np.arange(n_effects + 1, dtype=np.int32)
    for_operators = CSR(starts, draft.owners + n_literals)
    waits = stack([draft.preconditions, draft.conditions, draft.axiom_bodies])
    sizes = np.diff(waits.starts)
    sizes[n_ops : n_ops + n_effects] += 1
    lists = invert(waits, n_literals + n_ops)
    own = invert(CSR(starts, draft.owners), n_ops)
    # An operator's effects wait for it alone, and come behind the rows that wait for literals.
    behind = invert(for_operators, n_literals + n_ops)
    watch = CSR(
        lists.starts + behind.starts,
        np.concatenate([lists.items, behind.items + n_ops]).astype(np.int32),
    )
    return DraftRows(
        preconditions=_rows(draft.preconditions),
        owners=draft.owners.astype(np.int32, copy=False),
        conditions=_rows(draft.conditions),
        heads=_rows(draft.heads),
        axiom_heads=draft.axiom_heads.astype(np.int32, copy=False),
        axiom_bodies=_rows(draft.axiom_bodies),
        own=_rows(own),
        watch=_rows(watch),
        sizes=sizes.astype(np.int32),
        n_watched=len(draft.axiom_heads),
        costs=draft.costs.astype(np.float64, copy=False),
        derived=derived,
        layer=layer.astype(np.int32, copy=False),
        goal=draft.goal.astype(np.int32, copy=False),
        possible=draft.possible,
    )


def with_goal(rows: DraftRows, draft: Draft, derived: Bools, layer: Ints) -> DraftRows:
    """The rows of a draft to which a goal was added, and axioms and facts behind those that there were."""
    n, more = 2 * len(rows.derived), 2 * (len(derived) - len(rows.derived))
    starts, items = rows.watch
    starts = np.concatenate([starts[:n], np.full(more, starts[n], np.int32), starts[n:]])
    sizes = np.diff(draft.axiom_bodies.starts)[rows.n_watched :]
    return rows._replace(
        axiom_heads=draft.axiom_heads.astype(np.int32, copy=False),
        axiom_bodies=_rows(draft.axiom_bodies),
        watch=(starts, items),
        sizes=np.concatenate([rows.sizes, sizes.astype(np.int32)]),
        derived=derived,
        layer=layer.astype(np.int32, copy=False),
        goal=draft.goal.astype(np.int32, copy=False),
        possible=draft.possible,
    )


def _rows(rows: CSR) -> Rows:
    return rows.starts.astype(np.int32, copy=False), rows.items.astype(np.int32, copy=False)


@kernel
def reach(rows: DraftRows, init: Bools, certain: Bools, possible: Bools, left: Ints, queue: Ints) -> None:
    """Mark what can hold, as `spread_possible` does; rows that can happen have nothing ``left``."""
    n_ops, n_effects = len(rows.preconditions[0]) - 1, len(rows.owners)
    first_axiom, watch_starts, watch = n_ops + n_effects, rows.watch[0], rows.watch[1]
    for row in range(len(left)):
        left[row] = rows.sizes[row]
    end = 0
    for fact in range(len(init)):
        possible[2 * fact] = init[fact]
        possible[2 * fact + 1] = not init[fact] and not certain[2 * fact]
        for literal in range(2 * fact, 2 * fact + 2):
            if possible[literal] and watch_starts[literal] < watch_starts[literal + 1]:
                queue[end] = literal
                end += 1
    for op in range(n_ops):
        if left[op] == 0:
            queue[end] = 2 * len(init) + op
            end += 1
    for axiom in range(rows.n_watched):
        head = 2 * rows.axiom_heads[axiom]
        if left[first_axiom + axiom] == 0 and not possible[head]:
            possible[head] = True
            queue[end] = head
            end += 1
    at = 0
    while at < end:
        waited = queue[at]
        at += 1
        for i in range(watch_starts[waited], watch_starts[waited + 1]):
            row = watch[i]
            left[row] -= 1
            if left[row] != 0:
                continue
            if row < n_ops:
                queue[end] = 2 * len(init) + row
                end += 1
            elif row < first_axiom:
                for j in range(rows.heads[0][row - n_ops], rows.heads[0][row - n_ops + 1]):
                    literal = rows.heads[1][j]
                    if not possible[literal]:
                        possible[literal] = True
                        queue[end] = literal
                        end += 1
            else:
                head = 2 * rows.axiom_heads[row - first_axiom]
                if not possible[head]:
                    possible[head] = True
                    queue[end] = head
                    end += 1


@kernel
def reach_goal(rows: DraftRows, possible: Bools, left: Ints) -> None:
    """The same for the axioms of a goal, for which no row is known to wait."""
    first_axiom = len(left) - len(rows.axiom_heads)
    for axiom in range(rows.n_watched, len(rows.axiom_heads)):
        possible[2 * rows.axiom_heads[axiom]] = False
    for axiom in range(rows.n_watched, len(rows.axiom_heads)):
        left[first_axiom + axiom] = 0
        for i in range(rows.axiom_bodies[0][axiom], rows.axiom_bodies[0][axiom + 1]):
            if not possible[rows.axiom_bodies[1][i]]:
                left[first_axiom + axiom] = 1
        if left[first_axiom + axiom] == 0:
            possible[2 * rows.axiom_heads[axiom]] = True


@kernel
def find_certain(rows: DraftRows, possible: Bools, left: Ints, certain: Bools) -> bool:
    """Mark what holds in all states; whether that makes something impossible that a row waits for."""
    first_axiom = len(left) - len(rows.axiom_heads)
    for literal in range(len(certain)):
        certain[literal] = certain[literal] or not possible[literal ^ 1]
    found, changed = False, True
    while changed:
        changed = False
        for axiom in range(len(rows.axiom_heads)):
            head = 2 * rows.axiom_heads[axiom]
            if left[first_axiom + axiom] != 0 or certain[head]:
                continue
            every = True
            for i in range(rows.axiom_bodies[0][axiom], rows.axiom_bodies[0][axiom + 1]):
                if not certain[rows.axiom_bodies[1][i]]:
                    every = False
                    break
            if every:
                certain[head] = changed = True
                possible[head + 1] = False
                found = found or rows.watch[0][head + 1] < rows.watch[0][head + 2]
    reach_goal(rows, possible, left)
    return found
