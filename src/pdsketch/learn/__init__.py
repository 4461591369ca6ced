"""Episodes → trained models.

The package can be called: `pdsketch.learn(world, sketch)` learns by acting (`pdsketch.onpolicy.learn`).
Importing a module of this package binds ``pdsketch.learn`` to the package: the name has to serve for both.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *args: Any, **settings: Any) -> Any:
        """Learn by acting; see `pdsketch.onpolicy.learn.learn`."""
        return import_module("pdsketch.onpolicy.learn").learn(*args, **settings)


sys.modules[__name__].__class__ = _CallablePackage
