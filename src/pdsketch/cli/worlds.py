"""Worlds from the command line: a name of the registry, and ``--world-option KEY=VALUE``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from pdsketch.cli import output
from pdsketch.lang import Domain, Error, did_you_mean, error

if TYPE_CHECKING:
    from pdsketch.act import World


def add_world_option(parser: argparse.ArgumentParser) -> None:
    """The option, which may be given several times."""
    parser.add_argument(
        "--world-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the world, as in --world-option objects=8",
    )


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """The world's options as the command line gives them: whole numbers, numbers, true, false, else text."""
    found: dict[str, Any] = {}
    for text in args.world_option:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise output.UsageError(f"--world-option {text[:80]}: wanted KEY=VALUE, as in objects=8")
        if key in found:
            raise output.UsageError(f"the world's option `{key}` is given twice")
        found[key] = _value(value)
    return found


def check_world(name: str) -> str:
    """The name of a world that there is; a name that is none is the command line's fault."""
    from pdsketch.act import check_name

    try:
        return check_name(name)
    except Error as refused:
        found = refused.diagnostics[0]
        if found.code != "unknown-world":
            raise
        raise output.UsageError(f"{found.message}; {found.help}") from None


def world_maker(args: argparse.Namespace, name: str, domain: Domain) -> Callable[[], World]:
    """What makes the world with the options given, seen as ``domain`` sees it where it can be."""
    from pdsketch.act import make_world, options_of

    options = given_options(args)
    if "sketch" in options_of(name):
        options.setdefault("sketch", domain)
    return partial(make_world, name, **options)


def check_options(options: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse options of the world that ``what`` does not take."""
    known = list(known)
    for name in options:
        if name not in known:
            raise error(
                "unknown-option",
                f"{what} has no world option `{name}`",
                help=did_you_mean(name, known) or f"its options: {', '.join(known)}",
            )


def _value(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
