"""Plans found in a model's abstraction, and checked in the model.

The AO task is a transition model of its own, which the classical engines search. What they find is played
through the model. Where the model does something else than the abstraction says, the rules that are wrong
there are corrected, which is remembered with the model, and the search begins again; where no single rule is
to blame, it goes on from the state that the model is in by then. Nothing is returned that the model does not
accept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Final, NamedTuple, final

import numpy as np
import torch

from pdsketch.abstract import (
    Abstraction,
    Compilations,
    FactReader,
    NoAbstractionError,
    Values,
    abstraction_of,
    compile_and_or,
    step_named,
)
from pdsketch.budget import Budget
from pdsketch.core import Phase, Posed, States
from pdsketch.lang import Expr, Step
from pdsketch.search.latent.instances import checked_cost, costs_of
from pdsketch.search.latent.margin import Margin, hold_at_first
from pdsketch.search.latent.replay import Trail
from pdsketch.search.options import PlanOptions
from pdsketch.search.packed.engine import PackedOutcome, lazily, search, search_many
from pdsketch.search.result import Result, Trace, continued
from pdsketch.task import Narrowing
from pdsketch.tensor import Model, State, StateBatch

MOST_REFINEMENTS: Final = 8
"""How often rules are corrected, or the search goes on from where the two differ. Set by hand."""

WEIGHT: Final = 2.0

SCHEDULE: Final = (
    Phase("ff", 1.0, 1.0, most_expansions=500, share=0.2, work=20_000_000),
    Phase("ff", 1.0, WEIGHT, most_expansions=20_000, share=0.5, work=100_000_000, consistent=True),
    *lazily(Phase("ff", 0.0, 1.0, lazy=True, consistent=True)),
)
"""A*, weighted A*, then lazy greedy search.

