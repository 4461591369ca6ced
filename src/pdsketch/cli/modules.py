"""``--module NAME=package:function``: your own functions and modules, from the command line.

Naming one runs code of yours: the package is imported, from the current folder too.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pdsketch.budget import apart
from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.lang import Diagnostic, Domain, Error, did_you_mean, load_domain

if TYPE_CHECKING:
    from pdsketch.tensor import Model


_CALL = re.compile(r"([^()]+)\((.*)\)", re.DOTALL)

_FORM = "write --module NAME=package:function, as in --module facing=my_code.directions:facing"


def add_module_argument(parser: argparse.ArgumentParser) -> None:
    """The option, which may be given several times."""
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        metavar="NAME=PACKAGE:FUNCTION",
        help="fill a blank or an external function with your own function, nn.Module or class of one, as in"
        " left-of=pdsketch.nets:Offset(3); the name of a predicate or an action stands for its only blank",
    )


def add_proposal_arguments(parser: argparse.ArgumentParser) -> None:
    """Functions that propose values, by the name of a type or of a parameter."""
    for option, name, what in (
        ("--generator", "TYPE", "the parameters of a type: FUNCTION(model, state, round)"),
        ("--sampler", "ACTION.?PARAMETER", "one parameter: FUNCTION(model, state, *objects)"),
    ):
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar=f"{name}=PACKAGE:FUNCTION",
            help=f"with a model: propose values for {what}",
        )


def given_modules(args: argparse.Namespace) -> dict[str, Callable[..., Any]]:
    """What the command line gives for blanks and external functions, by name."""
    return given_functions(args.module)


def given_functions(texts: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Functions by name, from texts such as ``NAME=package:function``."""
    found: dict[str, Callable[..., Any]] = {}
    for text in texts:
        name, equals, place = text.partition("=")
        package, colon, attribute = place.partition(":")
        if not (name and equals and package and colon and attribute):
            raise _bad(f"`{text[:80]}` names no function", _FORM)
        if name.lower() in found:
            raise _bad(f"`{name}` is given twice", "give each name one function")
        called = _CALL.fullmatch(attribute)
        plain, given = (called[1], _literals(called[2], text)) if called else (attribute, None)
        found[name.lower()] = _made(_attribute(_package(package), package, plain), place, given)
    return found


def _literals(text: str, option: str) -> tuple[Any, ...]:
    """The arguments in brackets behind a name: numbers, strings and lists of them."""
    try:
        found = ast.literal_eval(f"({text},)" if text.strip() else "()")
    except (SyntaxError, ValueError):
        raise _bad(f"`{option[:80]}` has arguments that are no plain values", _FORM) from None
    return tuple(found)


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


def _made(found: Any, place: str, given: tuple[Any, ...] | None) -> Callable[..., Any]:
    """A function or a module as it is; of a class of modules an instance, made with these arguments."""
    from torch import nn

    if isinstance(found, type):
        if not issubclass(found, nn.Module):
            raise _bad(
                f"`{place[:80]}` is a class, and no nn.Module", "name a function, a module or a class of one"
            )
        try:
            return found(*given or ())
        except TypeError as why:
            how = "without arguments" if given is None else "with these arguments"
            raise _bad(
                f"`{place[:80]}` cannot be made {how}: {why}",
                "name an instance, or write what it needs in brackets, as in pdsketch.nets:Offset(3)",
            ) from None
    if given is not None:
        raise _bad(f"`{place[:80]}` is no class, and takes no arguments here", _FORM)
    if not callable(found):
        raise _bad(f"`{place[:80]}` is a {type(found).__name__}, and no function", _FORM)
    called: Callable[..., Any] = found
    return called


def _bad(message: str, help: str | None) -> Error:
    return Error([Diagnostic("bad-module", message, help=help, file="<command line>")])


# Commands that take ``--model DIR``: where it is given, the domain is the model's, and need not be named.


def without_domain(args: argparse.Namespace, *after: str) -> None:
    """Where the last of the files is missing and there is a model, the first is not the domain."""
    if getattr(args, after[-1]) is not None:
        return
    if args.model is None:
        missing = ", ".join(name.upper() for name in after if getattr(args, name) is None)
        raise output.UsageError(f"DOMAIN is followed by {missing}; only with --model is DOMAIN left out")
    given = [args.domain, *(getattr(args, name) for name in after)]
    args.domain = None
    for name, value in zip(after, given, strict=False):
        setattr(args, name, value)
    if None in given[: len(after)]:
        raise output.UsageError(f"{' and '.join(name.upper() for name in after)} are needed")


def domain_of(args: argparse.Namespace) -> Domain:
    """The domain that was named, or the model's."""
    return loaded_model(args).domain if args.domain is None else load_domain(args.domain)


def loaded_model(args: argparse.Namespace) -> Model:
    """The model of ``--model``, loaded once."""
    if "loaded" not in args:
        with apart():
            import_large("torch")
            from pdsketch.tensor import load_model
        args.loaded = load_model(args.model, given_modules(args))
    model: Model = args.loaded
    return model
