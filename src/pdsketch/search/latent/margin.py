"""Plans that hold by a margin: goals, preconditions and gates of effects whose truth lies above a confidence.

What blanks say is then not cut at 0.5. The truth of a formula is that of Gödel's logic, so that every literal
that it needs holds by the margin: a blank must say more than 0.9, or of a negated one less than 0.1. A gate
is as surely open, or as surely closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import Tensor

from pdsketch.budget import Portions
from pdsketch.lang import Expr, Form, ObjectType, Step, Variable, lift_objects
from pdsketch.search.memory import Memory
from pdsketch.tensor import FuzzyLogic, Model, Node, Run, StateBatch, Universe, logic_of

CRISP_TRUTH: Final = 0.5
"""Above it, a blank is taken to be true."""

SOFT: Final[FuzzyLogic] = logic_of("godel")


@final
@dataclass(frozen=True, slots=True)
class Margin:
    """What the truth of goals, preconditions and gates must lie above."""

    confidence: float = CRISP_TRUTH

    def of_formula(self, model: Model, expr: Expr, variables: Sequence[Variable]) -> Node | None:
        """The truth of an expression, between 0 and 1; None where two-valued truth will do."""
        return None if self.is_crisp else model.engine.grounded(expr, variables, SOFT)

    def of_action(self, model: Model, action: str) -> Callable[[Run], Tensor] | None:
        """How surely an action does what it should, likewise: its precondition and its gates."""
        if self.is_crisp:
            return None
        program = model.engine.program(action, SOFT)
        return lambda run: torch.minimum(_per_instance(program.precondition(run)), program.decided(run))

    def clear_steps(self, model: Model, batch: StateBatch, steps: Sequence[Step]) -> Tensor:
        """Which states' steps hold by the margin, ``[state]``."""
        found = torch.ones(batch.size, dtype=torch.bool, device=batch.device)
        for action, rows, run in model.grouped(batch, list(steps)):
            truth = self.of_action(model, action.name)
            if truth is not None:
                cleared = self.clears(truth(run)).expand(run.batch.size, 1)[:, 0]
                found[slice(None) if rows is None else rows] = cleared
        return found

    @property
    def is_crisp(self) -> bool:
        """Whether two-valued truth will do."""
        return self.confidence <= CRISP_TRUTH

    def clears(self, truth: Tensor) -> Tensor:
        """Which truths are high enough."""
        return truth > self.confidence


def _per_instance(truth: Tensor) -> Tensor:
    """A truth over states and instances, also where it does not depend on the latter."""
    return truth.unsqueeze(1) if truth.dim() == 1 else truth


NO_MARGIN: Final = Margin()


# The goal test: the goals of many problems, over one batch of states.
#
# A goal is lifted: the objects it names become parameters, so that goals that
# differ in their objects alone are one formula, evaluated once.


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
    program of ``model``. What counts as true is said by ``margin``; what the world denied, as ``memories``
    know, does not.
    """

    def __init__(
        self,
        model: Model,
        goals: Sequence[Expr],
        universes: Sequence[Universe],
        margin: Margin = NO_MARGIN,
        memories: Sequence[Memory | None] = (),
    ) -> None:
        self._engine = model.engine
        self._denials = {p: (goals[p], m) for p, m in enumerate(memories) if m is not None and m.speaks}
        self._portions = Portions()
        self._margin = margin
        analysis = model.domain.analysis
        self.reads = frozenset[str]().union(*map(analysis.reads, dict.fromkeys(goals)))
        self._groups = [_group(form, universes, model, margin) for form in lift_objects(goals, model.domain)]

    def truth(self, batch: StateBatch, problems: Tensor) -> Tensor:
        """Whether each state satisfies the goal of its problem, ``[state]``."""
        parts = [self._truth(batch.span(some), problems[some]) for some in self._portions.of(batch.size)]
        held = parts[0] if len(parts) == 1 else torch.cat(parts)
        for problem, (goal, memory) in self._denials.items():
            rows = (held & (problems == problem)).nonzero().squeeze(1)
            denied = memory.denies(goal, batch.select(rows)) if len(rows) else None
            if denied is not None:
                held[rows] &= ~denied
        return held

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
