"""All heuristics by name, and the kernel that computes any of them.

- ``blind``: the cost of the cheapest operator, 0 in goal states.
- ``goalcount``: the number of goal literals that do not hold.
- ``max``: hmax, the costliest goal literal in the delete relaxation (Bonet & Geffner 2001); admissible.
- ``add``: hadd, the sum of the goal literals' costs there (Bonet & Geffner 2001).
- ``ff``: hFF (Hoffmann & Nebel 2001), the cost of a relaxed plan made of hadd's best supporters.

``max``, ``add`` and ``ff`` are infinite only where even the relaxed task has no
plan. ``add`` and ``ff`` also name preferred operators.
"""

from __future__ import annotations

from typing import final

import numpy as np

from pdsketch.heuristics.explore import Work, explore, relaxed_plan
from pdsketch.heuristics.names import unknown_heuristic
from pdsketch.heuristics.relaxation import Relaxation
from pdsketch.kernels import Words, holds, kernel
from pdsketch.lang import dataclass

BLIND, GOALCOUNT, MAX, ADD, FF = range(5)


@final
@dataclass(frozen=True, slots=True)
class Heuristic:
    """A heuristic's name, the number by which kernels know it, and what it promises."""

    name: str
    code: int
    admissible: bool
    relaxed: bool


HEURISTICS = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic("blind", BLIND, admissible=True, relaxed=False),
        Heuristic("goalcount", GOALCOUNT, admissible=False, relaxed=False),
        Heuristic("max", MAX, admissible=True, relaxed=True),
        Heuristic("add", ADD, admissible=False, relaxed=True),
        Heuristic("ff", FF, admissible=False, relaxed=True),
    )
}


def find_heuristic(name: object) -> Heuristic:
    """The heuristic of that name; an `Error` that lists them all if there is none."""
    if not isinstance(name, str) or name not in HEURISTICS:
        raise unknown_heuristic(name, HEURISTICS, "problems")
    return HEURISTICS[name]


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
