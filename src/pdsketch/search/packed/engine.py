"""Runs a search of the engine under its limits, and says how it ended."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, final

from pdsketch import core
from pdsketch.budget import Budget, LimitError, current
from pdsketch.core import Narrowed, Task
from pdsketch.heuristics import find_heuristic
from pdsketch.lang import Step, dataclass
from pdsketch.search.options import PlanOptions
from pdsketch.search.result import Fate, Outcome, SearchNode, SearchProgress, Status

PATIENCE: Final = 2000
"""Evaluations without a lower h after which lazy greedy search starts again, its ties broken otherwise.

Which of several equally good operators the heuristic prefers can decide whether
the search meets a wide plateau. There are `ROUNDS` short rounds; the one after
them has the patience to be complete. Both are set by hand.
"""

ROUNDS: Final = 4

Schedule = Sequence[core.Phase]
"""Searches of one task, one after the other, until one has an answer."""

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


def schedule_of(options: PlanOptions) -> Schedule:
    """The search of the options as the engine reads it."""
    estimate = find_heuristic(options.heuristic).name
    if options.search == "lazy-gbfs":
        return lazily(core.Phase(estimate, 0.0, 1.0, lazy=True))
    weights = {"astar": (1.0, 1.0), "wastar": (1.0, float(options.weight)), "gbfs": (0.0, 1.0)}
    return (core.Phase(estimate, *weights[options.search]),)


def lazily(whole: core.Phase) -> Schedule:
    """Short rounds of a lazy search, each with its ties broken otherwise, then the whole of it."""
    return (*(whole._replace(patience=PATIENCE, order=order) for order in range(ROUNDS)), whole)


def search(
    task: Task | Narrowed,
    options: PlanOptions,
    budget: Budget | None = None,
    *,
    schedule: Schedule | None = None,
    per_effect: bool = False,
) -> PackedOutcome:
    """Search a ``task`` for a plan, within a ``budget``: the current one unless another is given.

    A ``schedule`` stands in for the search and the heuristic of the ``options``. With ``per_effect``, hFF
    counts each conditional effect as an operator of its own. A trace needs a task with names.

    ``options.watch`` is called after every slice; the limits of time and memory are the budget's alone.
    """
    budget = budget or current()
    schedule = schedule_of(options) if schedule is None else schedule
    prices = [cost + 1.0 for cost in task.costs] if options.heuristic_costs == "plus-one" else None
    costs = None if prices is None else array("d", prices)
    most = options.max_expansions
    try:
        run = core.Search(task, schedule, budget, most_expansions=most, costs=costs, per_effect=per_effect)
    except LimitError as limit:
        return PackedOutcome(limit.status)

    def nodes(first: int, last: int) -> list[SearchNode]:
        progress = run.progress()
        assert isinstance(task, Task)
        columns = run.nodes(first, min(last, progress.states))
        phase = schedule[progress.phase]
        return tree(columns, first, task.operators, (phase.g_weight, phase.h_weight), progress.goal)

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
    posed: Sequence[core.Posed], schedule: Schedule, *, per_effect: bool = False, threads: int | None = None
) -> list[PackedOutcome]:
    """Search the drafts that are ``posed``, all by the same ``schedule``, within the current budget.

    So many are searched at a time as there are ``threads``: the processor's unless given. What is found
    does not depend on that. ``per_effect`` is that of `search`. Plans are of operators of the drafts.
    """
    threads = threads or _processors()
    found = core.search_many(posed, schedule, current(), threads=threads, per_effect=per_effect)
    return [
        PackedOutcome(
            _STATUS[one.found] or "gave-up" if one.limit is None else one.limit.status,
            expanded=one.expanded,
            evaluated=one.evaluated,
            generated=one.generated,
            plan=tuple(one.plan) if one.found == core.SOLVED else None,
        )
        for one in found
    ]


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


def _outcome(task: Task | Narrowed, status: Status, run: core.Search) -> PackedOutcome:
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
    costs = task.costs
    return replace(outcome, plan=tuple(plan), cost=float(sum(costs[step] for step in plan)))


_FATES: Final[tuple[Fate, ...]] = ("open", "expanded", "dead-end")
"""By the engine's number."""


def tree(
    columns: core.SearchColumns,
    first: int,
    operators: Sequence[Step],
    weights: tuple[float, float],
    goal: int,
) -> list[SearchNode]:
    """Nodes from ``first`` on, of which ``columns`` are the engine's; ``operators`` are named by number.

    ``weights`` are those of g and h in f, ``goal`` is -1 or the one found.
    """
    found = []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (parent, operator, g, h, status) in enumerate(rows, first):
        step = operators[operator] if parent >= 0 else None
        fate: Fate = "goal" if number == goal else _FATES[status]
        found.append(SearchNode(parent, step, g, h, weights[0] * g + weights[1] * h, fate))
    return found
