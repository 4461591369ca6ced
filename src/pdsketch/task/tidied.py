"""What can happen in a draft from an initial state, without literals and effects that say nothing."""

from __future__ import annotations

import numpy as np

from pdsketch.kernels import Bools, Ints, kernel
from pdsketch.task.prune import tidy_heads
from pdsketch.task.reach import DraftRows, Rows


@kernel
def _tidy(drop: Bools, rows: Rows, row: int, stamp: Ints, mark: int, into: Ints, end: int) -> int:
    """Write the literals of a row that are not dropped or stamped; returns their end, -1: it never holds."""
    fine = True
    for i in range(rows[0][row], rows[0][row + 1]):
        literal = rows[1][i]
        if stamp[literal ^ 1] == mark:
            fine = False
        if not drop[literal] and stamp[literal] != mark:
            stamp[literal] = mark
            into[end] = literal
            end += 1
    return end if fine else -1


@kernel
def empty_rows(n_rows: int, n_items: int) -> Rows:
    """Room for so many rows and items."""
    return np.zeros(n_rows + 1, np.int32), np.empty(n_items, np.int32)


@kernel
def tidy_operators(
    rows: DraftRows, certain: Bools, left: Ints, op_place: Ints, always: Bools
) -> tuple[Ints, Ints, Rows, Rows]:
    """Operators and effects that are left, with tidy conditions.

    ``op_place`` is where an operator has come to, or -1. Conditional effects without conditions are not
    among those left, but are ``always``.
    """
    n_ops, n_effects = len(op_place), len(rows.owners)
    stamp = np.full(len(certain), -1, np.int32)
    ops = np.empty(n_ops, np.int32)
    pre = empty_rows(n_ops, len(rows.preconditions[1]))
    count, end, mark = 0, 0, 0
    for op in range(n_ops):
        op_place[op] = -1
        if left[op] == 0:
            now = _tidy(certain, rows.preconditions, op, stamp, mark, pre[1], end)
            mark += 1
            if now >= 0:
                op_place[op], ops[count], end = count, op, now
                count += 1
                pre[0][count] = end
    effects = np.empty(n_effects, np.int32)
    conditions = empty_rows(n_effects, len(rows.conditions[1]))
    n_left, end = 0, 0
    for effect in range(n_effects):
        owner = op_place[rows.owners[effect]]
        always[effect] = False
        if owner < 0 or left[n_ops + effect] != 0:
            continue
        for i in range(pre[0][owner], pre[0][owner + 1]):
            stamp[pre[1][i]] = mark
        now = _tidy(certain, rows.conditions, effect, stamp, mark, conditions[1], end)
        mark += 1
        if now < 0:
            continue
        if effect >= n_ops and now == end:
            always[effect] = True
            continue
        effects[n_left], end = effect, now
        n_left += 1
        conditions[0][n_left] = end
    return ops[:count], effects[:n_left], pre, conditions


@kernel
def heads_of_effects(
    rows: DraftRows,
    certain: Bools,
    op_place: Ints,
    always: Bools,
    effects: Ints,
    pre: Rows,
    conditions: Rows,
) -> tuple[Rows, Ints, Rows]:
    """Tidy heads of the effects that are left, their operators, and the effects of each operator."""
    n_left, n_ops = len(effects), len(op_place)
    heads = empty_rows(n_left, len(rows.heads[1]))
    owners = np.empty(n_left, np.int32)
    own = empty_rows(n_ops, n_left)
    end = 0
    for k in range(n_left):
        effect = effects[k]
        owners[k] = op_place[rows.owners[effect]]
        own[0][owners[k] + 1] += 1
        for i in range(rows.heads[0][effect], rows.heads[0][effect + 1]):
            heads[1][end] = rows.heads[1][i]
            end += 1
        if effect < n_ops:
            for j in range(rows.own[0][effect], rows.own[0][effect + 1]):
                other = rows.own[1][j]
                if always[other]:
                    for i in range(rows.heads[0][other], rows.heads[0][other + 1]):
                        heads[1][end] = rows.heads[1][i]
                        end += 1
        heads[0][k + 1] = end
    for op in range(n_ops):
        own[0][op + 1] += own[0][op]
    for k in range(n_left - 1, -1, -1):
        own[0][owners[k] + 1] -= 1
        own[1][own[0][owners[k] + 1]] = k
    for op in range(n_ops):
        own[0][op] = own[0][op + 1]
    own[0][n_ops] = n_left
    keep = np.zeros(end, np.bool_)
    n_literals = len(certain)
    stamps = (
        np.full(n_literals, -1, np.int32),
        np.full(n_literals >> 1, -1, np.int32),
        np.full(n_literals >> 1, -1, np.int32),
        np.full(n_literals, -1, np.int32),
        np.full(n_literals, -1, np.int32),
        np.full(n_literals, -1, np.int32),
    )
    tidy_heads(certain, pre, own, (conditions[0], conditions[1], heads[0], heads[1]), stamps, keep)
    at, first = 0, 0
    for k in range(n_left):
        stop = heads[0][k + 1]
        for i in range(first, stop):
            if keep[i]:
                heads[1][at] = heads[1][i]
                at += 1
        first = stop
        heads[0][k + 1] = at
    return heads, owners, own


@kernel
def tidy_axioms(rows: DraftRows, certain: Bools, left: Ints) -> tuple[Ints, Rows]:
    """The heads of axioms that are left, and their tidy bodies."""
    n = len(rows.axiom_heads)
    first_axiom = len(left) - n
    stamp = np.full(len(certain), -1, np.int32)
    heads = np.empty(n, np.int32)
    bodies = empty_rows(n, len(rows.axiom_bodies[1]))
    count, end = 0, 0
    for axiom in range(n):
        if left[first_axiom + axiom] == 0 and not certain[2 * rows.axiom_heads[axiom]]:
            now = _tidy(certain, rows.axiom_bodies, axiom, stamp, axiom, bodies[1], end)
            if now >= 0:
                heads[count], end = rows.axiom_heads[axiom], now
                count += 1
                bodies[0][count] = end
    return heads[:count], bodies
