"""Goal counting: how many literals of the goal are false, for the objects that come nearest to it.

The oldest of heuristics (differences of GPS: Newell and Simon, 1961). It knows nothing of actions and reads
the state alone: where a parameter may take any value, so that a relaxation sees every relation one step
away, it still tells a tower of two from one of three.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.kernels.arrays import Bools, Floats
from pdsketch.lang.terms import Expr, Logic, Quantified, Variable
from pdsketch.search.latent.heuristics import Searched
from pdsketch.tensor.compile.node import Run
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import StateBatch

NEVER: Final = 1e6
"""What it counts for where there is nothing to choose from; finite, since it proves nothing."""


@final
class GoalCount:
    """The least number of literals to be made true."""

    infinity_is_proof = False

    def __init__(self, searched: Searched) -> None:
        self._model, self._goals = searched.model, searched.goals

    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state."""
        found = np.zeros(len(goals))
        for problem in sorted(set(problems.tolist())):
            rows = (problems == problem).nonzero()[:, 0]
            run = self._model.engine.open(batch.select(rows.to(batch.device)))
            counted = literals_to_go(self._model, run, self._goals[problem])
            found[rows.cpu().numpy()] = counted.double().cpu().numpy()
        return np.where(goals, 0.0, np.maximum(found, 1.0))

    def explain(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """No value is infinite."""
        del batch, problem
        return ()

    def rests_on(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """No value is infinite."""
        del batch, problem
        return ()


def literals_to_go(
    model: Model, run: Run, expr: Expr, variables: tuple[Variable, ...] = (), *, wanted: bool = True
) -> Tensor:
    """How many literals differ from what makes the formula ``wanted``, ``[state, *variables]``.

    All parts of a conjunction count, of a disjunction the one with the least; quantifiers alike.
    """
    match expr:
        case Logic(op="not", args=(negated,)):
            return literals_to_go(model, run, negated, variables, wanted=not wanted)
        case Logic(op="implies", args=(given, then)):
            parts = [
                literals_to_go(model, run, given, variables, wanted=not wanted),
                literals_to_go(model, run, then, variables, wanted=wanted),
            ]
            return _joined(parts, all_=not wanted)
        case Logic(op=op, args=args) if args:
            parts = [literals_to_go(model, run, part, variables, wanted=wanted) for part in args]
            return _joined(parts, all_=(op == "and") == wanted)
        case Quantified(op=op, variables=own, body=body):
            counts = literals_to_go(model, run, body, (*variables, *own), wanted=wanted)
            return _over_objects(run.batch, counts, own, all_=(op == "forall") == wanted)
        case _:
            truth = model.engine.table(run, expr, variables)
            return (truth.bool() != wanted).float()


def _joined(parts: Sequence[Tensor], *, all_: bool) -> Tensor:
    both = torch.stack(list(parts))
    return both.sum(0) if all_ else both.amin(0)


def _over_objects(batch: StateBatch, counts: Tensor, own: Sequence[Variable], *, all_: bool) -> Tensor:
    """The last axes, one for each variable, summed up or reduced to the least; padding does not count."""
    for variable in reversed(own):
        mask = batch.mask(variable.type)  # type: ignore[arg-type]
        if mask is not None:
            real = mask.reshape(-1, *[1] * (counts.dim() - 2), mask.shape[-1])
            counts = torch.where(real, counts, 0.0 if all_ else NEVER)
        if all_:
            counts = counts.sum(-1)
        else:
            counts = counts.amin(-1) if counts.shape[-1] else counts.new_full(counts.shape[:-1], NEVER)
    return counts
