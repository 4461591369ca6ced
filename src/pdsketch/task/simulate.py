"""What an operator of a task does to a state, as plainly as possible."""

from __future__ import annotations

import numpy as np

from pdsketch.kernels import Bools, Ints
from pdsketch.task.task import Task


def with_derived(task: Task, basic: Bools) -> Bools:
    """The truth of all facts, of which the basic ones are given."""
    facts = np.zeros(task.n_facts, np.bool_)
    facts[: task.n_basic] = basic[: task.n_basic]
    for layer in np.unique(task.axiom_layers):
        rules = np.flatnonzero(task.axiom_layers == layer)
        changed = True
        while changed:
            fired = [r for r in rules.tolist() if _all(facts, task.axiom_bodies[r])]
            heads = task.axiom_heads[fired]
            changed = not facts[heads].all()
            facts[heads] = True
    return facts


def successor(task: Task, basic: Bools, operator: int) -> Bools:
    """The basic facts after an operator, whose precondition is taken to hold."""
    facts = with_derived(task, basic)
    after = facts[: task.n_basic].copy()
    heads = [
        literal
        for effect in task.effects[operator].tolist()
        if _all(facts, task.conditions[effect])
        for literal in task.heads[effect].tolist()
    ]
    after[[literal >> 1 for literal in heads if literal & 1]] = False
    after[[literal >> 1 for literal in heads if not literal & 1]] = True
    return after


def _all(facts: Bools, literals: Ints) -> bool:
    return bool((facts[literals >> 1] != (literals & 1).astype(np.bool_)).all())
