"""Heuristics of latent states: what every one has, the blind one, and those over an abstraction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract import Abstraction, Compile, FactReader, object_places
from pdsketch.core import Bools, Floats
from pdsketch.heuristics import EngineEvaluator
from pdsketch.lang import Expr
from pdsketch.search.latent.instances import Candidates, costs_of
from pdsketch.search.latent.margin import NO_MARGIN, Margin
from pdsketch.search.latent.reasons import decides_nothing, known_blanks
from pdsketch.search.options import ModelSearch, Search
from pdsketch.tensor import Model, StateBatch, Universe


@final
@dataclass(frozen=True, slots=True)
class Searched:
    """What a heuristic is made for: the problems of a search, each with its goal, root and objects.

    ``costs``: actions cost what they say; otherwise each costs 1. ``candidates`` are the values that
    arguments may have, of each problem; None where no action takes values. Goals must hold by the ``margin``.
    """

    model: Model
    goals: Sequence[Expr]
    roots: StateBatch
    universes: Sequence[Universe]
    costs: bool
    candidates: Sequence[Candidates] | None = None
    margin: Margin = NO_MARGIN


class StateHeuristic(Protocol):
    """What is left to do, by estimate.

    Where ``infinity_is_proof``, there is no plan from a state whose value is infinite, and it is left out
    of the search. Otherwise such a state is looked at after all others. One that has ``reads`` is given
    states with the values of these predicates, and of those that goals read, alone.
    """

    @property
    def infinity_is_proof(self) -> bool:
        """Whether an infinite value says that there is no plan."""

    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state. ``goals``: its goal holds."""

    def explain(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """Why the value of a problem's state, the batch, is infinite, in sentences; none if it is not."""

    def rests_on(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """The blanks that cannot decide, and but for which an infinite value would be finite."""


class NeverInfinite:
    """What an estimate says of infinite values that has none."""

    infinity_is_proof = False

    def explain(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """No value is infinite."""
        del batch, problem
        return ()

    def rests_on(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """No value is infinite."""
        del batch, problem
        return ()


@final
class Blind(NeverInfinite):
    """0 where the goal holds, else the cost of the cheapest action."""

    infinity_is_proof = True
    reads = frozenset[str]()

    def __init__(self, searched: Searched) -> None:
        self._cheapest = 0.0 if searched.costs else 1.0

    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state."""
        del batch, problems
        return np.where(goals, 0.0, self._cheapest)


@final
class AbstractionHeuristic:
    """A heuristic of tasks, evaluated on the abstraction of each problem's goal.

    Compiled by ``compile_goal`` once for each goal and set of objects of the problems in ``searched``
    (``of_state``: once for each root, too). To evaluate a batch, the facts of all states are read together;
    then one call for each compiled task evaluates its states, by the ``heuristic`` of this name.
    """

    def __init__(
        self,
        searched: Searched,
        compile_goal: Compile,
        heuristic: str,
        *,
        of_state: bool = False,
    ) -> None:
        self._model = searched.model
        self.abstractions = _compiled(searched, compile_goal, of_state)
        self.infinity_is_proof = all(a.infinity_is_proof for a in self.abstractions)
        # Problems that differ in the names of their objects alone share a task, and its evaluator.
        shared = {id(a.task): a for a in self.abstractions}
        numbers = {task: i for i, task in enumerate(shared)}
        self._task_of = np.array([numbers[id(a.task)] for a in self.abstractions], dtype=np.int64)
        self._shared = [
            (a, EngineEvaluator(a.task, heuristic, per_effect=a.per_effect)) for a in shared.values()
        ]
        self.reader = FactReader(searched.model, self.abstractions, searched.universes)

    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state; 0 where the goal holds."""
        values = np.empty(batch.size)
        for some in self.reader.portions.of(batch.size):
            values[some] = self._values(batch.span(some), problems[some])
        values[goals] = 0.0
        return values

    def _values(self, batch: StateBatch, problems: Tensor) -> Floats:
        facts: Bools = self.reader.read(batch, problems).cpu().numpy()
        tasks = self._task_of[problems.cpu().numpy()]
        values = np.empty(batch.size)
        for number in np.unique(tasks):
            rows = np.flatnonzero(tasks == number)
            abstraction, evaluator = self._shared[number]
            values[rows] = evaluator.values(abstraction.states(facts[rows]))
        return values

    def explain(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """Why the abstraction of a problem sees no plan from its state, the batch."""
        return self.abstractions[problem].explain(self._state(batch, problem))

    def rests_on(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """The blanks that cannot decide, and but for which a goal out of reach would be within it."""
        abstraction = self.abstractions[problem]
        doubted = _doubted(self._model, abstraction, batch)
        state = self._state(batch, problem)
        evaluator = EngineEvaluator(abstraction.task, "max")

        def reachable(blanks: Sequence[str]) -> bool:
            facts = sorted({fact for blank in blanks for fact in doubted[blank]})
            states = np.stack([state, state])
            states[0, facts], states[1, facts] = True, False
            return bool(np.isfinite(evaluator.values(states)).any())

        alone = tuple(blank for blank in doubted if reachable([blank]))
        return alone or (tuple(doubted) if reachable([*doubted]) else ())

    def _state(self, batch: StateBatch, problem: int) -> Bools:
        """The basic facts of a problem's state, the batch."""
        facts = self.reader.facts(batch, torch.tensor([problem], device=batch.device))
        state: Bools = self.abstractions[problem].states(facts.cpu().numpy())[0]
        return state


def _compiled(searched: Searched, compile_goal: Compile, of_state: bool) -> list[Abstraction]:
    """The abstraction of each problem.

    Problems with one goal and one set of objects share it, unless it is one of the initial state, too.
    """
    known: dict[tuple[int, Expr, int], Abstraction] = {}
    found = []
    for problem, (goal, universe) in enumerate(zip(searched.goals, searched.universes, strict=True)):
        key = (id(universe), goal, problem if of_state else 0)
        if key not in known:
            root = searched.roots[problem].batch  # its own objects alone, without padding
            values = {} if searched.candidates is None else searched.candidates[problem].values
            known[key] = compile_goal(searched.model, universe.types, goal, root, values)
        abstraction = known[key]
        if searched.costs:
            costs = costs_of(searched.model, searched.roots, problem, abstraction.steps)
            abstraction = abstraction.priced(costs)
        found.append(abstraction)
    return found


def _doubted(model: Model, abstraction: Abstraction, batch: StateBatch) -> dict[str, list[int]]:
    """The facts of a state that read a blank which was never trained, or whose truth is in between."""
    known = known_blanks(model)
    run = model.engine.open(batch, checked=False)
    found: dict[str, list[int]] = {}
    for form in abstraction.readings:
        blanks = model.domain.analysis.blanks(form.expr)
        if not blanks:
            continue
        rows = torch.tensor(object_places(form, batch.universe(0)), dtype=torch.int64, device=batch.device)
        rows = rows.reshape(len(form.rows), len(form.variables))
        places = {v.name: rows[None, :, i] for i, v in enumerate(form.variables)}
        node = model.engine.grounded(form.expr, form.variables, model.logic)
        truth = node(run.ground(places, len(form.rows)))
        truths = truth.float().reshape(1, -1).expand(1, len(form.rows))[0].tolist()
        for fact, value in zip(form.places, truths, strict=True):
            if decides_nothing(value, value) or not known.issuperset(blanks):
                for blank in blanks:
                    found.setdefault(blank, []).append(fact)
    return found


# The order in which open nodes are looked at.

FAR: Final = 1e12
"""Stands for an infinite estimate that proves nothing: such states come last, in the order of g. Of what is
counted, it is where there is nothing to choose from."""


@final
@dataclass(frozen=True, slots=True)
class Order:
    """Nodes by what was paid for them and by a heuristic, each with a weight."""

    heuristic: StateHeuristic
    of_g: float
    of_h: float

    def priority(self, g: Floats, h: Floats) -> Floats:
        """The least is expanded first."""
        return self.of_g * g + self.of_h * np.minimum(h, FAR)


def order_of(search: Search | ModelSearch, heuristic: StateHeuristic, weight: float) -> Order:
    """The order of a search: ``astar`` by g + h, ``wastar`` by g + w·h, ``gbfs`` by h; others are A*."""
    of_g = 0.0 if search == "gbfs" else 1.0
    return Order(heuristic, of_g, weight if search == "wastar" else 1.0)
