"""Pairs of literals that no state holds both of: h² (Haslum and Geffner, 2000), which the engine finds.

hFF forgets what operators make false. Where a goal can be reached in several ways, it may count on one that
is none: to hold a thing and to face it at once. Axioms that need such a pair are left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from pdsketch.budget import Budget
from pdsketch.core import Ints, gather, mutexes
from pdsketch.task.task import Task

MOST_LITERALS: Final = 1 << 13
"""Larger tasks have too many pairs: as bits, those of so many literals take 8 MiB."""

MOST_WORK: Final = 20_000_000
"""Pairs of effects and words of bits that a round looks at, about a tenth of a second; a room of eight things
has 400,000."""


def without_mutexes(task: Task, groups: Ints, budget: Budget) -> Task:
    """The task without axioms whose bodies never hold.

    At most one fact of each of the ``groups`` holds in any state: a number for each fact, -1 for none.
    Operators keep their places.
    """
    if 2 * task.n_facts > MOST_LITERALS or _work(task) > MOST_WORK or not len(task.axiom_heads):
        return task
    _, consistent = mutexes(task, groups, budget)
    if consistent.all():
        return task
    left = np.flatnonzero(consistent)
    return replace(
        task,
        axiom_heads=task.axiom_heads[left],
        axiom_bodies=gather(task.axiom_bodies, left),
        axiom_layers=task.axiom_layers[left],
    )


def _work(task: Task) -> int:
    counts = np.diff(task.effects.starts).astype(np.int64)
    rows = len(task.axiom_bodies.items) + len(task.conditions.items)
    return int((counts**2).sum()) + rows * ((2 * task.n_facts + 63) // 64)
