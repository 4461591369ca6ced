"""Tells Gymnasium of our environment, whichever of the two packages is imported first.

Gymnasium asks nobody: packages register what they have when they are imported. But importing Gymnasium takes
longer than most of our commands, so that we wait until somebody else has done it.
"""

from __future__ import annotations

import sys
from typing import Any, Final

NAME: Final = "pdsketch/PDDL-v0"


class _Waiting:
    """A finder of modules that finds none: from the imports of Gymnasium, it learns that it is there."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Called before a module is imported that has not been so far."""
        if name.startswith("gymnasium.") and _is_there():
            sys.meta_path.remove(self)
            _register()


def register() -> None:
    """Register `NAME`, now or as soon as Gymnasium is imported."""
    if _is_there():
        _register()
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


def _is_there() -> bool:
    return hasattr(sys.modules.get("gymnasium.envs.registration"), "register_envs")  # its last function


def _register() -> None:
    sys.modules["gymnasium.envs.registration"].register(
        NAME, entry_point="pdsketch.interchange.pddl_environment:PDDLEnvironment"
    )
