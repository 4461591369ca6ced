"""A room's door: what other rooms import from a package, each name loaded on first use.

The names stand once, in the package's stub ``__init__.pyi``: type checkers and editors read it, and so does
`open_door`. Thus importing a room costs nothing, and a name costs the one module that it stands in.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module

_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_NAME = re.compile(r"\b(\w+) as \1\b")


def open_door(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package whose stub lies beside ``file``."""
    with open(f"{file.removesuffix('c')}i", encoding="utf-8") as stub:
        homes = names_in(stub.read())

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        found = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, found)  # the next use does not come here
        return found

    return get, lambda: sorted(homes)


def names_in(stub: str) -> dict[str, str]:
    """The names of a stub and the modules that they stand in: ``from MODULE import NAME as NAME``."""
    return {name: found[1] for found in _IMPORT.finditer(stub) for name in _NAME.findall(found[2])}
