"""Worlds by name: what there is, what each can be given, and new ones of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, getdoc, signature
from typing import Any

from pdsketch.act.world import World
from pdsketch.extras import WORLDS, missing, not_installed, offered
from pdsketch.lang import Error, did_you_mean, error

Maker = Callable[..., World]

_REGISTERED: dict[str, tuple[Maker, str]] = {}


def world_names() -> list[str]:
    """The names that `make_world` knows; nothing is imported for them."""
    return [*offered(WORLDS), *_REGISTERED]


def worlds() -> dict[str, str]:
    """The worlds that `make_world` knows, each with a line about it.

    Those of other packages (entry points of the group ``pdsketch.worlds``) say it in their docstring.
    """
    return {name: _REGISTERED[name][1] if name in _REGISTERED else _line(name) for name in world_names()}


def make_world(name: str, /, **options: Any) -> World:
    """A world by its name; ``make_world("babyai", objects=4, doors=4)``."""
    maker = _maker(name)
    known = options_of(name)
    for option in options:
        if option not in known:
            takes = ", ".join(known) or "none"
            raise error(
                "unknown-option",
                f"the world `{name}` has no option `{option}`",
                help=did_you_mean(option, known) or f"its options: {takes}",
            )
    for key, parameter in known.items():
        if parameter.default is Parameter.empty and key not in options:
            raise error("missing-option", f"the world `{name}` needs the option `{key}`")
    return maker(**options)


def register_world(name: str, maker: Maker, description: str = "") -> None:
    """Make a world of one's own known under a name; ``maker(**options)`` makes it."""
    if not name:
        raise error("bad-world", "a world needs a name")
    if not callable(maker):
        raise error(
            "bad-world", f"`{name}` needs a function that makes the world, not a {type(maker).__name__}"
        )
    if name in offered(WORLDS):
        raise error("bad-world", f"there is a world `{name}` already", help="choose another name")
    _REGISTERED[name] = (maker, description)


def options_of(name: str) -> Mapping[str, Parameter]:
    """The options of a world, with their defaults, as its maker declares them."""
    parameters = signature(_maker(name)).parameters
    return {key: p for key, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def check_name(name: object) -> str:
    """The name of a world that there is."""
    known = world_names()
    if isinstance(name, str) and name in known:
        return name
    if name in missing(WORLDS):
        raise not_installed(f"the world `{name}`")
    listed = f"the worlds: {', '.join(known)}" if known else "none is installed; pds.register_world adds one"
    raise error(
        "unknown-world",
        f"there is no world `{name!s:.80}`",
        help=did_you_mean(str(name), [*known, *missing(WORLDS)]) or listed,
    )


def _maker(name: str) -> Maker:
    check_name(name)
    maker: Maker = _REGISTERED[name][0] if name in _REGISTERED else offered(WORLDS)[name].load()
    return maker


def _line(name: str) -> str:
    """What the docstring of another package's world begins with, or what it lacks to be loaded."""
    try:
        return (getdoc(_maker(name)) or "").partition("\n")[0]
    except Error as why:  # an extra is not installed
        return why.diagnostics[0].message
