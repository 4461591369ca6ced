"""Planning for an ordinary problem: ground, search, replay, and say why where there is no plan."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from typing import Final, final

from pdsketch.budget import Budget, LimitError, OutOfMemoryError, current
from pdsketch.core import Narrowed, Task
from pdsketch.heuristics import find_heuristic
from pdsketch.lang import Problem, Step, show_atom, validate
from pdsketch.search.options import PlanOptions
from pdsketch.search.packed.engine import PackedOutcome, search
from pdsketch.search.result import Result, Status
from pdsketch.task import UNREACHABLE, Grounding


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
        self.phases = {"ground": 0.0, "search": 0.0}

    def result(self) -> Result:
        """Ground, search, replay."""
        try:
            grounding = Grounding(self.problem)
            task = self._searched(grounding)
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
            return self._found(grounding, outcome)

    def _searched(self, grounding: Grounding) -> Task | Narrowed:
        """The task; with its names where they are asked for, or where the goal is out of reach."""
        named = self.options.trace is not None or not grounding.solvable
        return grounding.task() if named else grounding.small

    def _found(self, grounding: Grounding, outcome: PackedOutcome) -> Result:
        """What a search found, replayed, or why it found nothing."""
        plan: list[Step] | None = None
        cost: float | None = None
        if outcome.plan is not None:
            try:
                chosen = grounding.small.chosen
                plan = grounding.operators([chosen[operator] for operator in outcome.plan])
                cost = _replayed(self.problem, plan)
            except (LimitError, MemoryError) as limit:
                self._end("replay")
                return replace(
                    self._stopped(limit, f"while a plan of {_steps(outcome.plan)} was replayed"), best=plan
                )
        self._end("replay")
        return Result(
            status=outcome.status,
            plan=plan,
            cost=cost,
            expanded=outcome.expanded,
            evaluated=outcome.evaluated,
            generated=outcome.generated,
            reasons=_why_not(grounding, self.options, outcome, self.budget),
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
        reasons = said or (f"{_reached(status, self.budget)} {when}",)
        seconds = time.monotonic() - self.started
        return Result(status, seconds=seconds, phases=self.phases, reasons=reasons)


def _steps(plan: Sequence[object]) -> str:
    return "1 step" if len(plan) == 1 else f"{len(plan)} steps"


def _replayed(problem: Problem, plan: Sequence[Step]) -> float:
    """The cost of a plan as the reference semantics sees it."""
    verdict = validate(problem, plan)
    if not verdict.valid:
        reason = verdict.reason.message if verdict.reason is not None else "no reason given"
        raise AssertionError(f"the search returned a plan that does not replay: {reason}")
    return verdict.cost


# Why a search found no plan, in words: a proof, or the limit that was hit and what to try next.

EXPLANATION_SECONDS: Final = 10.0
"""Seconds that looking for reasons may take beside the search; set by hand."""


def _reached(status: Status, budget: Budget) -> str:
    """Which limit ended a call."""
    if status == "out-of-time":
        return "the time limit was reached"
    return f"the memory limit of {budget.memory / 1e6:g} MB was reached"


def _why_not(
    grounding: Grounding, options: PlanOptions, outcome: PackedOutcome, budget: Budget
) -> tuple[str, ...]:
    """The reasons, one a line; none if the problem is solved.

    What ``grounding`` found was searched with ``options``, and ``outcome`` says how that ended. ``budget`` is
    that of the search.
    """
    if outcome.status == "solved":
        return ()
    if outcome.status == "unsolvable":
        return _proof(grounding, options, outcome)
    limit = f"the limit of {options.max_expansions} expansions was reached"
    if outcome.status != "gave-up":
        limit = _reached(outcome.status, budget)
    return (limit, _seen(options, outcome), _advice(options, outcome))


def _proof(grounding: Grounding, options: PlanOptions, outcome: PackedOutcome) -> tuple[str, ...]:
    if not isfinite(outcome.best_h):
        return (
            "the goal cannot be reached, even if nothing ever stopped holding",
            *_in_the_way(grounding, outcome),
        )
    dead = ", dead ends by the heuristic included" if find_heuristic(options.heuristic).relaxed else ""
    states = "1 state was" if outcome.states == 1 else f"{outcome.states} states were"
    return (f"the goal cannot be reached: {states} searched{dead}, and there are no others to reach",)


def _in_the_way(grounding: Grounding, outcome: PackedOutcome) -> tuple[str, ...]:
    """What keeps the goal out of reach, in the author's words; else the facts that stay out of reach."""
    from pdsketch.task import explain  # needed for few problems

    if not grounding.solvable:
        words: tuple[str, ...] = ()
        with suppress(LimitError, MemoryError), current().narrowed(EXPLANATION_SECONDS).running():
            words = explain(grounding)
        return words or (f"{show_atom(UNREACHABLE)} is out of reach",)
    kept = grounding.small.kept
    facts = grounding.name([kept[literal >> 1] for literal in outcome.unreached])
    return tuple(
        f"{'not ' * (literal & 1)}{show_atom(fact)} is out of reach"
        for literal, fact in zip(outcome.unreached, facts, strict=True)
    )


def _seen(options: PlanOptions, outcome: PackedOutcome) -> str:
    best = f"; the lowest h ({options.heuristic}) was {outcome.best_h:g}" if isfinite(outcome.best_h) else ""
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
