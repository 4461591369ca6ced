"""The stage of a strategy that searches in the model itself: rounds of candidate values, replay, reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract import NoAbstractionError
from pdsketch.lang import Step, conjuncts, error
from pdsketch.search.heuristics import find_model_heuristic
from pdsketch.search.latent.candidates import CandidateSource
from pdsketch.search.latent.engine import BestFirstSearch, LatentOutcome
from pdsketch.search.latent.heuristics import Order, Searched, StateHeuristic, order_of
from pdsketch.search.latent.instances import Candidates, Instances, value_types
from pdsketch.search.latent.limits import suppress_limits
from pdsketch.search.latent.margin import CRISP_TRUTH, SOFT, GoalTest
from pdsketch.search.latent.reasons import ending, never_proposed, runaways, undecided, why_not
from pdsketch.search.latent.replay import COPIES, ShakenPlan, Trail, paid_for, slack_of
from pdsketch.search.latent.space import Space
from pdsketch.search.memory import Memory
from pdsketch.search.options import PlanOptions, options_for
from pdsketch.search.problems import NOT_REPLAYED, Allowed, Problems
from pdsketch.search.result import Status
from pdsketch.tensor import Model, State

WEIGHT: Final = 2.0
"""Of the portfolio's heuristic: plans are to be found rather than to be cheapest. Set by hand."""

MOST_ROUNDS: Final = 8
"""Rounds of candidate values, each with more of them than the last; set by hand."""

FIRST_ROUND: Final = 256
"""Expansions of the first round of candidate values, where more rounds may follow; each doubles it."""

MANY_FAILED: Final = "many problems of this call have no plan: plan for this one alone to hear why"

MOST_EXPLAINED: Final = 16
"""Where more problems of a round have no plan, it is said of each how its search ended, and no more: an
explanation takes 10 ms of a processor, and a thousand of them took most of the time of ``plan_many`` on goals
that never hold (``benchmarks/latent.py``)."""


def _order(problems: Problems, some: Sequence[int], searched: Searched) -> Order:
    """The order in which nodes are expanded: that of a search that is asked for, or the portfolio's.

    Where arguments take any values, relaxations see every relation one step away: with OPT one row of three
    in six is found in the painting world, with the order of the goal's parts all are. Elsewhere, the rules
    guide where they have been made; OPT where not.
    """
    options, name = problems.options, problems.options.heuristic
    if name is None:
        guided = "ao" if problems.ruled >= {*some} else "opt"
        name = "goalorder" if problems.samples else guided
    try:
        heuristic = find_model_heuristic(name)(searched)
    except NoAbstractionError as why:
        raise error(
            "no-abstraction",
            f"`{name}` has no estimate for this goal: {why}",
            help="leave search and heuristic out, or name another heuristic",
        ) from None
    if options.search == "portfolio":
        return order_of("wastar", heuristic, WEIGHT)
    return order_of(options.search, heuristic, options.weight)


def search_in_model(problems: Problems, some: Sequence[int], allowed: Allowed) -> Mapping[int, str]:
    """Search in the model, with more candidate values from round to round; all problems are settled."""
    pools: dict[int, Candidates] = {}
    reached: dict[int, list[State]] = {}
    rounds = MOST_ROUNDS if problems.proposes else 1
    for number in range(rounds):
        left = [i for i in some if i not in problems.found]
        if not left:
            break
        for i in left:
            pools[i] = problems.candidates(i, number, reached.get(i, ()))
        last = number == rounds - 1
        reached = _Round(problems, left, [pools[i] for i in left], number, last=last).run()
    _steady(problems, some)
    results = problems.found
    return {i: results[i].reasons[0] if results[i].reasons else results[i].status for i in some}


def _steady(problems: Problems, some: Sequence[int]) -> None:
    """Plans with values are moved to where they survive what the world does to them."""
    options, model = problems.options, problems.model
    slack = slack_of(model, options.margin)
    if not slack or not value_types(model.domain):
        return
    with suppress_limits():
        for i in some:
            plan = problems.found[i].plan
            if not plan:
                continue
            shaken = ShakenPlan(model, problems.states[i], problems.goals[i], plan, slack, problems.margin)
            steady, share = shaken.steadied()
            failed, _ = problems.replayed([i], {0: steady})
            if failed.get(0, NOT_REPLAYED) is None:
                problems.found[i] = replace(problems.found[i], plan=steady)
            if share < 1 and options.margin is not None:
                said = (
                    f"where numbers come out otherwise by up to the margin, {round(COPIES * (1 - share))} of "
                    f"{COPIES} replays fail, and no values near those of the plan are safer"
                )
                problems.found[i] = replace(problems.found[i], warnings=(*problems.found[i].warnings, said))


