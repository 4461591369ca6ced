"""Optimal costs by exhaustive search through the reference semantics: the oracle for planners."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from pdsketch.lang.data import shown
from pdsketch.lang.steps import Step

from .exploration import Key
from .sample import Sample


@dataclass(frozen=True)
class Reached:
    """What uniform-cost search found.

    ``cost`` and ``plan`` are those of the cheapest plan, None if there is none
    among what was reached; ``complete`` says whether that was everything.
    ``costs`` maps each state (see `key`) to what it takes to get there.
    """

    cost: float | None
    plan: list[Step] | None
    complete: bool
    costs: dict[Key, float]
    states: list[dict[Any, Any]]


def far_goal(sample: Sample, limit: int = 60) -> str:
    """A goal that only the states hardest to reach satisfy: what makes plans long."""
    states = sample.explored.until(limit)
    first, last = states[0], states[-1]
    changed = [fact for fact in {**first, **last} if first.get(fact, False) != last.get(fact, False)]
    return f"(and {' '.join(told(fact, last.get(fact, False)) for fact in changed[:6])})"


def told(fact: Any, value: Any) -> str:
    """A formula that says what value a fact has."""
    atom = f"({' '.join(fact)})"
    if isinstance(value, bool):
        return atom if value else f"(not {atom})"
    return f"(= {atom} {shown(value)})"


def reachable(sample: Sample, limit: int = 500) -> Reached:
    """Search all states in the order of their costs, at most ``limit``, as long as numbers are small."""
    explored, goal = sample.explored, sample.problem.goal
    states = explored.until(limit)
    costs = dict(islice(explored.keys.items(), limit))
    met = zip(explored.moments, costs.values(), explored.plans, strict=False)
    reached = ((paid, list(plan)) for moment, paid, plan in met if moment.value(goal, {}))
    cost, plan = next(reached, (None, None))
    return Reached(cost, plan, explored.complete(limit), costs, states)
