"""Worlds by name: what there is, what each can be given, and new ones of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from pdsketch.act.world import World
from pdsketch.lang import did_you_mean, error

Maker = Callable[..., World]

_OWN: dict[str, tuple[str, str]] = {
    "babyai": (
        "pdsketch_paper.babyai.adapter:BabyAIWorld",
        "Minigrid's rooms with keys, balls, boxes and doors: go to, pick up, open",
    ),
    "painting": (
        "pdsketch_paper.painting.adapter:PaintingWorld",
        "a table with blocks, bowls of paint and a box, in MuJoCo: paint, put beside, stack",
    ),
}
_REGISTERED: dict[str, tuple[Maker, str]] = {}


def worlds() -> dict[str, str]:
    """The worlds that `make_world` knows, each with a line about it."""
    own = {name: line for name, (_, line) in _OWN.items()}
    return {**own, **{name: line for name, (_, line) in _REGISTERED.items()}}


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
    missing = [key for key, p in known.items() if p.default is Parameter.empty and key not in options]
    if missing:
        raise error("missing-option", f"the world `{name}` needs the option `{missing[0]}`")
    return maker(**options)


def register_world(name: str, maker: Maker, description: str = "") -> None:
    """Make a world of one's own known under a name; ``maker(**options)`` makes it."""
    if not name:
        raise error("bad-world", "a world needs a name")
    if not callable(maker):
        raise error(
            "bad-world", f"`{name}` needs a function that makes the world, not a {type(maker).__name__}"
        )
    if name in _OWN:
        raise error("bad-world", f"there is a world `{name}` already", help="choose another name")
    _REGISTERED[name] = (maker, description)


def options_of(name: str) -> Mapping[str, Parameter]:
    """The options of a world, with their defaults, as its maker declares them."""
    parameters = signature(_maker(name)).parameters
    return {key: p for key, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def _maker(name: str) -> Maker:
    if name in _REGISTERED:
        return _REGISTERED[name][0]
    if name not in _OWN:
        known = worlds()
        raise error(
            "unknown-world",
            f"there is no world `{name}`",
            help=did_you_mean(str(name), known) or f"the worlds: {', '.join(known)}",
        )
    module, _, attribute = _OWN[name][0].partition(":")
    maker: Maker = getattr(import_module(module), attribute)
    return maker
