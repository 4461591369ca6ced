"""Values in plain Python: Booleans, numbers, and (nested) tuples of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from operator import add, floordiv, mul, sub, truediv
from struct import pack, unpack
from typing import Any

from pdsketch.lang.diagnostics import Error, error
from pdsketch.lang.domain import Fact
from pdsketch.lang.source import Span
from pdsketch.lang.types import ValueType

LARGEST_FLOAT = 3.4028234663852886e38
"""The largest float32."""


def choices_of(type_: ValueType) -> tuple[Any, ...]:
    """Every value of a type that has choices."""
    if type_.prim == "bool" and type_.shape is not None:
        scalars: tuple[Any, ...] = (False, True)
    elif type_.choices is not None and type_.shape is not None:
        scalars = tuple(range(type_.choices))
    else:
        raise error("no-choices", f"a variable cannot range over `{type_}`, which has no choices")
    values = scalars
    for size in reversed(type_.shape):
        values = tuple(product(values, repeat=size))
    return values


def arithmetic(op: str, args: Sequence[Any], *, whole: bool, span: Span | None = None) -> Any:
    """``+``, ``-``, ``*`` or ``/`` of numbers or vectors, in plain Python.

    ``op`` is the sign, ``args`` its one or more operands. ``whole``: division rounds down to an int. Division
    by zero and numbers that are too large are errors at ``span``.
    """
    if op == "/" and any(divisor == 0 for divisor in flat(args[1])):
        raise error("division-by-zero", "division by zero", span)
    try:
        return _calculated(op, args, whole=whole)
    except OverflowError:
        raise error("number-too-large", "this number is too large", span) from None


def component(vector: Sequence[Any], place: int, span: Span | None = None) -> Any:
    """One element of a vector."""
    if place >= len(vector):
        raise no_such_component(place, len(vector), span)
    return vector[place]


def no_such_component(place: int, size: int, span: Span | None) -> Error:
    """What to say of a vector, whose size only a state tells, that is too short."""
    elements = "1 element" if size == 1 else f"{size} elements"
    return error("index-out-of-range", f"this vector has {elements}, and no element {place}", span)


def _calculated(op: str, args: Sequence[Any], *, whole: bool) -> Any:
    if op == "-" and len(args) == 1:
        return elementwise(sub, 0, args[0])
    if op == "/":
        return elementwise(floordiv if whole else truediv, args[0], args[1])
    value = args[0]
    for other in args[1:]:
        value = elementwise({"+": add, "-": sub, "*": mul}[op], value, other)
    return value


def elementwise(op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Apply ``op`` to each pair of elements; a scalar goes with every element of a vector."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(elementwise(op, x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, tuple):
        return tuple(elementwise(op, x, b) for x in a)
    if isinstance(b, tuple):
        return tuple(elementwise(op, a, y) for y in b)
    return op(a, b)


def near(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two values have one shape, and their elements differ by no more than the tolerance."""
    left, right = list(flat(a)), list(flat(b))
    return len(left) == len(right) and all(
        math.isclose(x, y, rel_tol=0, abs_tol=tolerance) for x, y in zip(left, right, strict=True)
    )


def plain(value: Any) -> Any:
    """A value with tuples for lists."""
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value


def short(value: Any) -> Any:
    """A value with decimals that are the same float32 and no longer: 0.1 for 0.10000000149011612."""
    if isinstance(value, tuple):
        return tuple(map(short, value))
    if not isinstance(value, float) or not math.isfinite(value) or abs(value) > LARGEST_FLOAT:
        return value
    bits = pack("f", value)
    if unpack("f", bits)[0] != value:  # a float64 that is no float32 stays as it is
        return value
    rounded = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    found = next((v for v in rounded if abs(v) <= LARGEST_FLOAT and pack("f", v) == bits), value)
    return found if len(repr(found)) < len(repr(value)) else value


def flat(value: Any) -> Iterator[Any]:
    """The numbers in a value."""
    if isinstance(value, tuple):
        for element in value:
            yield from flat(element)
    else:
        yield value


def shown(value: Any) -> str:
    """A value as the author would write it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(shown, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def show_atom(atom: Fact | tuple[Any, ...]) -> str:
    """A ground atom or a step as the author would write it: ``(move-to b#1 [0.1, 0.2])``."""
    return f"({' '.join(map(shown, atom))})"


# Tables for notebooks.


def html_table(title: str, rows: Iterable[Sequence[str]]) -> str:
    """A title and a table of plain text."""
    from html import escape

    lines = (f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div><b>{escape(title)}</b></div><table>{''.join(lines)}</table>"
