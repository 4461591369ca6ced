"""The arguments of a kernel as machine words, in the order in which linked machine code reads them.

An array is its address and its shape, a number is itself, a tuple its parts. The signature says in
one string of what kinds they are: two calls with the same signature run the same machine code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar, final

import numpy as np

Slots = list[Any]
T = TypeVar("T", bound=tuple[Any, ...])

ENDED: Final = ")"


@final
class Fixed(Generic[T]):
    """A tuple of arrays that many calls are given: its slots are found once."""

    def __init__(self, value: T) -> None:
        self.value = value
        self._kinds: list[str] = []
        self._formats: list[str] = []
        self._slots: Slots = []
        self._fits = _take((value,), self._kinds, self._formats, self._slots)

    def take(self, kinds: list[str], formats: list[str], slots: Slots) -> bool:
        """Add its slots to those of a call; False if numba must take it."""
        kinds += self._kinds
        formats += self._formats
        slots += self._slots
        return self._fits


def unfixed(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments as numba takes them."""
    return tuple([arg.value if isinstance(arg, Fixed) else arg for arg in args])


def flatten(args: tuple[Any, ...]) -> tuple[str, str, Slots] | None:
    """The signature of arguments, their slots' formats (as in `struct`) and values.

    None: they are of other kinds, and numba must take them.
    """
    kinds: list[str] = []
    formats: list[str] = []
    slots: Slots = []
    return ("".join(kinds), "".join(formats), slots) if _take(args, kinds, formats, slots) else None


def _take(args: Iterable[Any], kinds: list[str], formats: list[str], slots: Slots) -> bool:
    for value in args:
        kind = type(value)
        if kind is np.ndarray:
            flags = value.flags
            if not (flags.carray and value.dtype.isnative):
                return False
            kinds.append(f"{value.dtype.char}{value.ndim}")
            formats.append("Q" + "q" * value.ndim)
            slots.append(value.__array_interface__["data"][0])
            slots.extend(value.shape)
        elif kind is int or kind is np.int64:
            kinds.append("i")
            formats.append("q")
            slots.append(value)
        elif kind is bool or kind is np.bool_:
            kinds.append("b")
            formats.append("q")
            slots.append(bool(value))
        elif kind is float or kind is np.float64:
            kinds.append("f")
            formats.append("d")
            slots.append(value)
        elif kind is np.uint64:
            kinds.append("u")
            formats.append("Q")
            slots.append(value)
        elif kind is Fixed:
            if not value.take(kinds, formats, slots):
                return False
        elif isinstance(value, tuple):
            kinds.append(f"{kind.__qualname__}(")
            if not _take(value, kinds, formats, slots):
                return False
            kinds.append(ENDED)
        else:
            return False
    return True
