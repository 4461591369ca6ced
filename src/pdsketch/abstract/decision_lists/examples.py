"""Examples of a function whose arguments are codes, or sets of elements that have codes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np
from numpy.typing import NDArray

from pdsketch.core import Bools, Floats, Longs


@final
@dataclass(frozen=True, slots=True)
class CodeColumn:
    """Codes 0 … ``size`` - 1. Columns of the same ``sort`` can be compared; None is like no other."""

    size: int
    sort: Hashable = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class CodedSet:
    """An argument that is a set: ``codes[row, element, column]``; padding where ``mask`` is false."""

    codes: Longs
    mask: Bools
    columns: tuple[CodeColumn, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class CodedExamples:
    """Rows of arguments and labels.

    - ``codes[row, argument]``: the scalar arguments; ``columns`` says how many codes each may have.
    - ``sets``: the arguments that are sets.
    - ``y[row]``: the label, 0/1 or an output code.
    - ``weights[row]``: how much each row counts; 1 if not given.
    """

    codes: Longs
    columns: tuple[CodeColumn, ...]
    y: Longs
    sets: tuple[CodedSet, ...] = ()
    weights: Floats | None = None

    def __post_init__(self) -> None:
        n = len(self.y)
        _check(self.codes.shape == (n, len(self.columns)), "scalar codes must be [row, argument]")
        _check(_in_range(self.codes, self.columns), "a scalar code is outside of its column")
        _check(n == 0 or int(self.y.min()) >= 0, "labels must not be negative")
        _check(self.weights is None or self.weights.shape == (n,), "weights must be [row]")
        _check(self.weights is None or not (self.weights < 0).any(), "weights must not be negative")
        for group in self.sets:
            shape = (*group.mask.shape, len(group.columns))
            _check(len(group.mask) == n and group.codes.shape == shape, "sets must be [row, element, column]")
            _check(
                _in_range(group.codes[group.mask], group.columns),
                "an element's code is outside of its column",
            )

    def __len__(self) -> int:
        return len(self.y)

    @property
    def weight(self) -> Floats:
        """How much each row counts."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def take(self, rows: NDArray[np.integer] | Bools) -> CodedExamples:
        """Some of the rows."""
        sets = tuple(CodedSet(s.codes[rows], s.mask[rows], s.columns) for s in self.sets)
        weights = None if self.weights is None else self.weights[rows]
        return CodedExamples(self.codes[rows], self.columns, self.y[rows], sets, weights)


def comparable(left: CodeColumn, right: CodeColumn) -> bool:
    """Whether it makes sense to ask if two columns have equal codes."""
    return left.sort is not None and left.sort == right.sort


def comparable_pairs(columns: Sequence[CodeColumn]) -> list[tuple[int, int]]:
    """All pairs of columns of one sort."""
    return [(i, j) for i, j in combinations(range(len(columns)), 2) if comparable(columns[i], columns[j])]


def fingerprints(examples: CodedExamples) -> NDArray[np.uint64]:
    """A number for the arguments of each row, whatever the order of the elements of sets."""
    found = np.zeros(len(examples), np.uint64)
    for i in range(len(examples.columns)):
        found += _mix(examples.codes[:, i], i)
    for s, group in enumerate(examples.sets):
        of_elements = np.full(group.mask.shape, s + 1, np.uint64)
        for k in range(len(group.columns)):
            of_elements += _mix(group.codes[:, :, k], 1000 * (s + 1) + k)
        found += np.where(group.mask, _mix(of_elements, 77), np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return found


def contradictions(examples: CodedExamples) -> int:
    """How many rows have another label than most rows with the same arguments."""
    if not len(examples):
        return 0
    inputs, place = np.unique(fingerprints(examples), return_inverse=True)
    n_labels = int(examples.y.max()) + 1
    cells, counts = np.unique(place.astype(np.int64) * n_labels + examples.y, return_counts=True)
    most = np.zeros(len(inputs), np.int64)
    np.maximum.at(most, cells // n_labels, counts)
    return len(examples) - int(most.sum())


def _mix(values: NDArray[np.integer], salt: int) -> NDArray[np.uint64]:
    """Splitmix64 (Steele, Lea and Flood, 2014)."""
    x = values.astype(np.uint64) + np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _in_range(codes: Longs, columns: tuple[CodeColumn, ...]) -> bool:
    if not codes.size:
        return True
    sizes = np.array([column.size for column in columns])
    return bool((codes >= 0).all() and (codes < sizes).all())


def _check(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)
