"""`pdsketch.plan` and `plan_many` for models: options, rounds of candidate values, replay, reasons."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, final

import numpy as np
import torch

from pdsketch.budget import Budget, LimitError
from pdsketch.lang.diagnostics import Error, error
from pdsketch.lang.steps import Step
from pdsketch.lang.terms import Expr
from pdsketch.search.abstract_many import abstract_searches, accepted_plans, result_of
from pdsketch.search.latent.candidates import CandidateSource
from pdsketch.search.latent.doubts import encoded, looked_at
from pdsketch.search.latent.engine import BestFirstSearch
from pdsketch.search.latent.goal_test import GoalTest
from pdsketch.search.latent.heuristics import Searched
from pdsketch.search.latent.inputs import checked_goals, checked_states
from pdsketch.search.latent.instances import TOO_MANY, Candidates, value_types
from pdsketch.search.latent.limits import LIMITS, status_of, suppress_limits
from pdsketch.search.latent.margin import CRISP_TRUTH, Margin, levels_of, lowered, share_of
from pdsketch.search.latent.missing import never_proposed
from pdsketch.search.latent.options import LatentOptions, budget_of, checked_options
from pdsketch.search.latent.orders import Order
from pdsketch.search.latent.reasons import ending, nothing_trained, runaways, untrained, why_not
from pdsketch.search.latent.replay import Trail
from pdsketch.search.latent.settings import LatentOutcome, Limits, SearchSettings
from pdsketch.search.latent.space import Space
from pdsketch.search.latent.undecided import undecided
from pdsketch.search.portfolio import NOT_GROUND, half_of, orders_of
from pdsketch.search.result import Result, Status, UntrainedWarning
from pdsketch.tensor.experience import Watch
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State, StateBatch

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

    ``goals`` is one goal for all states, or one for each; ``given`` are the `LatentOptions`. The limits of
    expansions and depth hold for each problem, those of time and memory for all
    of them together.
    """
    if not isinstance(model, Model):
        raise error("bad-model", f"a Model was wanted to plan with, and a {type(model).__name__} was given")
    started = time.monotonic()
    options = checked_options(model, given)
    with budget_of(model, options).running() as budget:
        listed = checked_states(model, states)
        if not listed:
            return []
        wanted = checked_goals(model, listed, goals)
        with torch.inference_mode():
            found: dict[int, Result] = {}
            for level in levels_of(options.confidence):
                left = [i for i in range(len(listed)) if i not in found]
                with share_of(budget, level).running() as share:
                    some = [listed[i] for i in left], [wanted[i] for i in left]
                    own = replace(options, confidence=level)
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
        options: LatentOptions,
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
                if failed.get(i, _NOT_REPLAYED) is None and plan[0] not in self.options.refused:
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
        if self.options.refused or self.options.snap or self.options.samplers:
            return
        ready = {i: pool.values for i, pool in enumerate(pools) if i not in found and pool is not None}
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
        space = Space(
            self.model,
            roots,
            pools,
            margin=self.margin,
            snap=self.options.snap,
            costs=self.costs,
            resolution=self.options.resolution,
        )
        searched = Searched(self.model, goals, space.roots, space.universes, self.costs, pools, self.margin)
        goal_test = GoalTest(self.model, goals, space.universes, self.margin)
        settings = self._settings(space, left, number, last=last)
        with_ao = self.with_ao and (self.with_rules or self.options.search != "portfolio")
        orders, less = orders_of(self.options, searched, with_ao=with_ao, sampled=self.sampled)
        engine = BestFirstSearch(space, goal_test, orders, settings)
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

    def _settings(self, space: Space, left: Sequence[int], number: int, *, last: bool) -> SearchSettings:
        options = self.options
        cap = options.max_expansions
        room = None if cap is None else cap - int(self.spent[list(left)].max())
        if not last:
            room = min(FIRST_ROUND << number, room if room is not None else FIRST_ROUND << number)
        limits = Limits(room, options.max_depth)
        sampled = any(t.choices is None and t.prim != "bool" for t in value_types(self.model.domain))
        exact = all(p.exact for p in space.prints.values()) and not sampled and not options.refused
        watchers = (options.watch, options.trace)
        return SearchSettings(options.search, options.k, limits, exact, options.refused, *watchers)

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
