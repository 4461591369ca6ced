"""Does a value fit its type? One rule, one code and one wording for each slip, over plain numbers and shapes.

`shape-mismatch`, `not-finite`, `value-out-of-range`, and `bad-value` for what is no number at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from pdsketch.lang.data import flat, plain, shown
from pdsketch.lang.diagnostics import error
from pdsketch.lang.types import ValueType

LARGEST_FLOAT: Final = 3.4028234663852886e38
"""The largest float32."""

BEYOND_INTS: Final = 2**63 - 1
"""Ints are less than this, and at least its negative: states mark overflow by the limits of 64 bits."""


def check_value(what: str, type_: ValueType, value: Any) -> Any:
    """A value as (nested) tuples of numbers; a vector of one may stand for a number. Else an `Error`."""
    value = plain(value)
    numbers = [*flat(value)]
    if not all(isinstance(number, bool | int | float) for number in numbers):
        raise error("bad-value", f"{what} is a {type_}, and {shown(value)} is no value")
    if type_.shape == () and isinstance(value, tuple) and len(numbers) == len(value) == 1:
        value = value[0]
    found = shape_of(value)
    if found is None:
        raise error("bad-value", f"{what} is a {type_}, and the rows of {shown(value)} differ in length")
    if (found == ()) if type_.shape is None else found != type_.shape:
        raise error("shape-mismatch", f"{what} has the shape {found}, and {wanted_shape(type_)} was wanted")
    for number in numbers:
        check_number(what, type_, number, value)
    return value


def check_number(what: str, type_: ValueType, number: float, within: Any = None) -> None:
    """Refuse a number that no value of the type holds; ``within``: the value that it is part of.

    ``what`` names the place of ``number`` in messages ("`level` of a"); ``type_`` says whether it is an int
    or a float32, and its range.
    """
    if not math.isfinite(number):
        raise error("not-finite", f"{what} is {_whole(number, within)}, which is not finite")
    if type_.prim == "float32":
        if abs(number) > LARGEST_FLOAT:
            raise error("not-finite", f"{what} is {_whole(number, within)}, which is too large for a float32")
    elif not in_range(type_, number):
        raise error("value-out-of-range", out_of_range(what, type_, number))


def _whole(number: float, within: Any) -> str:
    return shown(number if within is None else within)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of nested tuples; None if they are ragged."""
    if not isinstance(value, tuple):
        return ()
    inner = {shape_of(element) for element in value}
    shape = inner.pop() if inner else ()
    return None if inner or shape is None else (len(value), *shape)


def wanted_shape(type_: ValueType, axes: Sequence[int] = ()) -> str:
    """The shape of a table of values over objects, in words; ``d`` is an axis of any length."""
    own = ["d"] if type_.shape is None else [*map(str, type_.shape)]
    return f"({', '.join([*map(str, axes), *own])})"


def in_range(type_: ValueType, number: float) -> bool:
    """Whether a finite number is a Boolean, or an int, of a type."""
    if number != int(number):
        return False
    upper = 2 if type_.prim == "bool" else type_.choices
    return -BEYOND_INTS <= number < BEYOND_INTS if upper is None else 0 <= number < upper


def out_of_range(what: str, type_: ValueType, number: float) -> str:
    """What is wrong with a number that is no Boolean, or no int, of a type."""
    if abs(number) >= BEYOND_INTS:
        return f"{what} is beyond the ints of 64 bits"
    choices = "" if type_.choices is None else f" from 0 to {type_.choices - 1}"
    wanted = "true or false" if type_.prim == "bool" else f"an int{choices}"
    return f"{what} is {number:g}, and {wanted} was wanted"
