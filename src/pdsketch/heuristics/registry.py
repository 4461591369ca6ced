"""All heuristics by name, and the kernel that computes any of them.

- ``blind``: the cost of the cheapest operator, 0 in goal states.
- ``goalcount``: the number of goal literals that do not hold.
- ``max``: hmax, admissible.
- ``add``: hadd.
- ``ff``: hFF, the cost of a relaxed plan made of hadd's best supporters.

``max``, ``add`` and ``ff`` are infinite only where even the relaxed task has no
plan. ``add`` and ``ff`` also name preferred operators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from pdsketch.heuristics.explore import Work, explore, relaxed_plan
from pdsketch.heuristics.relaxation import Relaxation
from pdsketch.kernels.bits import Words, holds
from pdsketch.kernels.compiled import kernel
from pdsketch.lang.diagnostics import did_you_mean, error

BLIND, GOALCOUNT, MAX, ADD, FF = range(5)


@final
@dataclass(frozen=True, slots=True)
class Heuristic:
    """A heuristic's name, the number by which kernels know it, and what it promises."""

    name: str
    code: int
    admissible: bool
    relaxed: bool
    claim: str


HEURISTICS = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic("blind", BLIND, True, False, "the cheapest operator's cost, 0 in goal states"),
        Heuristic("goalcount", GOALCOUNT, False, False, "how many goal literals do not hold"),
        Heuristic("max", MAX, True, True, "the costliest goal literal in the delete relaxation"),
        Heuristic("add", ADD, False, True, "the sum of the goal literals' costs in the delete relaxation"),
        Heuristic("ff", FF, False, True, "the cost of a relaxed plan"),
    )
}


def find_heuristic(name: str) -> Heuristic:
    """The heuristic of that name; an `Error` that lists them all if there is none."""
    if name in HEURISTICS:
        return HEURISTICS[name]
    known = ", ".join(f"`{known}`" for known in HEURISTICS)
    raise error(
        "unknown-heuristic",
        f"there is no heuristic `{name}` for problems; known are {known}",
        help=did_you_mean(name, HEURISTICS),
    )


@kernel
def is_goal(relaxation: Relaxation, state: Words) -> bool:
    """Whether all goal literals hold."""
    for literal in relaxation.goal_literals:  # noqa: SIM110
        if not holds(literal, state):
            return False
    return True


@kernel
def evaluate(code: int, relaxation: Relaxation, work: Work, state: Words) -> float:
    """The value of heuristic ``code`` in ``state``, which holds derived facts, too."""
    work.counts[0] = 0
    if code == BLIND:
        return 0.0 if is_goal(relaxation, state) else relaxation.cheapest
    total = 0
    if code == GOALCOUNT:
        for literal in relaxation.goal_literals:
            if not holds(literal, state):
                total += 1
        return float(total)
    if not explore(relaxation, work, state, code == MAX):
        return np.inf
    if code == FF:
        return relaxed_plan(relaxation, work, state) / relaxation.scale
    for proposition in relaxation.goal:
        if code == MAX:
            total = max(total, work.cost[proposition])
        else:
            total += work.cost[proposition]
    if code == ADD:
        relaxed_plan(relaxation, work, state)
    return total / relaxation.scale
