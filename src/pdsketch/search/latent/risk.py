"""What there is to try where no plan is known: the likeliest step whose precondition does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from pdsketch.lang import Step
from pdsketch.search.latent.candidates import CandidateSource
from pdsketch.search.latent.instances import Instances
from pdsketch.search.latent.margin import CRISP_TRUTH, SOFT
from pdsketch.search.latent.options import options_for
from pdsketch.search.memory import Memory
from pdsketch.tensor import Model, State


def likeliest_step(
    model: Model, state: State, goal: str, memory: Memory, least: float, given: Mapping[str, Any]
) -> tuple[Step, float] | None:
    """The step of the highest chance among those whose preconditions have a truth from ``least`` to 0.5.

    The chance is that truth times what ``memory`` says; what it bars is left out. ``state`` and ``goal``
    are the problem in ``model``, ``given`` the options of planning. Returned with its truth; None: none is.
    """
    batch = model.encode(state, crisp=True).batch
    pool = CandidateSource(model, state, model.formula(batch, goal), options_for(model, given)).advance(0)
    best: tuple[float, float, Step] | None = None
    problem = torch.zeros(1, dtype=torch.int64, device=batch.device)
    with torch.inference_mode():
        for action in model.domain.actions.values():
            instances = Instances(action, [batch.universe(0)], [pool], batch.device)
            if not instances.count:
                continue
            arguments = instances.arguments(problem, slice(0, instances.count))
            run = model.engine.open(batch).ground(arguments, instances.count)
            truth = model.engine.per_instance(run, model.engine.program(action.name, SOFT).precondition)[0]
            chance = truth * (-memory.prices(action.name, batch, arguments)[0]).exp()
            chance = torch.where((truth >= least) & (truth <= CRISP_TRUTH), chance, 0.0)
            at = int(chance.argmax())
            if float(chance[at]) > 0 and (best is None or float(chance[at]) > best[0]):
                best = float(chance[at]), float(truth[at]), instances.step(0, at)
    return None if best is None else (best[2], best[1])
