"""`pdsketch.plan` and `plan_many` for models: options, rounds of candidate values, replay, reasons."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import isinf
from typing import Any, Final, final

import numpy as np
import torch

from pdsketch.abstract import NoAbstractionError
from pdsketch.budget import MEGABYTE, Budget, LimitError, current
from pdsketch.lang import Error, Expr, Step, error
from pdsketch.search.abstract import WEIGHT, abstract_searches, accepted_plans, result_of
from pdsketch.search.heuristics import find_model_heuristic
from pdsketch.search.latent.candidates import CandidateSource
from pdsketch.search.latent.engine import BestFirstSearch, LatentOutcome
from pdsketch.search.latent.heuristics import Searched, StateHeuristic
from pdsketch.search.latent.instances import TOO_MANY, Candidates, value_types
from pdsketch.search.latent.limits import LIMITS, status_of, suppress_limits
from pdsketch.search.latent.margin import CRISP_TRUTH, GoalTest, Margin, confidences_of, lowered, share_of
from pdsketch.search.latent.options import budget_of, options_for
from pdsketch.search.latent.orders import Order, order_of
from pdsketch.search.latent.reasons import (
    ending,
    never_proposed,
    nothing_trained,
    runaways,
    untrained,
    why_not,
)
from pdsketch.search.latent.replay import Trail, encoded, looked_at
from pdsketch.search.latent.space import Space
from pdsketch.search.latent.undecided import undecided
from pdsketch.search.options import PlanOptions
from pdsketch.search.result import Result, Status, UntrainedWarning
from pdsketch.tensor import Model, State, StateBatch, Watch

# The states and goals that a user plans for, checked.


def checked_states(model: Model, states: Sequence[State] | StateBatch) -> list[State]:
    """The states as a list."""
    if isinstance(states, State):
        states = states.batch
    if not isinstance(states, Iterable):
        raise error("bad-state", f"a list of states was wanted, and a {type(states).__name__} was given")
    listed = list(states)
    for state in listed:
        if not isinstance(state, State):
            raise error("bad-state", f"a State was wanted, and a {type(state).__name__} was given")
        model.ready(state)
    return listed


def checked_goals(
    model: Model, states: Sequence[State], goals: Sequence[str | Expr] | str | Expr
) -> list[Expr]:
    """The goal of each state; one is the goal of all."""
    each = list(goals) if isinstance(goals, list | tuple) else [goals] * len(states)
    if len(each) != len(states):
        raise error("bad-goals", f"{len(each)} goals were given for {len(states)} states")
    found = []
    seen: set[Expr] = set()
    for state, goal in zip(states, each, strict=True):
        checked = model.formula(state.batch, goal)  # type: ignore[arg-type]
        found.append(checked)
        if checked in seen:
            continue
        seen.add(checked)
        absent = model.domain.analysis.absent_reads(checked)
        if absent:
            raise error(
                "absent-predicate",
                f"the goal reads `{absent[0]}`, which only the encoder reads: it is absent after a step",
                checked.span,
                help="read an encoded predicate instead",
            )
    return found


# The orders of a search in a model: one of a search that was asked for, else several that take turns.

PORTFOLIO: Final[Mapping[str, float]] = {"ao": WEIGHT, "opt": 1.0, "blind": 1.0}
"""The heuristics that take turns, and their weights."""

SAMPLED_PORTFOLIO: Final[Mapping[str, float]] = {"goalorder": WEIGHT, **PORTFOLIO}
"""The same where values are proposed for parameters: relaxations see every relation one step away there."""

NOT_GROUND: Final = (
    "the model's rules over codes took more than half of the time or memory that is allowed: "
    "OPT guides the search in the place of AO"
)


def half_of(budget: Budget) -> Budget:
    """Half of the time and of the memory that are left."""
    left, room = budget.left(), budget.room()
    return budget.narrowed(
        None if isinf(left) else left / 2, None if isinf(room) else max(0.0, room / 2 / MEGABYTE)
    )


def orders_of(
    options: PlanOptions, searched: Searched, *, with_ao: bool, sampled: bool = False
) -> tuple[list[Order], tuple[str, ...]]:
    """The orders in which nodes are expanded, and what is to be said of them.

    ``options`` name the search and the heuristic, which is made for the problems in ``searched``. ``with_ao``
    is false where AO's rules took too long: OPT takes its place. ``sampled``: values are proposed. In
    the portfolio, a heuristic that is named takes turns with blind order alone.
    """
    name = options.search
    if name != "portfolio":
        try:
            heuristic, said = _guide(options.heuristic, searched, with_ao)
        except NoAbstractionError as why:
            raise error(
                "no-abstraction",
                f"`{options.heuristic}` has no estimate for this goal: {why}",
                help="leave search and heuristic out, or name another heuristic",
            ) from None
        return [order_of(name, heuristic, options.weight)], said
    own = options.heuristic is None
    turns: Mapping[Any, float] = SAMPLED_PORTFOLIO if sampled else PORTFOLIO
    found, told = [], list[str]()
    for guide, weight in (turns if own else {options.heuristic: WEIGHT, "blind": 1.0}).items():
        with suppress(NoAbstractionError):
            if own and guide == "ao" and not with_ao:
                continue
            heuristic, said = _guide(guide, searched, with_ao)
            told += said
            if not (own and said):
                found.append(order_of("wastar", heuristic, weight))
    return found, tuple(told)


def _guide(name: object, searched: Searched, with_ao: bool) -> tuple[StateHeuristic, tuple[str, ...]]:
    """The heuristic of that name, and what is to be said if it is another one."""
    if not isinstance(name, str) or not name.startswith("ao"):
        return find_model_heuristic(name)(searched), ()
    budget = current()
    if with_ao:
        try:
            with half_of(budget).running():
                return find_model_heuristic(name)(searched), ()
        except LimitError:
            budget.check()
    return find_model_heuristic("opt")(searched), (NOT_GROUND,) if with_ao else ()


MOST_ROUNDS: Final = 8
"""Rounds of candidate values, each with more of them than the last; set by hand."""

MOST_ABSTRACT: Final = 50_000
"""Expansions in the abstraction before the portfolio searches in the model itself; set by hand."""

FIRST_ROUND: Final = 256
"""Expansions of the first round of candidate values, where more rounds may follow; each doubles it."""

_NOT_REPLAYED: Final = "a plan was found, and a limit reached before it was replayed: raise the limit"


def plan_models(
    model: Model,
    states: Sequence[State] | StateBatch,
    goals: Sequence[str | Expr] | str | Expr,
    given: Mapping[str, Any],
) -> list[Result]:
    """Find a plan for each state and goal; the frontiers share tensor batches.

    ``states`` are observations, which ``model`` encodes; ``goals`` is one goal for all of them, or one for
    each; ``given`` are the `PlanOptions`. The limits of expansions and depth hold for each problem, those
    of time and memory for all of them together.
    """
    if not isinstance(model, Model):
        raise error("bad-model", f"a Model was wanted to plan with, and a {type(model).__name__} was given")
    started = time.monotonic()
    options = options_for(model, given)
    with budget_of(model, options).running() as budget:
        listed = checked_states(model, states)
        if not listed:
            return []
        wanted = checked_goals(model, listed, goals)
        with torch.inference_mode():
            found: dict[int, Result] = {}
            for level in confidences_of(options.confidence):
                left = [i for i in range(len(listed)) if i not in found]
                with share_of(budget, level).running() as share:
                    some = [listed[i] for i in left], [wanted[i] for i in left]
                    memories = tuple(options.memories[i] for i in left) if options.memories else ()
                    own = replace(options, confidence=level, memories=memories)
                    results = _Planning(model, *some, own, started, share).results() if left else []
                for i, result in zip(left, results, strict=True):
                    if result.solved or level == CRISP_TRUTH:
                        found[i] = lowered(result, options.confidence, level)
            return [found[i] for i in range(len(listed))]


@final
class _Planning:
    """One call: rounds of candidate values, each a search for the problems still open."""

    def __init__(
        self,
        model: Model,
        states: list[State],
        goals: Sequence[Expr],
        options: PlanOptions,
        started: float,
        budget: Budget,
    ) -> None:
        self.model = model
        self.states = states
        self.goals = goals
        self.options = options
        self.started = started
        self.budget = budget
        self.watch = Watch(model.notes, model.blanks.given)
        self.margin = Margin(options.confidence)
        self.with_ao, self.with_rules, self.sampled = True, True, False
        self.explains: dict[int, Callable[[], Sequence[str]]] = {}
        self.costs = model.domain.has_costs if options.costs is None else options.costs
        self.spent = np.zeros(len(states), dtype=np.int64)
        self.counts = np.zeros((len(states), 3), dtype=np.int64)
        self.doubts = untrained(model, goals)
        for doubt in dict.fromkeys(doubt for doubts in self.doubts for doubt in doubts):
            warnings.warn(doubt, UntrainedWarning, stacklevel=2)

    def results(self) -> list[Result]:
        """The result of each problem."""
        found: dict[int, Result] = {}
        pools: list[Candidates | None] = [None] * len(self.states)
        try:
            self.states, self.watch = encoded(self.model, self.states)
            sources = [
                CandidateSource(self.model, state, goal, self.options)
                for state, goal in zip(self.states, self.goals, strict=True)
            ]
            self.sampled = any(source.goes_on for source in sources)
            rounds = MOST_ROUNDS if self.sampled else 1
            for number in range(rounds):
                left = [i for i in range(len(self.states)) if i not in found]
                if not left:
                    break
                for i in left:
                    pools[i] = sources[i].advance(number)
                # The rules of values that are proposed take seconds: at first it is tried without.
                self.with_rules = rounds == 1 or number > 0
                search = self.options.search
                if search == "abstract" or (search == "portfolio" and self.with_rules):
                    self._try_abstractly(pools, found)
                left = [i for i in left if i not in found]
                last = number == rounds - 1
                if not left:
                    break
                ready = [pool for i in left if (pool := pools[i]) is not None]
                for i, result in zip(left, self._searched(left, ready, number, last=last), strict=True):
                    if result is not None:
                        found[i] = result
            self._put_in_order(found, sources)
        except LIMITS as limit:
            status = status_of(limit)
            if status is None:
                raise
            for i in range(len(self.states)):
                found.setdefault(i, self._early(i, status))
        return [found[i] for i in range(len(self.states))]

    def _put_in_order(self, found: dict[int, Result], sources: Sequence[CandidateSource]) -> None:
        """Plans whose proposed values come one after the other, where the model accepts these, too."""
        solved = {} if self.costs else {i: result.plan for i, result in found.items() if result.plan}
        plans = {i: new for i, old in solved.items() if (new := sources[i].in_order(old)) != old}
        with self.budget.grace().running(), suppress_limits():
            failed, _ = self._replayed(range(len(self.states)), plans) if plans else ({}, {})
            for i, plan in plans.items():
                if failed.get(i, _NOT_REPLAYED) is None and not self._remembers(i):
                    found[i] = replace(found[i], plan=plan)

    def _try_abstractly(self, pools: Sequence[Candidates | None], found: dict[int, Result]) -> None:
        """Search in the abstraction, with half of what may be spent; the rest is for the model itself."""
        most = self.options.max_expansions
        if self.options.search == "portfolio":
            most = MOST_ABSTRACT if most is None else min(MOST_ABSTRACT, most // 2)
        half = half_of(self.budget)
        try:
            with half.running():
                self._search_abstractly(pools, found, most, half)
        except LimitError:
            self.budget.check()
            self.with_ao = False
            self.doubts = [(*doubts, NOT_GROUND) for doubts in self.doubts]

    def _search_abstractly(
        self,
        pools: Sequence[Candidates | None],
        found: dict[int, Result],
        most: int | None,
        budget: Budget,
    ) -> None:
        """Plans from the abstraction that the model accepts; what has none is left to search in the model."""
        if self.options.snap or self.options.samplers:
            return
        ready = {
            i: pool.values
            for i, pool in enumerate(pools)
            if i not in found and pool is not None and not self._remembers(i)
        }
        if not ready:
            return
        problems = {i: (self.states[i], self.goals[i], values) for i, values in ready.items()}
        searches = abstract_searches(
            self.model, problems, costs=self.costs, most=most, budget=budget, trace=self.options.trace
        )
        accepted = accepted_plans(
            searches,
            self.model,
            partial(self._replayed, range(len(self.states)), at_first=True),
            self.budget.grace(),
            margin=self.margin,
            costs=self.costs,
            max_depth=self.options.max_depth,
            threads=self.options.threads,
        )
        for i, plan in accepted.items():
            found[i] = result_of(self._result(i, LatentOutcome("solved")), searches[i].attempt, plan)
        for i, own in searches.items():
            self.counts[i] += (own.attempt.expanded, own.attempt.evaluated, own.attempt.generated)
            self.spent[i] += own.attempt.expanded
            self.explains[i] = own.attempt.explain
            if i not in found and self.options.search == "abstract":
                self.doubts[i] = (*self.doubts[i], f"{own.attempt.why}: the model itself was searched")

    def _searched(
        self, left: Sequence[int], pools: Sequence[Candidates], number: int, *, last: bool
    ) -> list[Result | None]:
        """One round, where the model is not too large for it, or has no abstraction that was searched."""
        try:
            return self._search(left, pools, number, last=last)
        except Error as why:
            (diagnostic,) = why.diagnostics
            if diagnostic.code != TOO_MANY or not self.explains.keys() >= {*left}:
                raise
        reason = (
            f"the abstraction has no plan, and the model is too large to be searched: {diagnostic.message}"
        )
        gave_up = LatentOutcome("gave-up")
        return [
            replace(self._result(i, gave_up), best=[], reasons=(reason, *self.explains[i]())) for i in left
        ]

    def _search(
        self, left: Sequence[int], pools: Sequence[Candidates], number: int, *, last: bool
    ) -> list[Result | None]:
        """One round; None for a problem that the next round may still solve."""
        roots = StateBatch.of([self.states[i] for i in left])
        goals = [self.goals[i] for i in left]
        memories = [self.options.memories[i] for i in left] if self.options.memories else []
        space = Space(
            self.model,
            roots,
            pools,
            margin=self.margin,
            snap=self.options.snap,
            costs=self.costs,
            resolution=self.options.resolution,
            memories=memories,
        )
        searched = Searched(self.model, goals, space.roots, space.universes, self.costs, pools, self.margin)
        goal_test = GoalTest(self.model, goals, space.universes, self.margin, memories)
        options = self._round_options(left, number, last=last)
        with_ao = self.with_ao and (self.with_rules or self.options.search != "portfolio")
        orders, less = orders_of(self.options, searched, with_ao=with_ao, sampled=self.sampled)
        engine = BestFirstSearch(space, goal_test, orders, options, self._is_exact(space))
        outcomes = engine.run()
        solved = [place for place, outcome in enumerate(outcomes) if outcome.status == "solved"]
        plans = {place: engine.steps(outcomes[place].node) for place in solved}
        results: list[Result | None] = []
        with self.budget.grace().running():
            failed, said = self._replayed(left, plans)
            for place, (i, outcome) in enumerate(zip(left, outcomes, strict=True)):
                self.counts[i] += (outcome.expanded, outcome.evaluated, outcome.generated)
                self.spent[i] += outcome.expanded
                if not last and outcome.status == "gave-up" and self._has_room(i):
                    results.append(None)
                    continue
                if place in plans:
                    cost = float(engine.frontier.g[outcome.node])
                    result = self._solution(i, outcome, plans[place], cost, failed.get(place, _NOT_REPLAYED))
                else:
                    result = self._failure(i, place, outcome, engine, pools[place])
                left_out = runaways(space.runaways.get(place, {}), self.model.domain.predicates)
                more = (*less, *left_out, *said.get(place, ()))
                results.append(replace(result, warnings=(*result.warnings, *more)))
        return results

    def _replayed(
        self,
        left: Sequence[int],
        plans: Mapping[int, list[Step]],
        trail: Trail | None = None,
        *,
        at_first: bool = False,
    ) -> tuple[dict[int, str | None], dict[int, tuple[str, ...]]]:
        """Why each plan fails when it is replayed (None: it does not), and what is to be said of it."""
        states = [self.states[left[place]] for place in plans]
        goals = [self.goals[left[place]] for place in plans]
        steps, trail = list(plans.values()), trail or Trail()
        failed, said = looked_at(
            self.model,
            states,
            goals,
            steps,
            snap=self.options.snap,
            trail=trail,
            margin=self.margin,
            at_first=at_first,
        )
        places = [*plans]
        return {places[n]: why for n, why in failed.items()}, {places[n]: t for n, t in said.items()}

    def _round_options(self, left: Sequence[int], number: int, *, last: bool) -> PlanOptions:
        """The options with the expansions that a round may make."""
        cap = self.options.max_expansions
        room = None if cap is None else cap - int(self.spent[list(left)].max())
        if not last:
            room = min(FIRST_ROUND << number, room if room is not None else FIRST_ROUND << number)
        return replace(self.options, max_expansions=room)

    def _is_exact(self, space: Space) -> bool:
        """Whether all states of a space are told apart, and all actions tried."""
        sampled = any(t.choices is None and t.prim != "bool" for t in value_types(self.model.domain))
        remembers = any(map(self._remembers, range(len(self.states))))
        return all(p.exact for p in space.prints.values()) and not sampled and not remembers

    def _remembers(self, i: int) -> bool:
        """Whether something did not go as planned: the abstraction knows nothing of it."""
        memory = self.options.memories[i] if self.options.memories else None
        return memory is not None and memory.speaks

    def _has_room(self, i: int) -> bool:
        limit = self.options.max_expansions
        return self.budget.left() > 0 and (limit is None or int(self.spent[i]) < limit)

    def _early(self, i: int, status: Status) -> Result:
        """What is said where a limit was reached before the search began."""
        outcome = LatentOutcome(status)
        return replace(self._result(i, outcome), best=[], reasons=(ending(outcome, self.options),))

    def _result(self, i: int, outcome: LatentOutcome) -> Result:
        expanded, evaluated, generated = map(int, self.counts[i])
        return Result(
            outcome.status,
            expanded=expanded,
            evaluated=evaluated,
            generated=generated,
            seconds=time.monotonic() - self.started,
            warnings=(*self.doubts[i], *nothing_trained(self.model), *self.watch.sentences(i)),
            best_h=outcome.lowest_h,
        )

    def _solution(
        self, i: int, outcome: LatentOutcome, plan: list[Step], cost: float, failure: str | None
    ) -> Result:
        result = self._result(i, outcome)
        if failure is None:
            return replace(result, plan=plan, cost=cost)
        if failure == _NOT_REPLAYED:
            status: Status = "out-of-time" if self.budget.grace().left() <= 0 else "out-of-memory"
            return replace(result, status=status, best=plan, reasons=(failure,))
        return replace(result, status="gave-up", best=plan, reasons=(failure,))

    def _failure(
        self, i: int, place: int, outcome: LatentOutcome, engine: BestFirstSearch, candidates: Candidates
    ) -> Result:
        if outcome.status == "unsolvable":
            rests = True  # unless it is seen that it does not: a proof must not rest on a limit, either
            with suppress_limits():
                rests = self._rests_on_guesses(i, place, outcome, engine.orders)
            if rests:
                outcome = replace(outcome, status="gave-up", limit="undecided")
        best = engine.steps(outcome.best) if outcome.best >= 0 else []
        reasons = why_not(
            self.model,
            self.states[i],
            self.goals[i],
            outcome,
            best,
            self.options,
            engine.blocked(place),
            place,
        )
        if self.options.search == "abstract" and i in self.explains:
            with suppress_limits():
                reasons = tuple(dict.fromkeys((*reasons[:1], *self.explains[i](), *reasons[1:])))
        if outcome.status != "unsolvable":
            with suppress_limits():
                missing = never_proposed(self.model, self.states[i], self.goals[i], candidates)
                reasons = (*reasons[:1], *missing, *reasons[1:])
        return replace(self._result(i, outcome), best=best, reasons=reasons)

    def _rests_on_guesses(self, i: int, place: int, outcome: LatentOutcome, orders: Sequence[Order]) -> bool:
        """Whether there is no plan because of blanks that cannot decide: that would prove nothing."""
        batch = self.states[i].batch
        if not outcome.expanded:  # the proof is a heuristic's
            proofs = [o.heuristic for o in orders if o.heuristic.infinity_is_proof]
            return any(heuristic.rests_on(batch, place) for heuristic in proofs)
        return bool(undecided(self.model, batch, self.goals[i]))
