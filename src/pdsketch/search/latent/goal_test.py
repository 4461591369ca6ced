"""The goal test: the goals of many problems, over one batch of states.

A goal is lifted: the objects it names become parameters, so that goals that
differ in their objects alone are one formula, evaluated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from pdsketch.budget import Portions
from pdsketch.lang import Expr, Form, ObjectType, lift_objects
from pdsketch.search.latent.margin import NO_MARGIN, Margin
from pdsketch.tensor import Model, Node, State, StateBatch, Universe


@final
@dataclass(frozen=True, slots=True)
class _Group:
    """Problems whose goals have one form, and the place of each object, ``[problem, 1]``.

    ``truth`` is asked where the goal must hold by a margin.
    """

    node: Node
    truth: Node | None
    member: Tensor
    places: dict[str, Tensor]


@final
class GoalTest:
    """The truth of each problem's goal in any state of it.

    ``goals`` and ``universes`` (the objects) have an entry for each problem; goals of one form are one
    program of ``model``. What counts as true is said by ``margin``.
    """

    def __init__(
        self,
        model: Model,
        goals: Sequence[Expr],
        universes: Sequence[Universe],
        margin: Margin = NO_MARGIN,
    ) -> None:
        self._engine = model.engine
        self._portions = Portions()
        self._margin = margin
        analysis = model.domain.analysis
        self.reads = frozenset[str]().union(*map(analysis.reads, goals))
        self._groups = [_group(form, universes, model, margin) for form in lift_objects(goals, model.domain)]

    def truth(self, batch: StateBatch, problems: Tensor) -> Tensor:
        """Whether each state satisfies the goal of its problem, ``[state]``."""
        parts = [self._truth(batch.span(some), problems[some]) for some in self._portions.of(batch.size)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _truth(self, batch: StateBatch, problems: Tensor) -> Tensor:
        if len(self._groups) == 1:
            return self._of_group(self._groups[0], batch, problems)
        found = torch.zeros(batch.size, dtype=torch.bool, device=batch.device)
        for group in self._groups:
            here = group.member.index_select(0, problems).nonzero().squeeze(1)
            if here.shape[0]:
                some = batch.select(here)
                found[here] = self._of_group(group, some, problems.index_select(0, here))
        return found

    def _of_group(self, group: _Group, batch: StateBatch, problems: Tensor) -> Tensor:
        places = {name: table.index_select(0, problems) for name, table in group.places.items()}
        run = self._engine.open(batch).ground(places, 1)
        truth = group.node(run)
        if group.truth is not None:
            truth = truth & self._margin.clears(group.truth(run))
        if self._portions.wants(batch.size):
            self._portions.learn(batch.size, run.nbytes)
        return truth.reshape(truth.shape[0]).expand(batch.size)


def hold_at_first(model: Model, states: Sequence[State], goals: Sequence[Expr], margin: Margin) -> list[bool]:
    """Which goals hold in their initial states.

    ``states`` and ``goals`` have an entry for each problem; ``model`` evaluates them together, and what
    counts as true is said by ``margin``.
    """
    roots = StateBatch.of(states)
    test = GoalTest(model, goals, [roots.universe(p) for p in range(roots.size)], margin)
    held: list[bool] = test.truth(roots, torch.arange(roots.size, device=roots.device)).tolist()
    return held


def _group(form: Form, universes: Sequence[Universe], model: Model, margin: Margin) -> _Group:
    device = model.device
    member = torch.zeros(len(universes), dtype=torch.bool, device=device)
    member[list(form.places)] = True
    places = {}
    for i, variable in enumerate(form.variables):
        assert isinstance(variable.type, ObjectType)
        column = torch.zeros(len(universes), 1, dtype=torch.int64)
        for row, problem in zip(form.rows, form.places, strict=True):
            column[problem, 0] = universes[problem].at(row[i], variable.type)
        places[variable.name] = column.to(device)
    truth = margin.of_formula(model, form.expr, form.variables)
    return _Group(model.engine.grounded(form.expr, form.variables), truth, member, places)
