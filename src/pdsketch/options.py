"""Options, each declared once: a field of a dataclass with its type, default, check and meaning.

    steps: int = option(2000, at_least(0), "steps to make")

From these declarations come the check of what a caller gives (`checked`), the arguments of a command
(`add_options`, `read_options`), the tables of the documents (`table`), and the ``TypedDict`` that editors and
type checkers read (`typed_dict`). The last two are text in the repository, which ``make options`` writes
and a test compares.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, Final, TypeVar, final, get_args

from pdsketch.lang import did_you_mean, error

Kind = TypeVar("Kind")


@final
@dataclass(frozen=True, slots=True)
class Check:
    """Which values an option takes: as a test, in words, and how the command line reads one.

    None is taken where the option's type says so.
    """

    words: str
    takes: Callable[[Any], bool]
    read: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    code: str = "bad-option"
    help: str | None = None


def at_least(least: int, code: str = "bad-option") -> Check:
    """Whole numbers from ``least`` on."""

    def takes(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= least

    return Check(f"an int of at least {least}", takes, int, code=code)


def between(
    low: float, high: float, code: str = "bad-option", *, least: bool = True, most: bool = True
) -> Check:
    """Numbers from ``low`` to ``high``; without ``least`` and ``most``, not these themselves."""

    def takes(value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        return number and (least or value != low) and (most or value != high)

    first = f"from {low:g}" if least else f"above {low:g}"
    last = f" to {high:g}" if most else f" to below {high:g}"
    words = f"a number {first}{'' if math.isinf(high) else last}"
    return Check(words, takes, float, code=code)


def not_negative(code: str = "bad-option") -> Check:
    """Numbers from 0 on."""
    return replace(between(0, math.inf, code), words="a number that is not negative")


def one_of(literal: Any) -> Check:
    """The words of a ``Literal``."""
    *first, last = choices = get_args(literal)
    words = f"{', '.join(f'`{word}`' for word in first)} or `{last}`"
    return Check(words, lambda value: value in choices, choices=choices)


FLAG: Final = Check("True or False", lambda value: isinstance(value, bool))
ANYTHING: Final = Check("anything", lambda value: True)
"""Of options that are checked where they are used, with what is known there."""


def option(default: Any, check: Check, meaning: str, *, of: str = "") -> Any:
    """The field of an option; a function as its default makes the default. ``of``: what it is for alone."""
    metadata = {"check": check, "meaning": meaning, "of": of}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared(kind: type, of: str | None = None) -> dict[str, Field[Any]]:
    """The options of a class by name: those of one purpose and of any, or all."""
    return {one.name: one for one in fields(kind) if of is None or one.metadata["of"] in ("", of)}


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
    """The options that were given, or an `Error` that says what is wrong with the first bad one.

    ``whose`` has these options, in words; ``synonyms`` are what other libraries call them.
    """
    known = declared(kind, of)
    for name in given:
        if name not in known:
            other = (synonyms or {}).get(name.lower())
            hint = f"did you mean `{other}`?" if other else did_you_mean(name, known)
            hint = hint or f"its options: {', '.join(sorted(known))}"
            raise error("unknown-option", f"{whose} has no option `{name}`", help=hint)
    for name, value in given.items():
        check: Check = known[name].metadata["check"]
        if value is None and str(known[name].type).endswith("| None"):
            continue
        if not check.takes(value):
            hint = check.help or did_you_mean(str(value), check.choices)
            raise error(check.code, f"`{name}` must be {check.words}, not {value!r:.40}", help=hint)
    return kind(**given)


def add_options(parser: argparse.ArgumentParser, kind: type, names: Iterable[str]) -> None:
    """Arguments of a command for some options: ``--learning-rate``, or ``--no-subgoals`` of what is on."""
    for name in names:
        one, words = declared(kind)[name], name.replace("_", "-")
        check, default = one.metadata["check"], default_of(one)
        said = f"with a {one.metadata['of']}: " if one.metadata["of"] else ""
        said += one.metadata["meaning"].replace("`", "").replace("%", "%%")
        if check is FLAG:
            on = f"--{'no-' * default}{words}"
            said = f"switch off: {said}" if default else said
            parser.add_argument(on, dest=name, action="store_const", const=not default, help=said)
        elif check.choices:
            parser.add_argument(f"--{words}", choices=check.choices, help=f"{said} (default: {default})")
        else:
            shown = f"{default:g}" if isinstance(default, float) else default
            said += "" if default is None else f" (default: {shown})"
            metavar = {int: "N", float: "X"}.get(check.read, "NAME")
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


def table(kind: type) -> str:
    """The table of the options in the documents."""
    shown = ((one, repr(default_of(one)).replace("'", '"')) for one in fields(kind))
    rows = (
        f"| `{one.name}` | {default} | {f'of {of}s alone: ' if (of := one.metadata['of']) else ''}"
        f"{one.metadata['meaning']} |\n"
        for one, default in shown
    )
    return f"\n| option | default | meaning |\n|---|---|---|\n{''.join(rows)}\n"


def typed_dict(
    name: str, kind: type, meaning: str, without: Sequence[str] = (), unset: Sequence[str] = ()
) -> str:
    """The source of the options' ``TypedDict``; None stands for the default of those in ``unset``, too."""
    lines = [f'class {name}(TypedDict, total=False):\n    """{meaning}"""\n\n']
    for one in fields(kind):
        if one.name not in without:
            none = " | None" if one.name in unset and not str(one.type).endswith("| None") else ""
            lines.append(f"    {one.name}: {one.type}{none}\n")
    return "".join([*lines, "\n\n"])
