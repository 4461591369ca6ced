"""What other packages bring: entry points, and the errors where a package is not installed.

A package announces in its metadata what it has for pdsketch, by name, in a group of entry points:

- ``pdsketch.worlds``: classes of worlds, for `pdsketch.make_world`;
- ``pdsketch.commands``: modules of commands, as `pdsketch.cli.main` describes them;
- ``pdsketch.heuristics``: functions that make a heuristic of models of the text after ``NAME:``;
- ``pdsketch.agents``: functions that load an agent from a folder that has a file ``NAME.json``.

Names are listed without importing anything of these packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from pdsketch.lang import Error, error

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

WORLDS: Final = "pdsketch.worlds"
COMMANDS: Final = "pdsketch.commands"
HEURISTICS: Final = "pdsketch.heuristics"
AGENTS: Final = "pdsketch.agents"

DISTRIBUTION: Final = "pdsketch-planning"
"""What this package is called in a package index, where `pdsketch` is another project's."""

REPRODUCTION: Final = "pdsketch-paper"
"""The package that reproduces the paper."""

_OF_THE_REPRODUCTION: Final[Mapping[str, tuple[str, ...]]] = {
    WORLDS: ("babyai", "painting"),
    COMMANDS: ("data", "baseline", "demo", "reproduce"),
    HEURISTICS: ("gnn",),
    AGENTS: ("baseline",),
}
"""What that package brings: where it is not installed, whoever asks for it is told."""


@cache
def offered(group: str) -> Mapping[str, EntryPoint]:
    """What the packages that are installed have announced in a group, by name."""
    from importlib.metadata import entry_points  # large, and not needed to plan

    return {point.name: point for point in entry_points(group=group)}


def missing(group: str) -> list[str]:
    """The names of a group that the reproduction would bring, were it installed."""
    return [name for name in _OF_THE_REPRODUCTION[group] if name not in offered(group)]


def not_installed(what: str) -> Error:
    """The error that says which package brings ``what``."""
    message = f"{what} is in the package `{REPRODUCTION}`, which is not installed"
    return error("missing-package", message, help=f"install it with: pip install {REPRODUCTION}")


def missing_extra(package: str, extra: str, distribution: str = DISTRIBUTION) -> Error:
    """The error that says which extra of pdsketch, or of another distribution, brings ``package``."""
    message = f"this needs the package `{package}`, which is not installed"
    return error("missing-extra", message, help=f'install it with: pip install "{distribution}[{extra}]"')
