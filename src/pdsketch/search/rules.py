"""The stage of a strategy that plans by a model's rules over codes, and checks the plans in the model.

The AO task is a transition model of its own, which the engine searches. What it finds is played through the
model. Where the model does something else than a rule says, the rule is corrected, which is remembered with
the model, and the task is searched again. Nothing is returned that the model does not accept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, Final, NamedTuple, final

import numpy as np
import torch

from pdsketch.abstract import (
    Abstraction,
    Compilations,
    FactReader,
    NoAbstractionError,
    abstraction_of,
    compile_and_or,
    step_named,
)
from pdsketch.core import Phase, Posed, States
from pdsketch.lang import Step
from pdsketch.search.latent.instances import costs_of
from pdsketch.search.latent.replay import Trail, doubts_of, hold, paid_for
from pdsketch.search.options import PlanOptions
from pdsketch.search.packed.engine import PackedOutcome, lazily, search, search_many
from pdsketch.search.problems import Allowed, Problems
from pdsketch.search.result import NamedNodes, Trace
from pdsketch.tensor import StateBatch

MOST_REFINEMENTS: Final = 8
"""How often rules are corrected for one problem. Set by hand."""

SCHEDULE: Final = (
    Phase("ff", 1.0, 1.0, most_evaluations=1250, share=0.2, work=50_000_000),
    Phase("ff", 1.0, 2.0, most_evaluations=1250, share=0.5, work=50_000_000),
    *lazily(Phase("ff", 0.0, 1.0, lazy=True)),
)
"""A*, weighted A*, then lazy greedy search.

Most plans take fewer evaluations than A* has: on 216 goals in rooms, forty times as many for weighted A*
make plans 1.5 % shorter and take half as much time again. The work is that of 0.2 seconds: large tasks have
fewer evaluations. All numbers are set by hand.
"""


def search_by_sure_rules(problems: Problems, some: Sequence[int], allowed: Allowed) -> Mapping[int, str]:
    """The same as `search_by_rules`, without actions whose preconditions hold by a guess alone."""
    return search_by_rules(problems, some, allowed, sure=True)


def search_by_rules(
    problems: Problems, some: Sequence[int], allowed: Allowed, *, sure: bool = False
) -> Mapping[int, str]:
    """Settle the problems whose goals hold already, and those with a plan that the model accepts.

    The problems are ``some`` of ``problems``, ``allowed`` is what may be spent; ``sure``: without guesses.
    """
    if problems.samples:
        return dict.fromkeys(some, "left out: actions take values that cannot be listed")
    ended = {i: why for i in some if (why := _left_out(problems, i)) is not None}
    ready = [i for i in some if i not in ended]
    _settle_what_holds(problems, ready)
    searches = _searches(problems, [i for i in ready if i not in problems.found], allowed, sure)
    plans = _plans(searches, problems.options.threads)
    while plans:
        refused = _refused(problems, searches, plans)
        plans = _plans({i: searches[i] for i in refused}, problems.options.threads)
    return ended | {i: own.ended for i, own in searches.items()}


def _left_out(problems: Problems, i: int) -> str | None:
    """Why the rules of the model are not those of a problem; None: they are."""
    if problems.options.snap:
        return "left out: states are snapped"
    return "left out: it knows nothing of what failed" if problems.remembers(i) else None


def _settle_what_holds(problems: Problems, some: Sequence[int]) -> None:
    """Settle the problems whose goals hold in their initial states."""
    if not some:
        return
    goals = [problems.goals[i] for i in some]
    held = hold(problems.model, problems.batch_of(some), goals, problems.margin)
    for i in (i for i, holds in zip(some, held, strict=True) if holds):
        end = Trail(ends=[(problems.states[i].batch, [problems.goals[i]], [0])])
        guesses = doubts_of(problems.model, end).sentences(0)
        problems.found[i] = problems.result(i, "solved", guesses, plan=[], cost=0.0, guesses=guesses)


def _searches(problems: Problems, some: Sequence[int], allowed: Allowed, sure: bool) -> dict[int, RuleSearch]:
    """The searches of some problems, whose states are read together."""
    started = monotonic()
    compilations = _compiled(problems, some, sure)
    share = (monotonic() - started) / max(1, len(some))
    found = {i: RuleSearch(problems, i, compilations, place, allowed, sure) for place, i in enumerate(some)}
    for own in found.values():
        own.phases["rules"] += share
    return found


def _compiled(problems: Problems, some: Sequence[int], sure: bool) -> Compilations:
    """What makes the tasks of some problems."""
    batches = [problems.states[i].batch for i in some]
    objects = [batch.universe(0).types for batch in batches]
    values = [problems.candidates(i).values for i in some]
    goals = [problems.goals[i] for i in some]
    return Compilations(problems.model, objects, goals, batches, values, sure=sure)


def _plans(searches: Mapping[int, RuleSearch], threads: int | None) -> dict[int, list[Step]]:
    """What the rules say reaches the goals, of the problems that have such plans.

    So many are searched at a time as there are ``threads``, where they can be searched together.
    """
    # Those with one goal after each other: templates keep a few goals.
    order = {goal: number for number, goal in enumerate(dict.fromkeys(s.goal for s in searches.values()))}
    ordered = sorted(searches, key=lambda i: order[searches[i].goal])
    posed = {i: one for i in ordered if (one := searches[i].posed()) is not None}
    found = {i: searches[i].find() for i in searches if i not in posed}
    if posed:
        now = monotonic()
        per_effect = searches[ordered[0]].compilations.per_effect
        each = [one.draft for one in posed.values()]
        solved = search_many(each, SCHEDULE, per_effect=per_effect, threads=threads)
        share = (monotonic() - now) / len(posed)
        for (i, one), outcome in zip(posed.items(), solved, strict=True):
            found[i] = searches[i].take(outcome, one, share)
    return {i: plan for i in searches if (plan := found[i]) is not None}


def _refused(
    problems: Problems, searches: Mapping[int, RuleSearch], plans: Mapping[int, list[Step]]
) -> list[int]:
    """Settle the problems whose plans the model accepts; those whose rules were corrected for others."""
    now, trail, again = monotonic(), Trail(), []
    with problems.budget.grace().running():
        failed, said = problems.replayed(range(len(problems.goals)), plans, trail)
        paid = paid_for(problems.model, trail) if problems.costs else {}
    share = (monotonic() - now) / len(plans)
    for number, (i, plan) in enumerate(plans.items()):
        own, longest = searches[i], problems.options.max_depth
        own.phases["replay"] += share
        if longest is not None and len(plan) > longest:
            own.why = "plans by the rules are longer than `max_depth`"
        elif failed.get(i, "a limit was reached") is None:
            cost = paid.get(number, 0.0) if problems.costs else float(len(plan))
            found = {"plan": plan, "cost": cost, "phases": own.phases, "refinements": own.refinements}
            guesses = said.get(i, ())
            problems.found[i] = problems.result(i, "solved", guesses, guesses=guesses, **found)
        elif own.refine():
            again.append(i)
    return again


class _Drafted(NamedTuple):
    """A search that can be made together with others: for the engine, and in the model's own terms."""

    draft: Posed
    operators: Sequence[tuple[str, ...]]
    values: Mapping[str, Any]


