"""What ground actions cost where a search begins."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pdsketch.lang import LARGEST_COST, Action, ObjectType, Step, error
from pdsketch.tensor import Model, StateBatch


def checked_cost(action: Action, cost: Tensor) -> Tensor:
    """What instances of an action cost; refused where it is too large a number."""
    if not bool((cost <= LARGEST_COST).all()):
        raise error(
            "cost-too-large",
            f"`{action.name}` costs {float(cost.max()):g}, and a cost must be a number of 32 bits",
            action.span,
            help="give smaller costs, or plan with `costs=False`",
        )
    return cost


def prices_of(model: Model, roots: StateBatch, problem: int, steps: Sequence[Step]) -> list[float]:
    """What ground actions cost in the root of a problem; an action over values is taken to cost nothing.

    ``roots`` are the initial states, of which that of ``problem`` is read; ``steps`` are the ground actions;
    ``model`` evaluates their costs.
    """
    state = roots[problem]
    run = model.engine.open(state.batch)
    found = [0.0] * len(steps)
    by_action: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        by_action.setdefault(step[0], []).append(number)
    for name, numbers in by_action.items():
        action = model.domain.actions[name]
        types = [p.type for p in action.parameters if isinstance(p.type, ObjectType)]
        if action.cost is None or len(types) < len(action.parameters):
            continue
        places = {}
        for i, (parameter, type_) in enumerate(zip(action.parameters, types, strict=True), start=1):
            at = [state.batch.universe(0).at(steps[number][i], type_) for number in numbers]
            places[parameter.name] = torch.tensor([at], device=state.device)
        cost = model.engine.cost(run.ground(places, len(numbers)), name)
        assert cost is not None
        for number, value in zip(numbers, cost[0].tolist(), strict=True):
            found[number] = min(max(value, 0.0), LARGEST_COST)
    return found
