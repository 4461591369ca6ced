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
from functools import partial
from math import ceil
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
from pdsketch.kernels import Ints
from pdsketch.lang import Expr, Step
from pdsketch.search.latent.instances import checked_cost, costs_of
from pdsketch.search.latent.margin import Margin, hold_at_first
from pdsketch.search.latent.replay import Trail
from pdsketch.search.options import PlanOptions, Search
from pdsketch.search.packed.advance import SOLVED
from pdsketch.search.packed.engine import PackedOutcome, kernel_settings, search
from pdsketch.search.packed.whole import Whole, search_whole
from pdsketch.search.result import Trace, continued
from pdsketch.task import Narrowing, Task, successor, without_mutexes
from pdsketch.tensor import Model, State, StateBatch

MOST_REFINEMENTS: Final = 8
"""How often rules are corrected, or the search goes on from where the two differ. Set by hand."""

FIRST: Final = 500
"""Expansions of A* before weighted A* and greedy search are tried; most plans take fewer. Set by hand."""

FIRST_SHARE: Final = 0.2
"""The part of a limit of expansions that A* may take at most; of the rest, weighted A* may take half.

Measured on goals over all doors of a room: A* takes up to 1,841 expansions, weighted A* up to 311, and lazy
greedy search up to 150.
"""

THEN: Final = 20_000
"""Expansions of weighted A*."""

FIRST_WORK: Final = 20_000_000
THEN_WORK: Final = 100_000_000
"""The same in conditions that are looked at, 0.1 and 0.5 seconds: in large tasks, A* has fewer expansions."""

_CHILDREN: Final = 2.5
"""States that are evaluated for each that is expanded; measured on rooms."""

WEIGHT: Final = 2.0


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
        self.attempt = AbstractAttempt()

    def find(self) -> list[Step] | None:
        """A plan of which the abstraction says that it reaches the goal; None: it knows of none."""
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
            attempt.why = f"the abstraction has no plan ({outcome.status})"
            abstraction = self._abstract()
            attempt.explain = partial(abstraction.explain, abstraction.task.init)
            return None
        attempt.plan = [*self._done, *map(self._abstract().step_of, outcome.plan)]
        return attempt.plan

    def _abstract(self) -> Abstraction:
        """The task that is searched."""
        if self._abstraction is None:
            found = self._compilations.abstraction(self._place, read=False)
            if self._costs:
                found = found.priced(costs_of(self._model, self._here, 0, found.steps))
            self._abstraction = found
        return self._abstraction

    def _searched(self) -> PackedOutcome:
        left = None if self._most is None else max(0, self._most - self.attempt.expanded)
        found, groups = self._abstract(), self._compilations.groups
        outcome = _searched(found, groups, left, self._budget, self._traced(found))
        self._operators = outcome.plan or ()
        return outcome

    def posed(self) -> tuple[Narrowing, Mapping[str, Any]] | None:
        """What a kernel searches at once, and what arguments stand for; None: it does not know such tasks."""
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

    @property
    def first(self) -> int:
        """How many expansions a first search by A* may take."""
        left = None if self._most is None else self._most - self.attempt.expanded
        return FIRST if left is None else min(FIRST, ceil(FIRST_SHARE * left))

    def take(self, whole: Whole, narrowing: Narrowing, values: Mapping[str, Any]) -> list[Step] | None:
        """The plan of a kernel, if it found one."""
        if whole.answer != SOLVED:
            return None
        attempt, names = self.attempt, [*self._here.universe(0).types]
        attempt.expanded += whole.expanded
        attempt.evaluated += whole.evaluated
        attempt.generated += whole.generated
        steps = [step_named(narrowing.operators[op], names, values) for op in whole.plan]
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
        self._place, self._abstraction, self._operators = 0, None, ()
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
        believed = abstraction.task.init[: abstraction.task.n_basic]
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
            believed = successor(abstraction.task, believed, operator)
            facts = reader.facts(self._here, first).cpu().numpy()[0]
            if not np.array_equal(believed, facts[: len(believed)]):
                return before, step
        return self._here, None


def find_at_once(searches: Sequence[AbstractSearch]) -> list[list[Step] | None]:
    """The plans of A*, where it takes few expansions; None: a longer search may find one.

    Problems that share a goal and the types of their objects are one call of a kernel.
    """
    found: list[list[Step] | None] = [None] * len(searches)
    groups: dict[tuple[int, int], list[tuple[int, Narrowing, Mapping[str, Any]]]] = {}
    for place, own in enumerate(searches):
        now = monotonic()
        posed = own.posed()
        own.attempt.spend("rules", now)
        if posed is not None:
            groups.setdefault((id(posed[0].rows), own.first), []).append((place, *posed))
    for (_, limit), group in groups.items():
        now = monotonic()
        settings = kernel_settings(_options("astar", limit))
        inits, per_effect = (
            np.stack([narrowing.init for _, narrowing, _ in group]),
            searches[group[0][0]].per_effect,
        )
        wholes = search_whole(group[0][1].rows, inits, settings, FIRST_WORK / _CHILDREN, per_effect)
        share = (monotonic() - now) / len(group)
        for (place, narrowing, values), whole in zip(group, wholes, strict=True):
            found[place] = searches[place].take(whole, narrowing, values)
            searches[place].attempt.phases["search"] += share
    return found


def _searched(
    abstraction: Abstraction,
    groups: Callable[[Task], Ints],
    most: int | None,
    budget: Budget,
    trace: Trace | None,
) -> PackedOutcome:
    """A*, and if that takes too long weighted A*, then lazy greedy search; all of them with hFF.

    What is slow to find may be so because hFF counts on what can never be: that is left out then.
    """
    spent = PackedOutcome("gave-up")
    task = abstraction.task
    size = _CHILDREN * (1 + len(task.conditions.items) + 3 * len(task.axiom_bodies.items))  # as `work_for`
    ways: tuple[tuple[Search, int | None, float], ...] = (
        ("astar", min(FIRST, ceil(FIRST_WORK / size)), FIRST_SHARE),
        ("wastar", min(THEN, ceil(THEN_WORK / size)), 0.5),
        ("lazy-gbfs", None, 1.0),
    )
    for name, own, share in ways:
        left = None if most is None else ceil(share * (most - spent.expanded))
        limit = own if left is None else left if own is None else min(own, left)
        options = replace(_options(name, limit), trace=trace)
        found = search(task, options, budget, per_effect=abstraction.per_effect)
        spent = replace(
            found,
            expanded=spent.expanded + found.expanded,
            evaluated=spent.evaluated + found.evaluated,
            generated=spent.generated + found.generated,
        )
        out = most is not None and spent.expanded >= most
        if found.plan is not None or found.status != "gave-up" or out:
            break
        if name == "astar":
            task = without_mutexes(task, groups(task), budget)
    return spent


def _options(name: Search, limit: int | None) -> PlanOptions:
    return PlanOptions(search=name, heuristic="ff", weight=WEIGHT, max_expansions=limit)


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
) -> dict[int, Accepted]:
    """Plans of the abstraction that the model accepts; goals that hold already are taken out of ``searches``.

    Whether they hold is asked together with whether plans reach them, where plans are found at once. Plans
    are replayed through ``model`` by ``look``, all of a round together; ``budget`` is what that may take.
    What counts as true is said by ``margin``; with ``costs``, steps cost what the model says, else 1; plans
    of more than ``max_depth`` steps are none.
    """
    found: dict[int, Accepted] = {}
    at_once = find_at_once([*searches.values()])
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