@final
class RuleSearch:
    """The search for one problem's plan, begun anew where the model refuses what was found.

    The problem is number ``i`` of ``problems``; ``compilations`` makes its task, which is number ``place`` of
    it; ``allowed`` is what it may take. ``sure``: without guesses.
    """

    def __init__(
        self,
        problems: Problems,
        i: int,
        compilations: Compilations,
        place: int,
        allowed: Allowed,
        sure: bool,
    ) -> None:
        self.goal = problems.goals[i]
        self.compilations = compilations
        self._sure = sure
        self._problems = problems
        self._i = i
        self._place = place
        self._allowed = allowed
        self._state = problems.states[i].batch
        self._abstraction: Abstraction | None = None
        self._operators: tuple[int, ...] = ()
        self._before = problems.expanded([i])[0]
        self.refinements, self.why = 0, ""
        self.phases = {"rules": 0.0, "search": 0.0, "replay": 0.0}

    def find(self) -> list[Step] | None:
        """A plan of which the rules say that it reaches the goal; None: they know of none."""
        now = monotonic()
        try:
            found = self._abstract()
        except NoAbstractionError as why:
            self.why = f"the goal has no form over codes: {why}"
            return None
        now = self._spend("rules", now)
        outcome = self._searched()
        self._spend("search", now)
        if outcome.plan is None:
            self._has_none(outcome.status)
            return None
        return [found.step_of(operator) for operator in outcome.plan]

    def _spend(self, phase: str, since: float) -> float:
        """Add the time since then to a phase; returns the time now."""
        now = monotonic()
        self.phases[phase] += now - since
        return now

    def _has_none(self, status: str) -> None:
        """Remember that there is no plan by the rules, and why."""
        if self._sure:
            self.why = f"the rules have no plan without guesses ({status})"
            return
        self._problems.ruled.add(self._i)
        self.why = f"the rules have no plan ({status})"
        self._problems.explains[self._i] = self._explained

    def _explained(self) -> Sequence[str]:
        abstraction = self._abstract()
        return abstraction.explain(abstraction.task.init)

    def _abstract(self) -> Abstraction:
        """The task that is searched."""
        if self._abstraction is None:
            found = self.compilations.abstraction(self._place, read=False)
            if self._problems.costs:
                found = found.priced(costs_of(self._problems.model, self._state, 0, found.steps))
            self._abstraction = found
        return self._abstraction

    def _searched(self) -> PackedOutcome:
        found = self._abstract()
        outcome = search(
            found.task,
            PlanOptions(max_expansions=self._left(), trace=self._traced(found)),
            self._allowed.budget,
            schedule=SCHEDULE,
            per_effect=found.per_effect,
        )
        self._problems.count(self._i, outcome)
        self._operators = outcome.plan or ()
        return outcome

    def _left(self) -> int | None:
        """How many expansions are left of those of this stage."""
        most, spent = self._allowed.expansions, self._problems.expanded([self._i])[0] - self._before
        return None if most is None else max(0, most - spent)

    def posed(self) -> _Drafted | None:
        """The same for a search together with others; None: it is searched alone."""
        if self._problems.costs or self._problems.options.trace is not None:
            return None
        now = monotonic()
        try:
            found = self.compilations.narrowing(self._place)
        except NoAbstractionError:
            return None  # which a search alone meets, too
        finally:
            self._spend("rules", now)
        if found is None:
            return None
        own, values = found
        return _Drafted(Posed(own.draft, own.goal, own.init, self._left()), own.operators, values)

    def take(self, found: PackedOutcome, drafted: _Drafted, seconds: float) -> list[Step] | None:
        """The plan that was found together with others, if there is one."""
        self.phases["search"] += seconds
        self._problems.count(self._i, found)
        if found.plan is None:
            self._has_none(found.status)
            return None
        names = [*self._state.universe(0).types]
        return [step_named(drafted.operators[op], names, drafted.values) for op in found.plan]

    @property
    def ended(self) -> str:
        """Why it ended."""
        if self._i not in self._problems.found:
            return self.why
        times = "1 correction" if self.refinements == 1 else f"{self.refinements} corrections"
        return f"solved after {times}" if self.refinements else "solved"

    def _traced(self, abstraction: Abstraction) -> Trace | None:
        trace = self._problems.options.trace
        if trace is None:
            return None
        steps = dict(zip(abstraction.task.operators, abstraction.steps, strict=True))
        return lambda nodes: trace(NamedNodes(nodes, steps))

    def refine(self) -> bool:
        """Correct the rules where the model refused the last plan; whether there is anything to correct."""
        if self.refinements == MOST_REFINEMENTS:
            self.why = f"the model and its rules still differ after {MOST_REFINEMENTS} corrections"
            return False
        now = monotonic()
        self._problems.ruled.add(self._i)
        self.refinements += 1
        if not self._operators:
            self._searched()
        corrected = self._correct(*self._follow())
        self._spend("replay", now)
        if not corrected:
            self.why = "the model does not what its rules say, and no single rule is wrong"
            return False
        self.compilations = _compiled(self._problems, [self._i], self._sure)
        self._place, self._abstraction, self._operators = 0, None, ()
        return True

    def _correct(self, state: StateBatch, step: Step | None) -> bool:
        """Correct the rules that are wrong in a state, and for a step taken there; whether any are."""
        model = self._problems.model
        if step is None:
            return abstraction_of(model, sure=self._sure).correct(state, None, {})
        parameters = model.domain.actions[step[0]].parameters
        arguments = {p.name: value for p, value in zip(parameters, step[1:], strict=True)}
        return abstraction_of(model, sure=self._sure).correct(state, step[0], arguments)

    def _follow(self) -> tuple[StateBatch, Step | None]:
        """Take the steps of the last plan in the model, up to the first that leads elsewhere.

        Returns the state before that step, and the step; the last state, where all lead to where they should.
        """
        model, here = self._problems.model, self._state
        types, goal = here.universe(0).types, self._problems.goals[self._i]
        abstraction = replace(self._abstract(), codes=compile_and_or(model, types, goal, here).codes)
        states = States(abstraction.task)
        believed, n_basic = states.derived(abstraction.task.init), abstraction.task.n_basic
        reader = FactReader(model, [abstraction], [here.universe(0)])
        first = torch.zeros(1, dtype=torch.int64, device=here.device)
        for operator in self._operators:
            step = abstraction.step_of(operator)
            ((action, _, run),) = model.grouped(here, step)
            if not bool(model.engine.precondition(run, action.name).all()):
                return here, step
            before, here = here, model.engine.successors(run, action.name)
            believed = states.successor(believed, operator)
            facts = reader.facts(here, first).cpu().numpy()[0]
            if not np.array_equal(believed[:n_basic], facts[:n_basic]):
                return before, step
        return here, None
