"""Planning for an ordinary problem: ground, search, replay, and say why where there is no plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from pdsketch.heuristics.registry import find_heuristic
from pdsketch.lang.diagnostics import Diagnostic, Error
from pdsketch.lang.domain import Problem
from pdsketch.lang.validator import validate
from pdsketch.search.packed.engine import (
    Options,
    Outcome,
    Progress,
    find_search,
)
from pdsketch.search.packed.engine import (
    search as run,
)
from pdsketch.search.packed.reasons import why_not
from pdsketch.search.result import Result, Status, Step
from pdsketch.task.clock import now
from pdsketch.task.ground import ground
from pdsketch.task.limits import Limits, OutOfTimeError
from pdsketch.task.task import Task

Watcher = Callable[[Progress], None]


def plan_problem(
    problem: Problem,
    options: Options | None = None,
    *,
    time_limit: float | None = None,
    watch: Watcher | None = None,
) -> Result:
    """Find a plan for a problem whose state is Boolean; see `pdsketch.plan`.

    ``time_limit`` counts from now, grounding included, the compilation of kernels
    not. ``watch`` is told now and then how the search is going.
    """
    started = time.monotonic()
    options = options or Options()
    find_search(options.search)
    find_heuristic(options.heuristic)
    if time_limit is not None:
        options = replace(options, deadline=now() + time_limit)
    try:
        task = ground(problem, Limits(deadline=None if time_limit is None else options.deadline))
    except OutOfTimeError:
        return _without_search(started, "out-of-time", "the time limit was reached while grounding")
    except Error as refused:
        if all(d.code != "grounding-too-large" for d in refused.diagnostics):
            raise
        return _without_search(started, "out-of-memory", *_in_lines(refused.diagnostics))
    grounded = time.monotonic()
    outcome = run(task, options, watch)
    searched = time.monotonic()
    plan, cost = _replayed(problem, task, outcome)
    ended = time.monotonic()
    return Result(
        status=outcome.status,
        plan=plan,
        cost=cost,
        expanded=outcome.expanded,
        evaluated=outcome.evaluated,
        generated=outcome.generated,
        seconds=ended - started,
        phases={"ground": grounded - started, "search": searched - grounded, "replay": ended - searched},
        reasons=why_not(problem, task, options, outcome),
        best_h=outcome.best_h if np.isfinite(outcome.best_h) else None,
    )


def _replayed(problem: Problem, task: Task, outcome: Outcome) -> tuple[list[Step] | None, float | None]:
    """The plan in the problem's words and its cost, as the reference semantics sees them."""
    if outcome.plan is None:
        return None, None
    steps: list[Step] = [task.operators[operator] for operator in outcome.plan]
    verdict = validate(problem, steps)
    if not verdict.valid:
        reason = verdict.reason.message if verdict.reason is not None else "no reason given"
        raise AssertionError(f"the search returned a plan that does not replay: {reason}")
    return steps, verdict.cost


def _in_lines(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    for diagnostic in diagnostics:
        file, line, column = diagnostic.place
        yield f"{file}:{line}:{column}: {diagnostic.message}"
        if diagnostic.help:
            yield diagnostic.help


def _without_search(started: float, status: Status, *reasons: str) -> Result:
    seconds = time.monotonic() - started
    return Result(status, seconds=seconds, phases={"ground": seconds, "search": 0.0}, reasons=reasons)
