"""Goals of many problems, judged over one batch.

A goal is lifted: the objects it names become parameters, so that goals that
differ in their objects alone are one formula, evaluated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from pdsketch.abstract.facts import Form, by_form
from pdsketch.lang.terms import Expr
from pdsketch.lang.types import ObjectType
from pdsketch.search.latent.portions import Portions
from pdsketch.tensor.logic import CRISP, Logic
from pdsketch.tensor.model import Model
from pdsketch.tensor.node import Node
from pdsketch.tensor.read import Parameter
from pdsketch.tensor.scope import Binding
from pdsketch.tensor.state import StateBatch
from pdsketch.tensor.universe import Universe


@final
@dataclass(frozen=True, slots=True)
class _Group:
    """Problems whose goals have one form, and the place of each object, ``[problem, 1]``."""

    node: Node
    member: Tensor
    places: dict[str, Tensor]


@final
class Judge:
    """The truth of each problem's goal in any state of it."""

    def __init__(self, model: Model, goals: Sequence[Expr], universes: Sequence[Universe]) -> None:
        self._engine = model.engine
        self._portions = Portions()
        self._groups = [_group(form, universes, model) for form in by_form(goals, model.domain)]

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
        if self._portions.wants(batch.size):
            self._portions.learn(batch.size, run.nbytes)
        return truth.reshape(truth.shape[0]).expand(batch.size)


def open_node(form: Form, model: Model, logic: Logic = CRISP) -> Node:
    """The node of a form, whose variables are parameters."""
    scope: dict[str, Binding] = {}
    for variable in form.variables:
        assert isinstance(variable.type, ObjectType)
        scope[variable.name] = Parameter(variable.name, variable.type)
    return model.engine.lowering(logic).lower(form.expr, scope)


def _group(form: Form, universes: Sequence[Universe], model: Model) -> _Group:
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
    return _Group(open_node(form, model), member, places)
