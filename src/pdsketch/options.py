"""Options, each declared once: a field of a dataclass with its type, default and meaning, and what it takes.

    steps: int = option(2000, "training steps")

From these declarations come the check of what a caller gives (`checked`) and the arguments of a command
(`add_options`, `read_options`). The tables of the documents, and each ``TypedDict`` that editors and type
checkers read, come from them, too: ``make options`` writes them, and a test compares.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, TypeVar, final, get_args

from pdsketch.lang import did_you_mean, error

Kind = TypeVar("Kind")


@final
@dataclass(frozen=True, slots=True)
class Check:
    """Which values an option takes beside None: in words, as a test, and how the command line reads one."""

    words: str
    takes: Callable[[Any], bool]
    read: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    code: str = "bad-option"


def at_least(least: int, code: str = "bad-option") -> Check:
    """Whole numbers from ``least`` on."""
    return Check(
        f"an int of at least {least}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least,
        int,
        code=code,
    )


def number(words: str, takes: Callable[[float], bool], code: str = "bad-option") -> Check:
    """Numbers, whole or not, of which something is true."""
    return Check(
        f"a number {words}",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and takes(value),
        float,
        code=code,
    )


def not_negative(code: str = "bad-option") -> Check:
    """Numbers from 0 on."""
    return number("that is not negative", lambda value: value >= 0, code)


def between(low: float, high: float) -> Check:
    """Numbers from ``low`` to ``high``."""
    return number(f"from {low:g} to {high:g}", lambda value: low <= value <= high)


def one_of(literal: Any) -> Check:
    """The words of a ``Literal``."""
    *first, last = choices = get_args(literal)
    words = f"{', '.join(f'`{word}`' for word in first)} or `{last}`"
    return Check(words, lambda value: value in choices, choices=choices)


ANYTHING: Final = Check("anything", lambda value: True)
"""Of options that are checked where they are used, with what is known there."""

FLAG: Final = Check("True or False", lambda value: isinstance(value, bool))

_BY_TYPE: Final = {"bool": FLAG, "int": at_least(0), "float": not_negative()}


def option(default: Any, meaning: str, check: Check | None = None, *, of: str = "") -> Any:
    """The field of an option, with its ``default`` (a function makes it) and its ``meaning`` in a sentence.

    Without a ``check``, its type says what it takes. ``of``: what the option is for alone, "model" say.
    """
    metadata = {"check": check, "meaning": meaning, "of": of}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared(kind: type, of: str | None = None) -> dict[str, Field[Any]]:
    """The options of a class by name: those of one purpose and of any, or all."""
    return {one.name: one for one in fields(kind) if of is None or one.metadata["of"] in ("", of)}


def _check_of(one: Field[Any]) -> Check:
    found: Check | None = one.metadata["check"]
    return found or _BY_TYPE.get(str(one.type).removesuffix(" | None"), ANYTHING)


def default_of(one: Field[Any]) -> Any:
    """The default of an option."""
    return one.default_factory() if callable(one.default_factory) else one.default


def checked(
    kind: type[Kind],
    given: Mapping[str, Any],
    whose: str,
    *,
    of: str | None = None,
    synonyms: Mapping[str, str] | None = None,
) -> Kind:
    """The options that were ``given``, as a ``kind``; an `Error` says what is wrong with the first bad one.

    ``whose`` has these options, in words; ``synonyms`` are what other libraries call them. ``of``: those for
    something else alone are refused.
    """
    known = declared(kind, of)
    for name, value in given.items():
        if name not in known:
            other = (synonyms or {}).get(name.lower())
            hint = f"did you mean `{other}`?" if other else did_you_mean(name, known)
            hint = hint or f"its options: {', '.join(sorted(known))}"
            raise error("unknown-option", f"{whose} has no option `{name}`", help=hint)
        check = _check_of(known[name])
        unset = value is None and str(known[name].type).endswith("| None")
        if not (unset or check.takes(value)):
            hint = did_you_mean(str(value), check.choices)
            raise error(check.code, f"`{name}` must be {check.words}, not {value!r:.40}", help=hint)
    return kind(**given)


def add_options(parser: argparse.ArgumentParser, kind: type, names: Iterable[str]) -> None:
    """Arguments of a command for some options: ``--learning-rate``, or ``--no-subgoals`` of what is on."""
    for name in names:
        one, words = declared(kind)[name], name.replace("_", "-")
        check, default = _check_of(one), default_of(one)
        said = f"with a {one.metadata['of']}: " if one.metadata["of"] else ""
        said += one.metadata["meaning"].replace("`", "").replace("%", "%%")
        if check is FLAG:
            said = f"switch off: {said}" if default else said
            on = f"--{'no-' * default}{words}"
            parser.add_argument(on, dest=name, action="store_const", const=not default, help=said)
            continue
        shown = f"{default:g}" if isinstance(default, float) else default
        said += "" if default is None else f" (default: {shown})"
        if check.choices:
            parser.add_argument(f"--{words}", choices=check.choices, help=said)
        else:
            metavar = "N" if check.read is int else "X" if check.read is float else "NAME"
            parser.add_argument(f"--{words}", type=_reader(check), metavar=metavar, help=said)


def _reader(check: Check) -> Callable[[str], Any]:
    """Reads one value of the command line."""

    def read(text: str) -> Any:
        try:
            value = check.read(text)
        except ValueError:
            value = None
        if value is None or not check.takes(value):
            raise argparse.ArgumentTypeError(f"wanted {check.words}, found {text}")
        return value

    return read


def read_options(args: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The options that were given on the command line."""
    return {name: value for name in names if (value := getattr(args, name)) is not None}
