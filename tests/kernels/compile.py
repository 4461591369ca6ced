"""The kernels of planning, compiled before the tests: ``python -m tests.kernels.compile``.

Each worker of pytest would compile all of them, at the same time. Here two processes compile a part each,
and what both need is compiled once. Where it has been done before, this takes about a second.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.heuristics.tasks import chain

from pdsketch.budget import UNLIMITED
from pdsketch.heuristics.evaluator import KernelEvaluator
from pdsketch.kernels.csr import csr_of
from pdsketch.lang.load import load_domain, load_problem
from pdsketch.search.latent.frontier import Frontier
from pdsketch.search.options import problem_options
from pdsketch.search.packed.engine import kernel_settings, search
from pdsketch.search.packed.whole import search_whole
from pdsketch.task.draft import Draft
from pdsketch.task.grounding import ground
from pdsketch.task.mutexes import possible_pairs
from pdsketch.task.narrowing import narrow
from pdsketch.task.reach import draft_rows

EXAMPLES = Path(__file__).parents[2] / "examples" / "blocks"


def problems() -> None:
    """What it takes to search a task, which comes first because models need it, too, and to ground one."""
    search(chain(2), problem_options())
    frontier, one, cost = Frontier(1), np.zeros(1, np.int64), np.zeros(1)
    _, entry = frontier.admit(np.zeros((1, 2), np.int64), cost)
    frontier.add(problem=one, parent=one, action=one, entry=entry, g=cost, h=cost, f=cost, depth=one)
    frontier.least_f(one)
    frontier.pop(one, one + 1)
    KernelEvaluator(chain(2), "ff").values(np.eye(3, dtype=np.bool_))
    possible_pairs(chain(2), np.full(3, -1), UNLIMITED)
    ground(load_problem(EXAMPLES / "p01.pddl", load_domain(EXAMPLES / "domain.pddl")))


def models() -> None:
    """What it takes to narrow a task to a state and to search it in one call."""
    draft = Draft(
        rules=np.zeros(1, np.int32),
        origins=np.zeros(1, np.int32),
        costs=np.ones(1),
        preconditions=csr_of([[1]]),
        owners=np.zeros(1, np.int32),
        conditions=csr_of([[]]),
        heads=csr_of([[0]]),
        axiom_heads=np.zeros(0, np.int32),
        axiom_bodies=csr_of([]),
        goal=np.zeros(1, np.int32),
        possible=True,
        groups=(),
    )
    init = np.zeros(1, np.bool_)
    rows = draft_rows(draft, init, np.zeros(1, np.int32))
    narrow(rows, init)
    search_whole(rows, init[None], kernel_settings(problem_options()), 1e9, False)


if __name__ == "__main__":
    if sys.argv[1:] == ["models"]:
        models()
    else:
        with subprocess.Popen([sys.executable, "-m", "tests.kernels.compile", "models"]) as other:
            problems()
        sys.exit(other.returncode)
