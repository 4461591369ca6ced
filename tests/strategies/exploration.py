"""The states of a random problem in the order of their costs, found as far as somebody asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any

from pdsketch.lang.data import flat
from pdsketch.lang.diagnostics import Error
from pdsketch.lang.domain import Problem
from pdsketch.lang.semantics import EvaluationContext, StaticContext, apply_at, bind, encode
from pdsketch.lang.steps import Step

Key = frozenset[Any]

LARGEST = 2**16
"""States with larger numbers are not searched: beyond 2**24, float32 would not tell them apart."""


def key(state: Any) -> Key:
    """A state as a set of its true atoms and its values."""
    return frozenset((fact, value) for fact, value in state.items() if value is not False)


def is_small(state: Any, changing: set[str]) -> bool:
    """Whether every engine holds the numbers that change exactly."""
    if not changing:
        return True
    values = (value for fact, value in state.items() if fact[0] in changing)
    return all(abs(number) <= LARGEST for value in values for number in flat(value))


def changing_numbers(domain: Any) -> set[str]:
    """The predicates that hold numbers, and that some action writes."""
    effects = [update for action in domain.actions.values() for update in action.effects]
    return {u.target.predicate for u in effects if not domain.predicates[u.target.predicate].type.is_bool}


class Exploration:
    """Uniform-cost search through the reference semantics, of all states, whatever the goal.

    Of each state there is its `key`, what it costs to get there, the steps, and what holds in it; ``ends``
    says whether all was found with it. What only the encoder reads is left out from the beginning.
    """

    def __init__(self, world: StaticContext, problem: Problem, steps: Sequence[Step]) -> None:
        self.world, self.problem = world, problem
        self._steps = [(step, problem.domain.actions[step[0]], bind(world, step)) for step in steps]
        self.keys: dict[Key, float] = {}
        self.plans: list[tuple[Step, ...]] = []
        self.moments: list[EvaluationContext] = []
        self.states: list[dict[Any, Any]] = []
        self.ends: list[bool] = []
        self.cut = False
        raw = {p.name for p in problem.domain.predicates.values() if p.role == "raw"}
        start = {fact: value for fact, value in encode(world, problem.init).items() if fact[0] not in raw}
        self._ties = count()
        self._queue: list[Any] = [(0.0, next(self._ties), start, ())]
        self._changing = changing_numbers(problem.domain)
        self._refused: Error | None = None

    def until(self, limit: int) -> list[dict[Any, Any]]:
        """The first so many states, or all that there are."""
        while self._queue and len(self.ends) < limit:
            if self._refused is not None:
                raise self._refused
            try:
                self._next()
            except Error as refused:
                self._refused = refused
                raise
        return self.states[:limit]

    def complete(self, limit: int) -> bool:
        """Whether the first so many states are all."""
        return self.ends[limit - 1] if len(self.ends) >= limit else not self.cut

    def _next(self) -> None:
        paid, _, state, plan = heappop(self._queue)
        if (known := key(state)) in self.keys:
            return
        moment = EvaluationContext(self.world, state)
        self.keys[known] = paid
        self.states.append(state)
        self.plans.append(plan)
        self.moments.append(moment)
        for step, action, bound in self._steps:
            if moment.value(action.precondition, bound):
                price = 1.0
                if self.problem.metric == "cost":
                    price = 0.0 if action.cost is None else moment.value(action.cost, bound)
                try:
                    after = apply_at(moment, step)
                except Error:  # assignments that disagree: the step cannot be taken
                    continue
                if is_small(after, self._changing):
                    heappush(self._queue, (paid + price, next(self._ties), after, (*plan, step)))
                else:
                    self.cut = True
        self.ends.append(not self._queue and not self.cut)
