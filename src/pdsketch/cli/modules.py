"""``--module NAME=package:function``: your own functions and modules, from the command line.

Naming one runs code of yours: the package is imported, from the current folder too.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from pdsketch.lang.diagnostics import Diagnostic, Error, did_you_mean

_FORM = "write --module NAME=package:function, as in --module facing=pdsketch.envs.babyai.modules:facing"


def add_module_argument(parser: argparse.ArgumentParser) -> None:
    """The option, which may be given several times."""
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        metavar="NAME=PACKAGE:FUNCTION",
        help="fill a blank or an external function with your own function, nn.Module or class of one",
    )


def given_modules(args: argparse.Namespace) -> dict[str, Callable[..., Any]]:
    """What the command line gives for blanks and external functions, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for text in args.module:
        name, equals, place = text.partition("=")
        package, colon, attribute = place.partition(":")
        if not (name and equals and package and colon and attribute):
            raise _bad(f"`{text[:80]}` names no function", _FORM)
        if name.lower() in found:
            raise _bad(f"`{name}` is given twice", "give each blank one function")
        found[name.lower()] = _made(_attribute(_package(package), package, attribute), place)
    return found


def _package(name: str) -> Any:
    with _current_folder():
        try:
            return import_module(name)
        except ModuleNotFoundError as missing:
            if missing.name is None or not f"{name}.".startswith(f"{missing.name}."):
                raise  # the module is there, and something that it imports is not
            raise _bad(
                f"there is no Python module `{missing.name}`",
                "it must lie in the current folder, or be installed",
            ) from None
        except (TypeError, ValueError):
            raise _bad(f"`{name[:80]}` is no name of a Python module", _FORM) from None


@contextmanager
def _current_folder() -> Iterator[None]:
    """Within, modules are looked for in the current folder first, as ``python -m`` does."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def _attribute(found: Any, package: str, dotted: str) -> Any:
    for word in dotted.split("."):
        if not hasattr(found, word):
            known = [name for name in dir(found) if not name.startswith("_")]
            raise _bad(f"`{package}` has no `{dotted[:80]}`", did_you_mean(word, known))
        found = getattr(found, word)
    return found


def _made(found: Any, place: str) -> Callable[..., Any]:
    """A function or a module as it is; of a class of modules an instance."""
    from torch import nn

    if isinstance(found, type):
        if not issubclass(found, nn.Module):
            raise _bad(
                f"`{place[:80]}` is a class, and no nn.Module", "name a function, a module or a class of one"
            )
        try:
            return found()
        except TypeError as why:
            raise _bad(
                f"`{place[:80]}` cannot be made without arguments: {why}",
                "name an instance, or a class that needs no arguments",
            ) from None
    if not callable(found):
        raise _bad(f"`{place[:80]}` is a {type(found).__name__}, and no function", _FORM)
    called: Callable[..., Any] = found
    return called


def _bad(message: str, help: str | None) -> Error:
    return Error([Diagnostic("bad-module", message, help=help, file="<command line>")])
