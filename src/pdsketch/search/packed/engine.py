"""Runs a search of the engine under its limits, and says how it ended."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, final

import numpy as np

from pdsketch import core
from pdsketch.budget import Budget, LimitError, current
from pdsketch.heuristics import find_heuristic
from pdsketch.lang import dataclass
from pdsketch.search.options import PlanOptions
from pdsketch.search.packed.tree import tree
from pdsketch.search.result import Outcome, SearchNode, SearchProgress, Status
from pdsketch.task import Task

PATIENCE = 2000
"""Evaluations without a lower h after which lazy greedy search starts again, its ties broken otherwise.

Which of several equally good operators the heuristic prefers can decide whether
the search meets a wide plateau. There are `ROUNDS` short rounds; the one after
them has the patience to be complete. Both are set by hand.
"""

ROUNDS = 4

_SLICE: Final = 0.05
"""Seconds between two looks of those who watch."""


@final
@dataclass(frozen=True, slots=True)
class PackedOutcome(Outcome):
    """How a search ended: also the operators of the plan if solved.

    ``unreached`` are the goal literals that even the relaxed task cannot reach
    from the initial state. ``states`` is the number of different states that the
    last round met.
    """

    plan: tuple[int, ...] | None = None
    cost: float | None = None
    bytes: int = 0
    unreached: tuple[int, ...] = ()
    states: int = 0


def settings_of(options: PlanOptions, *, per_effect: bool = False) -> core.TaskSearchSettings:
    """The options as the engine reads them."""
    weights = {
        "astar": (1.0, 1.0),
        "wastar": (1.0, float(options.weight)),
        "gbfs": (0.0, 1.0),
        "lazy-gbfs": (0.0, 1.0),
    }
    lazy = options.search == "lazy-gbfs"
    return core.TaskSearchSettings(
        find_heuristic(options.heuristic).name,
        *weights[options.search],
        lazy=lazy,
        per_effect=per_effect,
        most_expansions=options.max_expansions,
        rounds=ROUNDS if lazy else 0,
        patience=PATIENCE,
    )


def search(
    task: Task, options: PlanOptions, budget: Budget | None = None, *, per_effect: bool = False
) -> PackedOutcome:
    """Search a ``task`` for a plan, within a ``budget``: the current one unless another is given.

    With ``per_effect``, hFF counts each conditional effect as an operator of its own.

    ``options.watch`` is called after every slice; the limits of time and memory are the budget's alone.
    """
    budget = budget or current()
    costs = task.costs + 1.0 if options.heuristic_costs == "plus-one" else None
    settings = settings_of(options, per_effect=per_effect)
    try:
        run = core.Search(task, settings, costs, budget)
    except LimitError as limit:
        return PackedOutcome(limit.status)

    def nodes(first: int, last: int) -> list[SearchNode]:
        progress = run.progress()
        columns = run.nodes(first, min(last, progress.states))
        return tree(columns, first, task.operators, (settings.g_weight, settings.h_weight), progress.goal)

    started = time.monotonic()
    status: Status | None = None
    while status is None:
        try:
            status = _STATUS[run.run(_SLICE, budget)]
            budget.hold(run.progress().bytes)
        except LimitError as limit:
            status = limit.status
        if status is None and options.watch is not None:
            options.watch(_progress(run.progress(), time.monotonic() - started))
        if options.trace is not None:
            options.trace(nodes)
    return _outcome(task, status, run)


def search_many(
    posed: Sequence[core.Posed],
    options: PlanOptions,
    work: float,
    *,
    per_effect: bool = False,
    threads: int | None = None,
) -> list[core.Solved]:
    """Search the drafts that are ``posed`` eagerly, by the same ``options``.

    So many are searched at a time as there are ``threads``: the processor's unless given. With
    ``per_effect``, hFF counts each conditional effect as an operator of its own. No search looks at more
    conditions of unary operators than ``work``. What is found does not depend on the number of threads.
    """
    settings = settings_of(options, per_effect=per_effect)
    return core.search_many(posed, settings, work, threads or _processors(), current())


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_STATUS: Final[dict[int, Status | None]] = {
    core.PAUSED: None,
    core.SOLVED: "solved",
    core.EXHAUSTED: "unsolvable",
    core.ENOUGH: "gave-up",
}


def _progress(found: core.TaskSearchProgress, seconds: float) -> SearchProgress:
    return SearchProgress(
        seconds=seconds,
        expanded=found.expanded,
        evaluated=found.evaluated,
        generated=found.generated,
        best_h=found.best_h,
        bytes=found.bytes,
    )


def _outcome(task: Task, status: Status, run: core.Search) -> PackedOutcome:
    progress = run.progress()
    plan, unreached = run.result()
    outcome = PackedOutcome(
        status=status,
        expanded=progress.expanded,
        evaluated=progress.evaluated,
        generated=progress.generated,
        best_h=progress.best_h,
        bytes=progress.bytes,
        unreached=tuple(unreached),
        states=progress.states,
    )
    if status != "solved":
        return outcome
    return replace(outcome, plan=tuple(plan), cost=float(np.sum(task.costs[plan])))