@final
class _Round:
    """A search of ``problems``, some of them (``left``), with the candidate values that there are by now.

    ``number`` is that of the round; what the ``last`` does not solve is settled.
    """

    def __init__(
        self,
        problems: Problems,
        left: Sequence[int],
        pools: Sequence[Candidates],
        number: int,
        *,
        last: bool,
    ) -> None:
        self._problems = problems
        self._left = left
        self._pools = pools
        self._number = number
        self._last = last

    def run(self) -> dict[int, list[State]]:
        """Search, replay, and settle the problems that have a plan, or a reason why there is none.

        Returned are, of each problem that another round goes on with, states that samplers are asked about.
        """
        problems, left, options = self._problems, self._left, self._problems.options
        model, goals = problems.model, [problems.goals[i] for i in left]
        memories = [options.memories[i] for i in left] if options.memories else []
        space = Space(
            model,
            problems.batch_of(left),
            self._pools,
            margin=problems.margin,
            snap=options.snap,
            costs=problems.costs,
            resolution=options.resolution,
            memories=memories,
        )
        searched = Searched(
            model, goals, space.roots, space.universes, problems.costs, self._pools, problems.margin
        )
        goal_test = GoalTest(model, goals, space.universes, problems.margin, memories)
        order, proof = _order(problems, left, searched), None
        if options.search == "portfolio" and not order.heuristic.infinity_is_proof:
            proof = find_model_heuristic("opt")(searched)
        engine = BestFirstSearch(space, goal_test, order, self._options(), self._is_exact(space), proof)
        outcomes = engine.run()
        for i, outcome in zip(left, outcomes, strict=True):
            problems.count(i, outcome)
        with problems.budget.grace().running():
            self._settle(engine, outcomes)
        if self._last or not options.samplers:
            return {}
        return {
            i: [*space.batch(self._halfway(engine, place, outcome))]
            for place, (i, outcome) in enumerate(zip(left, outcomes, strict=True))
            if outcome.best >= 0 and i not in problems.found
        }

    def _halfway(self, engine: BestFirstSearch, place: int, outcome: LatentOutcome) -> Tensor:
        """The most promising node of a problem, and more on other ways to its goal.

        These are the most promising of those in which the same parts of the goal hold, for as many sets of
        parts as the goal has parts, those of the most parts first: where a block was put on one that still
        has to move, h is as low as where the other one stands in its place already.
        """
        problems, space, frontier = self._problems, engine.space, engine.frontier
        parts = conjuncts(problems.goals[self._left[place]])
        found = {outcome.best: None}
        if len(parts) > 1:
            nodes = (frontier.problem[: frontier.n] == place).nonzero().squeeze(1)
            batch = space.batch(nodes)
            held = torch.stack([problems.model.holds(batch, part, crisp=True) > 0.5 for part in parts], 1)
            sets, which = np.unique(held.cpu().numpy(), axis=0, return_inverse=True)
            h = frontier.open.h[nodes].cpu().numpy()
            for number in np.argsort(-sets.sum(1), kind="stable")[: len(parts)]:
                alike = np.flatnonzero(which.reshape(-1) == number)
                found[int(nodes[int(alike[h[alike].argmin()])])] = None
        return torch.tensor([*found], device=space.device)

    def _settle(self, engine: BestFirstSearch, outcomes: Sequence[LatentOutcome]) -> None:
        problems, space = self._problems, engine.space
        solved = [place for place, outcome in enumerate(outcomes) if outcome.status == "solved"]
        few = len(outcomes) - len(solved) <= MOST_EXPLAINED
        ways = engine.steps([o.node if o.status == "solved" else o.best for o in outcomes])
        plans = {place: ways[place] for place in solved}
        trail = Trail()
        failed, said = problems.replayed(self._left, plans, trail)
        paid = paid_for(problems.model, trail) if problems.costs else {}
        costs = {
            place: paid.get(n, 0.0) if problems.costs else len(plans[place]) for n, place in enumerate(plans)
        }
        for place, (i, outcome) in enumerate(zip(self._left, outcomes, strict=True)):
            if not self._last and outcome.status == "gave-up" and self._has_room():
                continue  # the next round may solve it
            left_out = runaways(space.runaways.get(place, {}), problems.model.domain.predicates)
            guesses = said.get(place, ())
            status, found = outcome.status, dict[str, Any]()
            if place not in plans:
                status, reasons = self._failure(i, place, outcome, ways[place], engine, explained=few)
                found = {"best": ways[place], "reasons": reasons}
            elif (failure := failed.get(place, NOT_REPLAYED)) is None:
                found = {"plan": plans[place], "cost": float(costs[place]), "guesses": guesses}
            else:
                status = self._refused(failure)
                found = {"best": plans[place], "reasons": (failure,)}
            warnings = (*left_out, *guesses)
            problems.found[i] = problems.result(i, status, warnings, best_h=outcome.lowest_h, **found)

    def _options(self) -> PlanOptions:
        """The options with the expansions that the round may make."""
        room = self._problems.expansions_left
        if not self._last:
            own = FIRST_ROUND << self._number
            room = own if room is None else min(own, room)
        return replace(self._problems.options, max_expansions=room)

    def _is_exact(self, space: Space) -> bool:
        """Whether all states of a space are told apart, and all actions tried."""
        problems = self._problems
        remembers = any(map(problems.remembers, range(len(problems.goals))))
        return all(p.exact for p in space.prints.values()) and not problems.samples and not remembers

    def _has_room(self) -> bool:
        return self._problems.budget.left() > 0 and self._problems.expansions_left != 0

    def _refused(self, failure: str) -> Status:
        """The status where a plan was found that is not one, or was not replayed."""
        if failure != NOT_REPLAYED:
            return "gave-up"
        return "out-of-time" if self._problems.budget.grace().left() <= 0 else "out-of-memory"

    def _failure(
        self,
        i: int,
        place: int,
        outcome: LatentOutcome,
        best: list[Step],
        engine: BestFirstSearch,
        *,
        explained: bool,
    ) -> tuple[Status, tuple[str, ...]]:
        """The status where there is no plan, and why there is none."""
        problems, goal = self._problems, self._problems.goals[i]
        if outcome.status == "unsolvable":
            rests = True  # unless it is seen that it does not: a proof must not rest on a limit, either
            with suppress_limits():
                rests = self._rests_on_guesses(i, place, outcome, engine.blocked(place))
            if rests:
                outcome = replace(outcome, status="gave-up", limit="undecided")
        if not explained:
            return outcome.status, (ending(outcome, problems.options), MANY_FAILED)
        blocked, options = engine.blocked(place), problems.options
        reasons = why_not(problems.model, problems.states[i], goal, outcome, best, options, blocked, place)
        if options.search == "abstract" and i in problems.explains:
            with suppress_limits():
                reasons = tuple(dict.fromkeys((*reasons[:1], *problems.explains[i](), *reasons[1:])))
        if outcome.status != "unsolvable":
            with suppress_limits():
                missing = never_proposed(problems.model, problems.states[i], goal, self._pools[place])
                reasons = (*reasons[:1], *missing, *reasons[1:])
        return outcome.status, reasons

    def _rests_on_guesses(
        self, i: int, place: int, outcome: LatentOutcome, blocked: Sequence[StateHeuristic]
    ) -> bool:
        """Whether there is no plan because of blanks that cannot decide: that would prove nothing."""
        problems, batch = self._problems, self._problems.states[i].batch
        if not outcome.expanded:  # the proof is a heuristic's
            return any(own.rests_on(batch, place) for own in blocked if own.infinity_is_proof)
        return bool(undecided(problems.model, batch, problems.goals[i]))


