"""How long a shortest plan is: A* with hmax in the abstraction of a model whose modules are exact."""

from __future__ import annotations

from typing import Final

import torch

from pdsketch.abstract import compile_and_or
from pdsketch.search import PlanOptions, search
from pdsketch.tensor import Model, State

MOST_EXPANSIONS: Final = 50_000
"""Where more are needed, the optimum is not known. About five seconds."""


def shortest(model: Model, state: State, goal: str) -> int | None:
    """The length of a shortest plan, None where it was not found.

    hmax is admissible, and an abstraction of exact modules has the model's own transitions.
    """
    with torch.inference_mode():
        batch = model.encode(state, crisp=True).batch
        abstraction = compile_and_or(model, batch.universe(0).types, model.formula(batch, goal), batch)
    options = PlanOptions(search="astar", heuristic="max", max_expansions=MOST_EXPANSIONS)
    plan = search(abstraction.task, options).plan
    return None if plan is None else len(plan)
