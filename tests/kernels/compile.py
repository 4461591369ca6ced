"""The kernels of planning, compiled before the tests: ``python -m tests.kernels.compile``.

Each worker of pytest would compile all of them, at the same time. Where it has been done before, this takes
about a second.
"""

from __future__ import annotations

import numpy as np
from tests.heuristics.tasks import chain

from pdsketch.heuristics.evaluator import KernelEvaluator
from pdsketch.search.latent.frontier import Frontier
from pdsketch.search.packed.engine import PackedOptions, search


def problems() -> None:
    """What it takes to search a task and a model."""
    search(chain(2), PackedOptions())
    frontier, one, cost = Frontier(1), np.zeros(1, np.int64), np.zeros(1)
    _, entry = frontier.admit(np.zeros((1, 2), np.int64), cost)
    frontier.add(problem=one, parent=one, action=one, entry=entry, g=cost, h=cost, f=cost, depth=one)
    frontier.least_f(one)
    frontier.pop(one, one + 1)
    KernelEvaluator(chain(2), "ff").values(np.eye(3, dtype=np.bool_))


if __name__ == "__main__":
    problems()
