"""What is left of a draft, numbered anew and laid out: one compiled kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdsketch.kernels.arrays import Bools, Ints
from pdsketch.kernels.compiled import kernel

Rows = tuple[Ints, Ints]
"""Starts and items."""


class Left(NamedTuple):
    """The masks of what is left, and the draft's rows."""

    operators: Bools
    effects: Bools
    axioms: Bools
    owners: Ints
    axiom_heads: Ints
    preconditions: Rows
    conditions: Rows
    heads: Rows
    bodies: Rows


class LaidOut(NamedTuple):
    """The task: ``kept`` are the facts of the draft that it has, ``chosen`` the operators."""

    kept: Ints
    n_basic: int
    chosen: Ints
    goal: Ints
    preconditions: Rows
    effects: Rows
    conditions: Rows
    heads: Rows
    axiom_heads: Ints
    bodies: Rows
    layers: Ints


@kernel
def _numbers(mask: Bools) -> Ints:
    """The places that are marked."""
    found = np.empty(len(mask), np.int32)
    count = 0
    for i in range(len(mask)):
        if mask[i]:
            found[count] = i
            count += 1
    return found[:count].copy()


@kernel
def _use(used: Bools, rows: Rows, picked: Ints) -> int:
    """Mark the facts that some rows mention; returns how many literals these have."""
    count = 0
    for row in picked:
        for i in range(rows[0][row], rows[0][row + 1]):
            used[rows[1][i] >> 1] = True
            count += 1
    return count


@kernel
def _renumbered(rows: Rows, picked: Ints, size: int, renumber: Ints) -> Rows:
    """Some rows over facts with other numbers."""
    starts = np.zeros(len(picked) + 1, np.int32)
    items = np.empty(size, np.int32)
    end = 0
    for k in range(len(picked)):
        for i in range(rows[0][picked[k]], rows[0][picked[k] + 1]):
            items[end] = 2 * renumber[rows[1][i] >> 1] + (rows[1][i] & 1)
            end += 1
        starts[k + 1] = end
    return starts, items


@kernel
def _by_layer(axioms: Ints, heads: Ints, layer: Ints) -> Ints:
    """Axioms in the order of their layers, those of one layer in their own."""
    top = 0
    for axiom in axioms:
        top = max(top, layer[heads[axiom]])
    place = np.zeros(top + 2, np.int32)
    for axiom in axioms:
        place[layer[heads[axiom]] + 1] += 1
    for i in range(top + 1):
        place[i + 1] += place[i]
    found = np.empty_like(axioms)
    for axiom in axioms:
        own = layer[heads[axiom]]
        found[place[own]] = axiom
        place[own] += 1
    return found


@kernel
def lay_out(left: Left, goal: Ints, derived: Bools, layer: Ints) -> LaidOut:
    """Number what is left, basic facts first."""
    chosen, effects = _numbers(left.operators), _numbers(left.effects)
    axioms = _by_layer(_numbers(left.axioms), left.axiom_heads, layer)
    n = len(derived)
    used = np.zeros(n, np.bool_)
    for literal in goal:
        used[literal >> 1] = True
    for axiom in axioms:
        used[left.axiom_heads[axiom]] = True
    n_pre = _use(used, left.preconditions, chosen)
    n_cond = _use(used, left.conditions, effects)
    n_heads = _use(used, left.heads, effects)
    n_bodies = _use(used, left.bodies, axioms)
    kept = np.empty(n, np.int32)
    renumber = np.full(n, -1, np.int32)
    count, n_basic = 0, 0
    for wanted in (False, True):
        for fact in range(n):
            if used[fact] and derived[fact] == wanted:
                kept[count] = fact
                renumber[fact] = count
                count += 1
        if not wanted:
            n_basic = count
    place = np.full(len(left.operators), -1, np.int32)
    for i in range(len(chosen)):
        place[chosen[i]] = i
    effect_starts = np.zeros(len(chosen) + 1, np.int32)
    for effect in effects:
        effect_starts[place[left.owners[effect]] + 1] += 1
    for i in range(len(chosen)):
        effect_starts[i + 1] += effect_starts[i]
    at = effect_starts.copy()
    effect_items = np.empty(len(effects), np.int32)
    for i in range(len(effects)):
        own = place[left.owners[effects[i]]]
        effect_items[at[own]] = i
        at[own] += 1
    new_goal = np.empty(len(goal), np.int32)
    for i in range(len(goal)):
        new_goal[i] = 2 * renumber[goal[i] >> 1] + (goal[i] & 1)
    axiom_heads = np.empty(len(axioms), np.int32)
    layers = np.empty(len(axioms), np.int32)
    for i in range(len(axioms)):
        axiom_heads[i] = renumber[left.axiom_heads[axioms[i]]]
        layers[i] = layer[left.axiom_heads[axioms[i]]]
    return LaidOut(
        kept[:count].copy(),
        n_basic,
        chosen,
        new_goal,
        _renumbered(left.preconditions, chosen, n_pre, renumber),
        (effect_starts, effect_items),
        _renumbered(left.conditions, effects, n_cond, renumber),
        _renumbered(left.heads, effects, n_heads, renumber),
        axiom_heads,
        _renumbered(left.bodies, axioms, n_bodies, renumber),
        layers,
    )
