"""Planning for an ordinary problem: ground, search, replay, and say why where there is no plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import final

import numpy as np

from pdsketch.budget import (
    DEFAULT_MEGABYTES,
    Budget,
    LimitError,
    OutOfMemoryError,
    current,
)
from pdsketch.heuristics.registry import find_heuristic
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
from pdsketch.search.packed.reasons import reached, why_not
from pdsketch.search.result import Result, Status, Step
from pdsketch.task.ground import ground
from pdsketch.task.task import Task

Watcher = Callable[[Progress], None]


def plan_problem(
    problem: Problem,
    options: Options | None = None,
    *,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    watch: Watcher | None = None,
) -> Result:
    """Find a plan for a problem whose state is Boolean; see `pdsketch.plan`.

    ``time_limit`` counts from now, grounding included, the compilation of kernels
    not; ``memory_limit`` is in megabytes from now on. ``watch`` is told now and then how the search is going.
    """
    options = options or Options()
    find_search(options.search)
    find_heuristic(options.heuristic)
    megabytes = DEFAULT_MEGABYTES if memory_limit is None else memory_limit
    with current().narrowed(time_limit, megabytes).running() as budget:
        return _Planning(problem, options, budget, watch).result()


@final
class _Planning:
    """One call: its phases with their seconds, and what is known when a limit ends one of them."""

    def __init__(self, problem: Problem, options: Options, budget: Budget, watch: Watcher | None) -> None:
        self.problem = problem
        self.options = options
        self.budget = budget
        self.watch = watch
        self.started = self.since = time.monotonic()
        self.phases = {"ground": 0.0, "search": 0.0}

    def result(self) -> Result:
        """Ground, search, replay."""
        try:
            task = ground(self.problem)
        except (LimitError, MemoryError) as limit:
            self._end("ground")
            return self._stopped(limit, "while grounding")
        self._end("ground")
        try:
            outcome = run(task, self.options, self.budget, self.watch)
        except MemoryError as limit:
            self._end("search")
            return self._stopped(limit, "while searching")
        self._end("search")
        with self.budget.grace().running():
            return self._found(task, outcome)

    def _found(self, task: Task, outcome: Outcome) -> Result:
        """What a search found, replayed, or why it found nothing."""
        plan: list[Step] | None = None
        cost: float | None = None
        if outcome.plan is not None:
            plan = [task.operators[operator] for operator in outcome.plan]
            try:
                cost = _replayed(self.problem, plan)
            except (LimitError, MemoryError) as limit:
                self._end("replay")
                return replace(
                    self._stopped(limit, f"while a plan of {_steps(plan)} was replayed"), best=plan
                )
        self._end("replay")
        return Result(
            status=outcome.status,
            plan=plan,
            cost=cost,
            expanded=outcome.expanded,
            evaluated=outcome.evaluated,
            generated=outcome.generated,
            reasons=why_not(self.problem, task, self.options, outcome, self.budget),
            best_h=outcome.best_h if np.isfinite(outcome.best_h) else None,
            seconds=time.monotonic() - self.started,
            phases=self.phases,
        )

    def _end(self, phase: str) -> None:
        self.phases[phase] = time.monotonic() - self.since
        self.since = time.monotonic()

    def _stopped(self, limit: LimitError | MemoryError, when: str) -> Result:
        status: Status = limit.status if isinstance(limit, LimitError) else OutOfMemoryError.status
        said = limit.args if isinstance(limit, LimitError) else ()
        reasons = said or (f"{reached(status, self.budget)} {when}",)
        seconds = time.monotonic() - self.started
        return Result(status, seconds=seconds, phases=self.phases, reasons=reasons)


def _steps(plan: Sequence[Step]) -> str:
    return "1 step" if len(plan) == 1 else f"{len(plan)} steps"


def _replayed(problem: Problem, plan: Sequence[Step]) -> float:
    """The cost of a plan as the reference semantics sees it."""
    verdict = validate(problem, plan)
    if not verdict.valid:
        reason = verdict.reason.message if verdict.reason is not None else "no reason given"
        raise AssertionError(f"the search returned a plan that does not replay: {reason}")
    return verdict.cost
