"""Tables of functions of codes, over the axes that matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, final

import numpy as np

from pdsketch.abstract.andor.behaviour import CounterExample
from pdsketch.abstract.andor.functions import (
    MOST_COMBINATIONS,
    CodeAxis,
    CodeTable,
    TooManyCombinationsError,
    every_row,
)
from pdsketch.core import Bools, Longs

_BASES: Final = 64
_VARIED: Final = 16
"""Where all combinations are too many, each axis is varied over so many codes at so many random places."""

_TRIED: Final = 4096
"""Random rows on which a table without the axes that do not seem to matter is tried."""

Evaluate = Callable[[Longs], Longs]
"""Rows of codes ``[n, axes]`` → results ``[n, k]``."""


@final
@dataclass(frozen=True, slots=True)
class Tabulated:
    """The tables of a function's results; exact if computed on all ``cases``, else tried on so many."""

    tables: tuple[CodeTable, ...]
    exact: bool
    agreement: float
    cases: int
    not_finite: int = 0
    off: int = 0
    unseen: int = 0
    corrected: int = 0
    counter_example: CounterExample | None = None


def tabulate(axes: Sequence[CodeAxis], evaluate: Evaluate) -> Tabulated:
    """The tables of a function's results over all combinations of codes.

    Where these are too many, the axes that matter are found by varying one at a time, and the others are
    fixed. Raises `TooManyCombinationsError` where even so there are too many.
    """
    single = np.array([len(axis.codes) == 1 for axis in axes], np.bool_)
    if single.any():
        # An image has more axes than an array may have, and most of its numbers never vary.
        only = np.array([axis.codes[0] for axis in axes if len(axis.codes) == 1], np.int64)
        return tabulate([axis for axis in axes if len(axis.codes) != 1], _widened(evaluate, single, only))
    every = prod(len(axis.codes) for axis in axes)
    if every <= MOST_COMBINATIONS:
        return Tabulated(_tables(axes, evaluate(every_row(axes))), True, 1.0, every)
    matters, base = _screened(axes, evaluate)
    few = [axis for axis, does in zip(axes, matters, strict=True) if does]
    if prod(len(axis.codes) for axis in few) > MOST_COMBINATIONS:
        raise TooManyCombinationsError
    own = every_row(few)
    rows = np.repeat(base[None], len(own), 0)
    rows[:, np.flatnonzero(matters)] = own
    results = evaluate(rows)
    agreement, wrong = _tried(axes, matters, results, evaluate)
    return Tabulated(_tables(few, results), False, agreement, _TRIED, counter_example=wrong)


def _widened(evaluate: Evaluate, single: Bools, only: Longs) -> Evaluate:
    """A function of the axes that are not single, where these have their only codes."""

    def widened(rows: Longs) -> Longs:
        whole = np.empty((len(rows), len(single)), np.int64)
        whole[:, single], whole[:, ~single] = only, rows
        return evaluate(whole)

    return widened


def _tried(
    axes: Sequence[CodeAxis], matters: Bools, results: Longs, evaluate: Evaluate
) -> tuple[float, CounterExample | None]:
    """How often a table over some of the axes agrees with the function on random rows."""
    rng = np.random.default_rng(1)
    places = [rng.integers(0, len(axis.codes), _TRIED) for axis in axes]
    rows = np.stack([axis.codes[at] for axis, at in zip(axes, places, strict=True)], -1)
    own = [i for i, does in enumerate(matters) if does]
    shape = [len(axes[i].codes) for i in own]
    cells = np.ravel_multi_index([places[i] for i in own], shape) if own else np.zeros(_TRIED, np.int64)
    truth = evaluate(rows)
    agrees = (results[cells] == truth).all(1)
    at = int(agrees.argmin())
    wrong = None
    if not agrees[at]:
        wrong = CounterExample(tuple(axes), tuple(rows[at].tolist()), result=tuple(truth[at].tolist()))
    return float(agrees.mean()), wrong


def _tables(axes: Sequence[CodeAxis], results: Longs) -> tuple[CodeTable, ...]:
    sizes = [len(axis.codes) for axis in axes]
    return tuple(CodeTable(tuple(axes), column.reshape(sizes)).reduced() for column in results.T)


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
