"""What ground actions cost where a search begins."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from pdsketch.lang.domain import LARGEST_COST
from pdsketch.lang.steps import Step
from pdsketch.lang.types import ObjectType
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import StateBatch


def prices_of(model: Model, roots: StateBatch, problem: int, steps: Sequence[Step]) -> list[float]:
    """What ground actions cost in the root of a problem; one over values yet to be chosen costs nothing."""
    state = roots[problem]
    run = model.engine.open(state.batch)
    found = [0.0] * len(steps)
    by_action: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        if not any(isinstance(argument, str) and argument.startswith("?") for argument in step[1:]):
            by_action.setdefault(step[0], []).append(number)
    for name, numbers in by_action.items():
        action = model.domain.actions[name]
        if action.cost is None:
            continue
        places = {}
        for i, parameter in enumerate(action.parameters, start=1):
            given = [steps[number][i] for number in numbers]
            if isinstance(parameter.type, ObjectType):
                given = [state.batch.universe(0).at(name, parameter.type) for name in given]
            places[parameter.name] = torch.tensor([given], device=state.device)
        cost = model.engine.cost(run.ground(places, len(numbers)), name)
        assert cost is not None
        for number, value in zip(numbers, cost[0].tolist(), strict=True):
            found[number] = min(max(value, 0.0), LARGEST_COST)
    return found
