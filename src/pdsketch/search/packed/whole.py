"""Many states of one draft, searched one after the other: each is narrowed, and A* runs."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import NamedTuple

from pdsketch.budget import current
from pdsketch.core import PreparedDraft, PreparedGoal
from pdsketch.kernels.arrays import Bools
from pdsketch.search.packed.engine import PackedOptions, search
from pdsketch.task.ground import task_of
from pdsketch.task.narrow import Small, narrowed


class Whole(NamedTuple):
    """The answer of a search, what it took, and the plan: operators of the draft."""

    solved: bool
    expanded: int
    evaluated: int
    generated: int
    plan: list[int]


def work_for(small: Small) -> int:
    """How many conditions an evaluation looks at: those of effects, and three times those of axioms.

    An axiom is a unary operator, and another for the negation of its head, which has its literals, too.
    """
    return 1 + len(small.conditions.items) + 3 * len(small.axiom_bodies.items)


def search_whole(
    draft: PreparedDraft,
    goal: PreparedGoal,
    inits: Bools,
    options: PackedOptions,
    work: float,
    per_effect: bool,
) -> list[Whole]:
    """Narrow a draft to initial states, ``[state, fact]``, and search each.

    ``work`` bounds the expansions, too: those times the conditions of unary operators.
    """
    budget, answers = current(), list[Whole]()
    for init in inits:
        small = narrowed(draft, goal, init, init[:0], budget)
        if not small.solvable:
            answers.append(Whole(False, 0, 0, 0, []))
            continue
        most = ceil(work / work_for(small))
        limited = most if options.max_expansions is None else min(most, options.max_expansions)
        names = [("operator", str(i)) for i in small.chosen.tolist()]
        task = task_of(small, tuple(("fact", str(i)) for i in small.kept.tolist()), names)
        found = search(task, replace(options, max_expansions=limited), budget, per_effect=per_effect)
        plan = [] if found.plan is None else small.chosen[list(found.plan)].tolist()
        answers.append(
            Whole(found.status == "solved", found.expanded, found.evaluated, found.generated, plan)
        )
    return answers
