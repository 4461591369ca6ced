"""Plans for many problems from a model's abstraction, which the model is asked to accept together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import monotonic
from typing import NamedTuple

from pdsketch.abstract.andor.compile import Compilations
from pdsketch.budget import Budget
from pdsketch.lang.steps import Step
from pdsketch.search.abstract import AbstractAttempt, AbstractProblem, AbstractSearch, find_at_once
from pdsketch.search.latent.goal_test import hold_at_first
from pdsketch.search.latent.margin import Margin
from pdsketch.search.latent.prices import checked_cost
from pdsketch.search.latent.replay import Trail
from pdsketch.search.result import Result
from pdsketch.search.trace import Trace
from pdsketch.tensor.model import Model

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

    Whether they hold is asked together with whether plans reach them, where plans are found at once.
    ``budget`` is what replaying may take; so many problems are searched at a time as there are ``threads``.
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
    """The searches of many problems, whose states are read together."""
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
