"""Optimal costs by exhaustive search through the reference semantics: the oracle for planners."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any

from pdsketch.lang.data import flat, shown
from pdsketch.lang.diagnostics import Error
from pdsketch.lang.semantics import Moment, apply_at, bind, encode
from pdsketch.lang.steps import Step

from .sample import Sample

Key = frozenset[Any]

LARGEST = 2**16
"""States with larger numbers are not searched: beyond 2**24, float32 would not tell them apart."""


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


def key(state: Any) -> Key:
    """A state as a set of its true atoms and its values."""
    return frozenset((fact, value) for fact, value in state.items() if value is not False)


def is_small(state: Any, changing: set[str]) -> bool:
    """Whether every engine holds the numbers that change exactly."""
    if not changing:
        return True
    values = (value for fact, value in state.items() if fact[0] in changing)
    return all(abs(number) <= LARGEST for value in values for number in flat(value))


def changing_numbers(sample: Sample) -> set[str]:
    """The predicates that hold numbers, and that some action writes."""
    effects = [update for action in sample.domain.actions.values() for update in action.effects]
    return {
        u.target.predicate for u in effects if not sample.domain.predicates[u.target.predicate].type.is_bool
    }


def far_goal(sample: Sample, limit: int = 60) -> str:
    """A goal that only the states hardest to reach satisfy: what makes plans long."""
    states = reachable(sample, limit).states
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
    """Search all states in the order of their costs, at most ``limit`` of them, as long as numbers are small.

    What only the encoder reads is left out from the beginning.
    """
    world, problem = sample.world, sample.problem
    raw = {p.name for p in sample.domain.predicates.values() if p.role == "raw"}
    start = {fact: value for fact, value in encode(world, problem.init).items() if fact[0] not in raw}
    ties = count()
    queue: list[Any] = [(0.0, next(ties), start, ())]
    costs: dict[Key, float] = {}
    states: list[dict[Any, Any]] = []
    best: tuple[float | None, list[Step] | None] = (None, None)
    cut, changing = False, changing_numbers(sample)
    while queue and len(costs) < limit:
        paid, _, state, plan = heappop(queue)
        if key(state) in costs:
            continue
        costs[key(state)] = paid
        states.append(state)
        moment = Moment(world, state)
        if best[0] is None and moment.value(problem.goal, {}):
            best = (paid, list(plan))
        for step in sample.steps:
            action = sample.domain.actions[step[0]]
            if moment.value(action.precondition, bind(world, step)):
                price = 1.0
                if problem.metric == "cost":
                    price = 0.0 if action.cost is None else moment.value(action.cost, bind(world, step))
                try:
                    after = apply_at(moment, step)
                except Error:  # assignments that disagree: the step cannot be taken
                    continue
                if is_small(after, changing):
                    heappush(queue, (paid + price, next(ties), after, (*plan, step)))
                else:
                    cut = True
    return Reached(best[0], best[1], not queue and not cut, costs, states)
