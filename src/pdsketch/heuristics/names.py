"""The names of the heuristics of tasks, and the error for a name that is none; imports nothing large."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pdsketch.lang import Error, did_you_mean, error

NAMES: Final = ("ff", "add", "max", "lmcut", "goalcount", "blind")
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
