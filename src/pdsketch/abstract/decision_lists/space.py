"""The columns that literals are made from: codes as they are, and equality of codes as Boolean columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from pdsketch.abstract.decision_lists.examples import CodedExamples, comparable, comparable_pairs
from pdsketch.abstract.decision_lists.literals import (
    ElementHasCode,
    ElementLiteral,
    ElementSameCode,
    HasCode,
    SameCode,
)
from pdsketch.core import Bools, Floats, Longs


@final
@dataclass(frozen=True, slots=True, eq=False)
class ElementSpace:
    """The elements of a set, ``codes[row, element, column]``, columns of equality last."""

    codes: Longs
    mask: Bools
    sizes: tuple[int, ...]
    equalities: tuple[tuple[int, int], ...]

    def literal(self, column: int, codes: Longs, sign: bool = True) -> ElementLiteral:
        """An element has one of the codes in a column."""
        own = len(self.sizes) - len(self.equalities)
        if column < own:
            return ElementHasCode(column, tuple(sorted(codes.tolist())), sign)
        k, i = self.equalities[column - own]
        return ElementSameCode(k, i, bool(codes[0]) == sign)


@final
@dataclass(frozen=True, slots=True, eq=False)
class LiteralSpace:
    """The scalar arguments, ``codes[row, column]``, columns of equality last, and the sets."""

    codes: Longs
    sizes: tuple[int, ...]
    equalities: tuple[tuple[int, int], ...]
    sets: tuple[ElementSpace, ...]

    def literal(self, column: int, codes: Longs, sign: bool = True) -> HasCode | SameCode:
        """A scalar argument has one of the codes; where there is no ``sign``, none of them."""
        own = len(self.sizes) - len(self.equalities)
        if column < own:
            return HasCode(column, tuple(sorted(codes.tolist())), sign)
        i, j = self.equalities[column - own]
        return SameCode(i, j, bool(codes[0]) == sign)

    def take(self, rows: Longs) -> LiteralSpace:
        """Some of the rows."""
        sets = tuple(ElementSpace(s.codes[rows], s.mask[rows], s.sizes, s.equalities) for s in self.sets)
        return LiteralSpace(self.codes[rows], self.sizes, self.equalities, sets)

    @property
    def n_columns(self) -> int:
        """How many columns there are to choose from."""
        return len(self.sizes) + sum(len(s.sizes) for s in self.sets)


def space_of(examples: CodedExamples) -> LiteralSpace:
    """All columns of some examples; all arguments of one sort are compared."""
    columns = examples.columns
    pairs = comparable_pairs(columns)
    equal = [(examples.codes[:, i] == examples.codes[:, j]).astype(np.int64)[:, None] for i, j in pairs]
    sizes = (*(column.size for column in columns), *(2 for _ in pairs))
    sets = []
    for group in examples.sets:
        same = [
            (k, i)
            for k, own in enumerate(group.columns)
            for i, column in enumerate(columns)
            if comparable(own, column)
        ]
        found = [
            (group.codes[:, :, k] == examples.codes[:, i, None]).astype(np.int64)[:, :, None] for k, i in same
        ]
        codes = np.concatenate([group.codes, *found], axis=2)
        of_set = (*(column.size for column in group.columns), *(2 for _ in same))
        sets.append(ElementSpace(codes, group.mask, of_set, tuple(same)))
    return LiteralSpace(np.concatenate([examples.codes, *equal], axis=1), sizes, tuple(pairs), tuple(sets))


def foil_gain(p: Floats, n: Floats, p0: float, n0: float) -> Floats:
    """Bits saved by knowing the positives that a literal keeps (Quinlan, 1990).

    Of ``p0`` positive and ``n0`` negative rows it keeps ``p`` and ``n``. The precision is an m-estimate with
    m = 1 (Cestnik, 1990), so that a few rows are no proof.
    """
    before = p0 / (p0 + n0)
    gain: Floats = p * (np.log2((p + before) / (p + n + 1)) - np.log2(before))
    return gain


def group_bits(size: int) -> Floats:
    """Bits to say which 0, 1 … ``size`` of so many codes are meant."""
    log = np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, size + 1)))])
    g = np.arange(size + 1)
    bits: Floats = (
        log[size] - log[g] - log[size - g] + 2 * np.log2(1 + np.maximum(np.minimum(g, size - g) - 1, 0))
    )
    return bits