# What there is to try where no plan is known.


def likeliest_step(
    model: Model, state: State, goal: str, memory: Memory, least: float, given: Mapping[str, Any]
) -> tuple[Step, float] | None:
    """The step of the highest chance among those whose preconditions have a truth from ``least`` to 0.5.

    The chance is that truth times what ``memory`` says; what it bars is left out. ``state`` and ``goal``
    are the problem in ``model``, ``given`` the options of planning. Returned with its truth; None: none is.
    """
    batch = model.encode(state, crisp=True).batch
    pool = CandidateSource(
        model, state, model.formula(batch, goal), options_for(model.domain, given)
    ).advance(0)
    best: tuple[float, float, Step] | None = None
    problem = torch.zeros(1, dtype=torch.int64, device=batch.device)
    with torch.inference_mode():
        for action in model.domain.actions.values():
            instances = Instances(action, [batch.universe(0)], [pool], batch.device)
            if not instances.count:
                continue
            arguments = instances.arguments(problem, slice(0, instances.count))
            run = model.engine.open(batch).ground(arguments, instances.count)
            truth = model.engine.per_instance(run, model.engine.program(action.name, SOFT).precondition)[0]
            chance = truth * (-memory.prices(action.name, batch, arguments)[0]).exp()
            chance = torch.where((truth >= least) & (truth <= CRISP_TRUTH), chance, 0.0)
            at = int(chance.argmax())
            if float(chance[at]) > 0 and (best is None or float(chance[at]) > best[0]):
                best = float(chance[at]), float(truth[at]), instances.step(0, at)
    return None if best is None else (best[2], best[1])