What is slow to find may be so because hFF counts on what can never be: that is left out from weighted A* on.
Most plans take fewer expansions than A* has. On goals over all doors of a room, A* takes up to 1,841
expansions, weighted A* up to 311, and lazy greedy search up to 150. The work is that of 0.1 and 0.5 seconds:
in large tasks, there are fewer expansions. All numbers are set by hand.
"""


AbstractProblem = tuple[State, Expr, Values]
"""A state, a goal, and the values that arguments of actions may have."""


@final
@dataclass(slots=True)
class AbstractAttempt:
    """What came of one problem: a plan that the model accepts, or None; and what it took.

    ``explain`` says what the abstraction cannot reach.
    """

    plan: list[Step] | None = None
    expanded: int = 0
    evaluated: int = 0
    generated: int = 0
    refinements: int = 0
    phases: dict[str, float] = field(default_factory=lambda: {"rules": 0.0, "search": 0.0, "replay": 0.0})
    explain: Callable[[], Sequence[str]] = tuple
    why: str = "plans of the abstraction are longer than `max_depth`"

    def spend(self, phase: str, since: float) -> float:
        """Add the time since then to a phase; returns the time now."""
        now = monotonic()
        self.phases[phase] += now - since
        return now

    def count(self, outcome: PackedOutcome) -> None:
        """Add what a search took."""
        self.expanded += outcome.expanded
        self.evaluated += outcome.evaluated
        self.generated += outcome.generated


@final
class AbstractSearch:
    """The search for one problem's plan, which goes on where the model refuses what was found.

    ``problem`` is a state, a goal and the values of arguments, to be solved in ``model``. ``compilations``
    makes the task of the problem as it is given, which is number ``place`` of it. With ``costs``, actions
    cost what they say; ``most`` bounds the expansions, and ``budget`` time and memory.
    """

    def __init__(
        self,
        model: Model,
        problem: AbstractProblem,
        compilations: Compilations,
        place: int,
        *,
        costs: bool,
        most: int | None,
        budget: Budget,
    ) -> None:
        self._model = model
        self.state, self.goal, self._values = problem
        self._compilations = compilations
        self._place = place
        self._costs = costs
        self._most = most
        self._budget = budget
        self.trace: Trace | None = None
        self._start = self._here = self.state.batch
        self._done: list[Step] = []
        self._seen: set[bytes] = set()
        self._abstraction: Abstraction | None = None
        self._operators: tuple[int, ...] = ()
        self._is_over = False
        self.attempt = AbstractAttempt()

    def find(self) -> list[Step] | None:
        """A plan of which the abstraction says that it reaches the goal; None: it knows of none."""
        if self._is_over:
            return None
        attempt, now = self.attempt, monotonic()
        try:
            self._abstract()
        except NoAbstractionError as why:
            attempt.why = f"the goal has no form over codes: {why}"
            return None
        now = attempt.spend("rules", now)
        outcome = self._searched()
        attempt.count(outcome)
        attempt.spend("search", now)
        if outcome.plan is None:
            self._has_none(outcome.status)
            return None
        attempt.plan = [*self._done, *map(self._abstract().step_of, outcome.plan)]
        return attempt.plan

    def _has_none(self, status: str) -> None:
        """Remember that the abstraction has no plan, and why."""
        self._is_over = True
        self.attempt.why = f"the abstraction has no plan ({status})"
        self.attempt.explain = self._explained

    def _explained(self) -> Sequence[str]:
        abstraction = self._abstract()
        return abstraction.explain(abstraction.task.init)

    def _abstract(self) -> Abstraction:
        """The task that is searched."""
        if self._abstraction is None:
            found = self._compilations.abstraction(self._place, read=False)
            if self._costs:
                found = found.priced(costs_of(self._model, self._here, 0, found.steps))
            self._abstraction = found
        return self._abstraction

    def _searched(self) -> PackedOutcome:
        found, groups = self._abstract(), self._compilations.groups
        outcome = search(
            found.task,
            PlanOptions(max_expansions=self._left(), trace=self._traced(found)),
            self._budget,
            schedule=SCHEDULE,
            per_effect=found.per_effect,
            groups=groups(found.task),
        )
        self._operators = outcome.plan or ()
        return outcome

    def _left(self) -> int | None:
        """How many expansions are left."""
        return None if self._most is None else max(0, self._most - self.attempt.expanded)

    def posed(self) -> tuple[Narrowing, Mapping[str, Any]] | None:
        """What is searched together with others, and what arguments stand for; None: it is searched alone."""
        if self._costs or self.trace is not None:
            return None
        try:
            return self._compilations.narrowing(self._place)
        except NoAbstractionError:
            return None  # which a longer search meets, too

    @property
    def per_effect(self) -> bool:
        """Whether hFF counts each conditional effect as an operator of its own."""
        return self._compilations.per_effect

    def posed_for(self, narrowing: Narrowing) -> Posed:
        """The same, with what it may take, for the engine."""
        return Posed(narrowing.draft, narrowing.goal, narrowing.init, narrowing.groups, self._left())

    def take(
        self, found: PackedOutcome, narrowing: Narrowing, values: Mapping[str, Any]
    ) -> list[Step] | None:
        """The plan that was found together with others, if there is one."""
        attempt, names = self.attempt, [*self._here.universe(0).types]
        attempt.count(found)
        if found.status != "solved":
            self._has_none(found.status)
            return None
        steps = [step_named(narrowing.operators[op], names, values) for op in found.plan or ()]
        attempt.plan = [*self._done, *steps]
        return attempt.plan

    def _traced(self, abstraction: Abstraction) -> Trace | None:
        if self.trace is None:
            return None
        steps = dict(zip(abstraction.task.operators, abstraction.steps, strict=True))
        return continued(self.trace, self._done, steps)

    def refine(self) -> list[Step] | None:
        """Another plan, where the model refused the last: by corrected rules, or from where the two part."""
        attempt, now = self.attempt, monotonic()
        attempt.plan = None
        if attempt.refinements == MOST_REFINEMENTS:
            attempt.why = f"the model and its abstraction still disagree after {MOST_REFINEMENTS} refinements"
            return None
        attempt.refinements += 1
        if not self._operators:
            self._searched()
        corrected = self._correct(self._follow())
        attempt.spend("replay", now)
        if corrected:
            self._here, self._done = self._start, []
            return self._find_from_here()
        state = b"".join(t.cpu().numpy().tobytes() for t in self._here.tensors.values())
        if state in self._seen:
            attempt.why = "the model and its abstraction disagree again and again about one action"
            return None
        self._seen.add(state)
        return self._find_from_here()

    def _find_from_here(self) -> list[Step] | None:
        types = self._here.universe(0).types
        self._compilations = Compilations(self._model, [types], [self.goal], [self._here], [self._values])
        self._place, self._abstraction, self._operators, self._is_over = 0, None, (), False
        (plan,) = find_at_once([self])
        return self.find() if plan is None else plan

    def _correct(self, parted: tuple[StateBatch, Step | None]) -> bool:
        """Correct the rules that are wrong in a state, and for a step taken there; whether any are."""
        state, step = parted
        if step is None:
            return abstraction_of(self._model).correct(state, None, {})
        parameters = self._model.domain.actions[step[0]].parameters
        arguments = {p.name: value for p, value in zip(parameters, step[1:], strict=True)}
        return abstraction_of(self._model).correct(state, step[0], arguments)

    def _follow(self) -> tuple[StateBatch, Step | None]:
        """Take the steps of the last plan in the model, up to the first that leads elsewhere.

        Returns the state before that step, and the step; the last state, where all lead to where they should.
        """
        model = self._model
        assert self._abstraction is not None
        types = self._here.universe(0).types
        readings = compile_and_or(model, types, self.goal, self._here).codes
        abstraction = replace(self._abstraction, codes=readings)
        states = States(abstraction.task)
        believed, n_basic = states.derived(abstraction.task.init), abstraction.task.n_basic
        reader = FactReader(model, [abstraction], [self._here.universe(0)])
        first = torch.zeros(1, dtype=torch.int64, device=self._here.device)
        for operator in self._operators:
            step = abstraction.step_of(operator)
            ((action, _, run),) = model.grouped(self._here, step)
            before = self._here
            if not bool(model.engine.precondition(run, action.name).all()):
                return before, step
            self._here = model.engine.successors(run, action.name)
            self._done.append(step)
            believed = states.successor(believed, operator)
            facts = reader.facts(self._here, first).cpu().numpy()[0]
            if not np.array_equal(believed[:n_basic], facts[:n_basic]):
                return before, step
        return self._here, None


def find_at_once(searches: Sequence[AbstractSearch], threads: int | None = None) -> list[list[Step] | None]:
    """The plans of the abstractions; None: there is none, or the search is not one of many.

    So many problems are searched at a time as there are ``threads``.
    """
    found: list[list[Step] | None] = [None] * len(searches)
    narrowings: list[tuple[int, Narrowing, Mapping[str, Any]]] = []
    for place, own in enumerate(searches):
        now = monotonic()
        posed = own.posed()
        own.attempt.spend("rules", now)
        if posed is not None:
            narrowings.append((place, *posed))
    if not narrowings:
        return found
    now = monotonic()
    solved = search_many(
        [searches[place].posed_for(own) for place, own, _ in narrowings],
        SCHEDULE,
        per_effect=searches[narrowings[0][0]].per_effect,
        threads=threads,
    )
    share = (monotonic() - now) / len(narrowings)
    for (place, narrowing, values), one in zip(narrowings, solved, strict=True):
        found[place] = searches[place].take(one, narrowing, values)
        searches[place].attempt.phases["search"] += share
    return found


# Plans for many problems from a model's abstraction, which the model is asked to accept together.

Look = Callable[
    [Mapping[int, list[Step]], Trail], tuple[Mapping[int, str | None], Mapping[int, tuple[str, ...]]]
]
"""Replays plans: why each fails, None where it does not, and what is to be said of it."""


class Accepted(NamedTuple):
    """A plan that the model accepts, what it costs, and what is to be said of it."""

    plan: list[Step]
    cost: float
    said: tuple[str, ...]


def accepted_plans(
    searches: dict[int, AbstractSearch],
    model: Model,
    look: Look,
    budget: Budget,
    *,
    margin: Margin,
    costs: bool,
    max_depth: int | None,
    threads: int | None,
) -> dict[int, Accepted]:
    """Plans of the abstraction that the model accepts; goals that hold already are taken out of ``searches``.

    Whether they hold is asked together with whether plans reach them, where plans are found at once. Plans
    are replayed through ``model`` by ``look``, all of a round together; ``budget`` is what that may take.
    What counts as true is said by ``margin``; with ``costs``, steps cost what the model says, else 1; plans
    of more than ``max_depth`` steps are none. So many problems are searched at a time as there are
    ``threads``.
    """
    found: dict[int, Accepted] = {}
    at_once = find_at_once([*searches.values()], threads)
    plans = {i: plan for i, plan in zip(searches, at_once, strict=True) if plan is not None}
    slow = [i for i in searches if i not in plans]
    states, goals = [searches[i].state for i in slow], [searches[i].goal for i in slow]
    held = hold_at_first(model, states, goals, margin) if slow else ()
    for i, holds in zip(slow, held, strict=True):
        if holds:
            del searches[i]
        elif (plan := searches[i].find()) is not None:
            plans[i] = plan
    while plans:
        now = monotonic()
        trail = Trail()
        with budget.running():
            failed, said = look(plans, trail)
            paid = paid_for(model, trail) if costs else {}
        share = (monotonic() - now) / len(plans)
        again = {}
        for number, (i, plan) in enumerate(plans.items()):
            searches[i].attempt.phases["replay"] += share
            if number in trail.held_at_first:
                del searches[i]
                continue
            if max_depth is not None and len(plan) > max_depth:
                continue
            if failed.get(i, "a limit was reached") is None:
                found[i] = Accepted(
                    plan, paid.get(number, 0.0) if costs else float(len(plan)), said.get(i, ())
                )
            elif (other := searches[i].refine()) is not None:
                again[i] = other
        plans = again
    return found


def result_of(found: Result, attempt: AbstractAttempt, accepted: Accepted) -> Result:
    """The result of a problem whose plan the model accepts; ``found`` is what is said of any result."""
    return replace(
        found,
        plan=accepted.plan,
        cost=accepted.cost,
        expanded=attempt.expanded,
        evaluated=attempt.evaluated,
        generated=attempt.generated,
        refinements=attempt.refinements,
        phases=attempt.phases,
        warnings=(*found.warnings, *accepted.said),
    )


def abstract_searches(
    model: Model,
    problems: Mapping[int, AbstractProblem],
    *,
    costs: bool,
    most: int | None,
    budget: Budget,
    trace: Trace | None = None,
) -> dict[int, AbstractSearch]:
    """The searches of many problems, whose states are read together.

    ``problems`` are states, goals and values of arguments by number; ``model`` keeps what they share. With
    ``costs``, actions cost what they say. Each search takes at most ``most`` expansions, all of them what
    ``budget`` allows; ``trace`` gets their nodes.
    """
    started = monotonic()
    states, goals, values = zip(*problems.values(), strict=True)
    batches = [state.batch for state in states]
    objects = [batch.universe(0).types for batch in batches]
    compilations = Compilations(model, objects, goals, batches, values)
    share = (monotonic() - started) / len(problems)
    found = {}
    for place, (i, problem) in enumerate(problems.items()):
        own = AbstractSearch(model, problem, compilations, place, costs=costs, most=most, budget=budget)
        own.trace = trace
        own.attempt.phases["rules"] += share
        found[i] = own
    return found


def paid_for(model: Model, trail: Trail) -> dict[int, float]:
    """What each of the replayed plans costs, by its place, as the model's actions say."""
    found: dict[int, float] = {}
    for batch, steps, places in trail.moves:
        for action, index, run in model.grouped(batch, steps):
            own = places if index is None else [places[i] for i in index.tolist()]
            cost = model.engine.cost(run, action.name)
            amounts = [0.0] * len(own) if cost is None else checked_cost(action, cost[:, 0]).tolist()
            for place, amount in zip(own, amounts, strict=True):
                found[place] = found.get(place, 0.0) + amount
    return found
