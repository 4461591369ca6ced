"""Numbers and vectors as the author writes them → plain Python values."""

from __future__ import annotations

import re
from math import isfinite

from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.report import CheckReport

_NUMBER = re.compile(r"[-+]?(\d+|\d+\.\d*|\.\d+|\d+(\.\d*)?e[-+]?\d+|\.\d+e[-+]?\d+)", re.ASCII)
MAX_INT = 2**63 - 1

Literal = bool | int | float | tuple[object, ...]


def looks_like_number(text: str) -> bool:
    """Whether a word is meant as a number."""
    return _NUMBER.fullmatch(text) is not None


def read_number(text: str) -> int | float | None:
    """The number a word writes: an int without point and exponent, else a float; None for other words."""
    if not looks_like_number(text):
        return None
    if "." in text or "e" in text:
        return float(text)
    return int(text) if len(text) < 30 else float(text)


def number_of(atom: Token, report: CheckReport) -> int | float | None:
    """A number that the system can hold; None (reported) for one that is too large."""
    number = read_number(atom.text)
    if number is None:
        return None
    if (isinstance(number, int) and not -MAX_INT - 1 <= number <= MAX_INT) or (
        isinstance(number, float)
        and (("." not in atom.text and "e" not in atom.text) or not isfinite(number))
    ):
        report.error(
            "bad-number", "this number is too large", atom, help="ints have 64 bits, floats end near 1e308"
        )
        return None
    return number


def read_vector(group: Group, report: CheckReport) -> tuple[tuple[object, ...], tuple[int, ...]] | None:
    """The nested tuples of a bracketed literal and their shape; None (reported) if it is ragged or empty."""
    parts: list[object] = []
    shapes: set[tuple[int, ...]] = set()
    for item in group.items:
        if isinstance(item, Token) and item.text == ",":
            continue
        part = _element(item, report)
        if part is None:
            return None
        parts.append(part[0])
        shapes.add(part[1])
        if len(shapes) > 1:
            report.error("bad-vector", "the rows of this vector differ in length", item)
            return None
    if not parts:
        report.error("bad-vector", "a vector holds at least one number", group, help="for instance [1, 1]")
        return None
    return tuple(parts), (len(parts), *shapes.pop())


def _element(item: Node, report: CheckReport) -> tuple[object, tuple[int, ...]] | None:
    if isinstance(item, Group):
        if item.bracket == "[":
            return read_vector(item, report)
    elif item.text in ("true", "false"):
        return item.text == "true", ()
    else:
        size = len(report.diagnostics)
        number = number_of(item, report)
        if number is not None:
            return number, ()
        if len(report.diagnostics) > size:
            return None
    report.error("bad-vector", "a vector holds numbers", item, label="not a number")
    return None


def prim_of(value: object) -> str:
    """The primitive type of a literal: bool, int64 or float32."""
    if isinstance(value, tuple):
        prims = {prim_of(part) for part in value}
        if "float32" in prims:
            return "mixed" if "bool" in prims else "float32"
        return prims.pop() if len(prims) == 1 else "mixed"
    if isinstance(value, bool):
        return "bool"
    return "int64" if isinstance(value, int) else "float32"


def as_float(value: Literal) -> Literal:
    """The literal with every number a float."""
    if isinstance(value, tuple):
        return tuple(as_float(part) for part in value)  # type: ignore[arg-type]
    return float(value)
