"""All heuristics by name; the engine computes them.

- ``blind``: the cost of the cheapest operator, 0 in goal states.
- ``goalcount``: the number of goal literals that do not hold.
- ``max``: hmax, the costliest goal literal in the delete relaxation (Bonet & Geffner 2001); admissible.
- ``add``: hadd, the sum of the goal literals' costs there (Bonet & Geffner 2001).
- ``ff``: hFF (Hoffmann & Nebel 2001), the cost of a relaxed plan made of hadd's best supporters.
- ``lmcut``: the landmark-cut heuristic (Helmert & Domshlak 2009); admissible, and far above ``max``.

``max``, ``add``, ``ff`` and ``lmcut`` are infinite only where even the relaxed task has no
plan. ``add`` and ``ff`` also name preferred operators.
"""

from __future__ import annotations

from typing import final

from pdsketch.heuristics.names import unknown_heuristic
from pdsketch.lang import dataclass


@final
@dataclass(frozen=True, slots=True)
class Heuristic:
    """A heuristic's name, and what it promises."""

    name: str
    admissible: bool
    relaxed: bool


HEURISTICS = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic("blind", admissible=True, relaxed=False),
        Heuristic("goalcount", admissible=False, relaxed=False),
        Heuristic("max", admissible=True, relaxed=True),
        Heuristic("add", admissible=False, relaxed=True),
        Heuristic("ff", admissible=False, relaxed=True),
        Heuristic("lmcut", admissible=True, relaxed=True),
    )
}


def find_heuristic(name: object) -> Heuristic:
    """The heuristic of that name; an `Error` that lists them all if there is none."""
    if not isinstance(name, str) or name not in HEURISTICS:
        raise unknown_heuristic(name, HEURISTICS, "problems")
    return HEURISTICS[name]
