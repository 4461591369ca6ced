"""The quick way of values into a state: arrays that are as they should be, checked without a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdsketch.tensor.states import whole

_LARGEST = float(np.finfo(np.float32).max)
_INTS = "bhilqBHILQ"
_SMALL_INTS = "bhilqBHI"
_DTYPES = {"bool": np.dtype(np.bool_), "int64": np.dtype(np.int64), "float32": np.dtype(np.float32)}


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What a predicate's array must be in a state with certain objects; ``shape`` None: look closer."""

    shape: tuple[int, ...] | None
    prim: str
    choices: int | None


def plain(wanted: Wanted, value: Any) -> Tensor | None:
    """The tensor of an array that is as it should be; None for all that needs a closer look."""
    try:
        found = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
    except (ValueError, TypeError, RuntimeError):
        return None
    if found.shape != wanted.shape:
        return None
    if not _FITS[wanted.prim](found, found.dtype.char, wanted.choices):
        return None
    # A copy: an environment may go on to change its own.
    array = np.array(found, dtype=_DTYPES[wanted.prim], order="C")
    return torch.from_numpy(array.reshape(1, *found.shape))


def _fits_float(found: NDArray[Any], char: str, choices: int | None) -> bool:
    """Ints, and numbers that are finite as float32; other widths are for a closer look."""
    if char == "f":
        return bool(np.count_nonzero(np.isfinite(found)) == found.size)
    if char == "d":
        return bool(np.count_nonzero(np.abs(found) <= _LARGEST) == found.size)
    return char in _INTS or char == "?"


def _fits_bool(found: NDArray[Any], char: str, choices: int | None) -> bool:
    return char == "?" or (char in _INTS and np.count_nonzero((found == 0) | (found == 1)) == found.size)


def _fits_int(found: NDArray[Any], char: str, choices: int | None) -> bool:
    """Ints from 0 up to the choices; as an unsigned number, what is negative is too large."""
    if char in "lq" and choices is None and found.size:
        return bool(found.min() > whole.SMALLEST and found.max() < whole.LARGEST)
    if char not in "lq" or choices is None or not found.size or not found.dtype.isnative:
        return char in _SMALL_INTS and (not found.size or choices is None or _between(found, choices))
    return bool(found.view(np.uint64).max() < choices)


def _between(found: NDArray[Any], choices: int) -> bool:
    return bool(found.min() >= 0 and found.max() < choices)


_FITS = {"bool": _fits_bool, "int64": _fits_int, "float32": _fits_float}
