"""Tables of functions of codes, over the axes that matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final

import numpy as np

from pdsketch.abstract.andor.functions import (
    MOST_COMBINATIONS,
    CodeAxis,
    CodeTable,
    TooManyCombinationsError,
    every_row,
)
from pdsketch.kernels.arrays import Bools, Longs

_BASES: Final = 64
_VARIED: Final = 16
"""Where all combinations are too many, each axis is varied over so many codes at so many random places."""

Evaluate = Callable[[Longs], Longs]
"""Rows of codes ``[n, axes]`` → results ``[n, k]``."""


def tabulate(axes: Sequence[CodeAxis], evaluate: Evaluate) -> tuple[list[CodeTable], bool]:
    """The tables of a function's results, and whether they are exact: computed on all combinations.

    Where these are too many, the axes that matter are found by varying one at a time, and the others are
    fixed. Raises `TooManyCombinationsError` where even so there are too many.
    """
    if prod(len(axis.codes) for axis in axes) <= MOST_COMBINATIONS:
        return _tables(axes, evaluate(every_row(axes))), True
    matters, base = _screened(axes, evaluate)
    few = [axis for axis, does in zip(axes, matters, strict=True) if does]
    if prod(len(axis.codes) for axis in few) > MOST_COMBINATIONS:
        raise TooManyCombinationsError
    own = every_row(few)
    rows = np.repeat(base[None], len(own), 0)
    rows[:, np.flatnonzero(matters)] = own
    return _tables(few, evaluate(rows)), False


def _tables(axes: Sequence[CodeAxis], results: Longs) -> list[CodeTable]:
    sizes = [len(axis.codes) for axis in axes]
    return [CodeTable(tuple(axes), column.reshape(sizes)).reduced() for column in results.T]


def _screened(axes: Sequence[CodeAxis], evaluate: Evaluate) -> tuple[Bools, Longs]:
    """Which axes matter, as far as is seen, and a row of codes."""
    rng = np.random.default_rng(0)
    bases = np.stack([rng.choice(axis.codes, _BASES) for axis in axes], -1)
    matters = np.zeros(len(axes), np.bool_)
    for i, axis in enumerate(axes):
        varied = axis.codes if len(axis.codes) <= _VARIED else rng.choice(axis.codes, _VARIED, replace=False)
        rows = np.repeat(bases, len(varied), 0)
        rows[:, i] = np.tile(varied, _BASES)
        results = evaluate(rows).reshape(_BASES, len(varied), -1)
        matters[i] = bool((results != results[:, :1]).any())
    return matters, bases[0]
