"""Why a search found no plan, in words: a proof, or the limit that was hit and what to try next."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from pdsketch.budget import Budget, LimitError, current
from pdsketch.core import Task
from pdsketch.heuristics import find_heuristic
from pdsketch.lang import show_atom
from pdsketch.search.options import PlanOptions
from pdsketch.search.packed.engine import PackedOutcome
from pdsketch.search.result import Status
from pdsketch.task import Grounding

EXPLANATION_SECONDS = 10.0
"""Seconds that looking for reasons may take beside the search; set by hand."""


def reached(status: Status, budget: Budget) -> str:
    """Which limit ended a call."""
    if status == "out-of-time":
        return "the time limit was reached"
    return f"the memory limit of {budget.memory / 1e6:g} MB was reached"


def why_not(
    grounding: Grounding | None, task: Task, options: PlanOptions, outcome: PackedOutcome, budget: Budget
) -> tuple[str, ...]:
    """The reasons, one a line; none if the problem is solved.

    ``task`` was searched with ``options``, and ``outcome`` says how that ended. ``grounding`` is that of the
    task where it found the goal out of reach; ``budget`` is that of the search.
    """
    if outcome.status == "solved":
        return ()
    if outcome.status == "unsolvable":
        return _proof(grounding, task, options, outcome)
    limit = f"the limit of {options.max_expansions} expansions was reached"
    if outcome.status != "gave-up":
        limit = reached(outcome.status, budget)
    return (limit, _seen(options, outcome), _advice(options, outcome))


def _proof(
    grounding: Grounding | None, task: Task, options: PlanOptions, outcome: PackedOutcome
) -> tuple[str, ...]:
    if not np.isfinite(outcome.best_h):
        return (
            "the goal cannot be reached, even if nothing ever stopped holding",
            *_in_the_way(grounding, task, outcome),
        )
    dead = ", dead ends by the heuristic included" if find_heuristic(options.heuristic).relaxed else ""
    states = "1 state was" if outcome.states == 1 else f"{outcome.states} states were"
    return (f"the goal cannot be reached: {states} searched{dead}, and there are no others to reach",)


def _in_the_way(grounding: Grounding | None, task: Task, outcome: PackedOutcome) -> tuple[str, ...]:
    """What keeps the goal out of reach, in the author's words; else the facts that stay out of reach."""
    from pdsketch.task import explain  # needed for few problems

    words: tuple[str, ...] = ()
    if grounding is not None:
        with suppress(LimitError, MemoryError), current().narrowed(EXPLANATION_SECONDS).running():
            words = explain(grounding)
    if words:
        return words
    return tuple(
        f"{'not ' * (literal & 1)}{show_atom(task.facts[literal >> 1])} is out of reach"
        for literal in outcome.unreached
    )


def _seen(options: PlanOptions, outcome: PackedOutcome) -> str:
    best = (
        f"; the lowest h ({options.heuristic}) was {outcome.best_h:g}" if np.isfinite(outcome.best_h) else ""
    )
    states = "1 state was" if outcome.expanded == 1 else f"{outcome.expanded} states were"
    return f"{states} expanded and {outcome.evaluated} evaluated{best}"


def _advice(options: PlanOptions, outcome: PackedOutcome) -> str:
    """One thing to try next."""
    if options.search in ("astar", "wastar"):
        return "try the search `lazy-gbfs`, which does not ask for a cheapest plan"
    if options.heuristic in ("blind", "goalcount", "max"):
        return "try the heuristic `ff`, which sees further"
    if options.search == "lazy-gbfs" and options.heuristic == "ff":
        more = {"out-of-time": "a longer time limit", "out-of-memory": "a larger memory limit"}
        limit = more.get(outcome.status, "more expansions")
        return f"try the search `gbfs`, which follows h more closely, or {limit}"
    return "try the search `lazy-gbfs` with the heuristic `ff`"
