"""Planning for an ordinary problem: ground, search, replay, and say why where there is no plan."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import final

from pdsketch.budget import Budget, LimitError, OutOfMemoryError
from pdsketch.core import Task
from pdsketch.lang import Problem, Step, validate
from pdsketch.search.options import PlanOptions
from pdsketch.search.packed.engine import PackedOutcome, search
from pdsketch.search.packed.reasons import reached, why_not
from pdsketch.search.result import Result, Status
from pdsketch.task import Grounding


def plan_problem(problem: Problem, options: PlanOptions) -> Result:
    """Find a plan for a problem whose state is Boolean; see `pdsketch.plan`.

    The time limit counts from now, grounding included, imports not.
    """
    with options.budget().running() as budget:
        return _Planning(problem, options, budget).result()


@final
class _Planning:
    """One call: its phases with their seconds, and what is known when a limit ends one of them."""

    def __init__(self, problem: Problem, options: PlanOptions, budget: Budget) -> None:
        self.problem = problem
        self.options = options
        self.budget = budget
        self.started = self.since = time.monotonic()
        self.unreachable: Grounding | None = None
        self.phases = {"ground": 0.0, "search": 0.0}

    def result(self) -> Result:
        """Ground, search, replay."""
        try:
            task = self._ground()
        except (LimitError, MemoryError) as limit:
            self._end("ground")
            return self._stopped(limit, "while grounding")
        self._end("ground")
        try:
            outcome = search(task, self.options, self.budget)
        except MemoryError as limit:
            self._end("search")
            return self._stopped(limit, "while searching")
        self._end("search")
        with self.budget.grace().running():
            return self._found(task, outcome)

    def _ground(self) -> Task:
        """The task; how it was grounded is kept where only that says why there is no plan."""
        grounding = Grounding(self.problem)
        self.unreachable = None if grounding.solvable else grounding
        return grounding.task()

    def _found(self, task: Task, outcome: PackedOutcome) -> Result:
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
            reasons=why_not(self.unreachable, task, self.options, outcome, self.budget),
            best_h=outcome.lowest_h,
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
