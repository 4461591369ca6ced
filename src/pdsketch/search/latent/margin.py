"""Plans that hold by a margin: goals, preconditions and gates of effects whose truth lies above a confidence.

What blanks say is then not cut at 0.5. The truth of a formula is that of Gödel's logic, so that every literal
that it needs holds by the margin: a blank must say more than 0.9, or of a negated one less than 0.1. A gate
is as surely open, or as surely closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isinf
from typing import Final, final

import torch
from torch import Tensor

from pdsketch.budget import Budget
from pdsketch.lang import Expr, Step, Variable
from pdsketch.search.result import Result
from pdsketch.tensor import FuzzyLogic, Model, Node, Run, StateBatch, logic_of

CRISP_TRUTH: Final = 0.5
"""Above it, a blank is taken to be true."""

_SOFT: Final[FuzzyLogic] = logic_of("godel")


@final
@dataclass(frozen=True, slots=True)
class Margin:
    """What the truth of goals, preconditions and gates must lie above."""

    confidence: float = CRISP_TRUTH

    def of_formula(self, model: Model, expr: Expr, variables: Sequence[Variable]) -> Node | None:
        """The truth of an expression, between 0 and 1; None where two-valued truth will do."""
        return None if self.is_crisp else model.engine.grounded(expr, variables, _SOFT)

    def of_action(self, model: Model, action: str) -> Callable[[Run], Tensor] | None:
        """How surely an action does what it should, likewise: its precondition and its gates."""
        if self.is_crisp:
            return None
        program = model.engine.program(action, _SOFT)
        return lambda run: torch.minimum(_per_instance(program.precondition(run)), program.decided(run))

    def table(self, model: Model, batch: StateBatch, atom: Expr, variables: Sequence[Variable]) -> Tensor:
        """The truth of an atom for all objects, ``[state, *variables]``: Boolean where that will do.

        ``atom`` is asked of ``model`` in the states of ``batch``; its arguments are the ``variables``, in the
        order of the axes.
        """
        run = model.engine.open(batch)
        if self.is_crisp:
            return model.engine.table(run, atom, variables).bool()
        return model.engine.table(run, atom, variables, _SOFT)

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


def levels_of(confidence: float) -> tuple[float, ...]:
    """What is tried: the confidence that is asked for, half as far from 0.5, and 0.5."""
    if confidence <= CRISP_TRUTH:
        return (CRISP_TRUTH,)
    return confidence, (confidence + CRISP_TRUTH) / 2, CRISP_TRUTH


def share_of(budget: Budget, level: float) -> Budget:
    """What may be spent on a level: half of what is left, and in the end all of it."""
    left = budget.left()
    return budget if level == CRISP_TRUTH or isinf(left) else budget.narrowed(left / 2)


def lowered(result: Result, wanted: float, level: float) -> Result:
    """A result with a warning where its plan holds by less than was asked for."""
    if not result.solved or level >= wanted:
        return result
    said = (
        f"no plan was found whose goal, preconditions and gates hold with a truth above {wanted:g}: "
        f"those of this one hold with a truth above {level:g}"
    )
    return replace(result, warnings=(*result.warnings, said))
