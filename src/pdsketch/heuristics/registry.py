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

from collections.abc import Collection
from typing import Final, final

from pdsketch.lang import Error, dataclass, did_you_mean, error


@final
@dataclass(frozen=True, slots=True)
class Heuristic:
    """A heuristic's name, and what it promises."""

    name: str
    admissible: bool
    relaxed: bool


HEURISTICS: Final = {
    heuristic.name: heuristic
    for heuristic in (
        Heuristic("ff", admissible=False, relaxed=True),
        Heuristic("add", admissible=False, relaxed=True),
        Heuristic("max", admissible=True, relaxed=True),
        Heuristic("lmcut", admissible=True, relaxed=True),
        Heuristic("goalcount", admissible=False, relaxed=False),
        Heuristic("blind", admissible=True, relaxed=False),
    )
}

NAMES: Final = tuple(HEURISTICS)
"""The default first."""


def unknown_heuristic(name: object, known: Collection[str], whose: str) -> Error:
    """The error that lists the heuristics that are known ("for problems", "for models")."""
    listed = ", ".join(f"`{other}`" for other in known)
    shown = name if isinstance(name, str) else f"of the type {type(name).__name__}"
    return error(
        "unknown-heuristic",
        f"there is no heuristic `{shown}` for {whose}; known are {listed}",
        help=did_you_mean(str(name), known),
    )


def find_heuristic(name: object) -> Heuristic:
    """The heuristic of that name; an `Error` that lists them all if there is none."""
    if not isinstance(name, str) or name not in HEURISTICS:
        raise unknown_heuristic(name, HEURISTICS, "problems")
    return HEURISTICS[name]
