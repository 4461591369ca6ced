"""Literals to add to a rule, by FOIL's gain less the bits that it takes to write them down.

For each column the codes are sorted by precision, and the groups tried are the first 1, 2 … of them, among
which is the best group for two classes (Breiman et al., 1984). For sets the same is done with the first, or
second, of the elements of each row in that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from typing import Final, final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.literals import AtLeast, CodeLiteral, ElementLiteral
from pdsketch.abstract.decision_lists.space import ElementSpace, LiteralSpace, foil_gain, group_bits
from pdsketch.kernels import Bools, Floats, Longs

_CONTEXTS: Final = 10
"""How many literals about elements are tried together with a second one."""

_DEEPER: Final = 3
"""How many pairs of literals about elements are tried together with a third one."""


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """Literals to add: what they are worth, ``score``, is their ``gain`` less their bits."""

    score: float
    gain: float
    literals: tuple[CodeLiteral, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """The rows that a rule covers so far: their columns, and the weights of positives and negatives.

    Where there are no ``groups``, literals are about single codes.
    """

    space: LiteralSpace
    positive: Floats
    negative: Floats
    groups: bool = True

    @property
    def totals(self) -> tuple[float, float]:
        """The weights of all positives, and of all negatives."""
        return float(self.positive.sum()), float(self.negative.sum())


def scalar_candidates(coverage: Coverage) -> Iterator[Candidate]:
    """For each column, the best group of codes."""
    space = coverage.space
    overhead = log2(max(space.n_columns, 2))
    p0, n0 = coverage.totals
    for column, size in enumerate(space.sizes):
        codes = space.codes[:, column]
        p, n = counted(codes, coverage.positive, size), counted(codes, coverage.negative, size)
        seen = np.flatnonzero(p + n)
        if len(seen) < 2:
            continue
        p, n = p[seen], n[seen]
        bits = group_bits(len(seen)) + overhead
        order = np.lexsort((seen, -p, -precision(p, n, p0, n0)))
        gain = foil_gain(np.cumsum(p[order]), np.cumsum(n[order]), p0, n0)[:-1]
        score = gain - bits[1:-1]
        at = int(score.argmax())
        single = foil_gain(p, n, p0, n0) - bits[1]
        alone = int(single.argmax())
        if single[alone] > score[at] or not coverage.groups:
            literal = space.literal(column, seen[[alone]])
            yield Candidate(float(single[alone]), float(single[alone] + bits[1]), (literal,))
        else:
            yield Candidate(float(score[at]), float(gain[at]), (grouped(space, column, seen, order, at + 1),))


def grouped(space: LiteralSpace, column: int, seen: Longs, order: Longs, size: int) -> CodeLiteral:
    """The column has one of the first codes in an order; said of the others, where these are fewer.

    ``column`` is one of ``space``; ``seen`` are its codes in the data, ``order`` their places, the best
    first, of which ``size`` are meant.
    """
    if 2 * size <= len(seen):
        return space.literal(column, seen[order[:size]])
    return space.literal(column, seen[order[size:]], sign=False)


def set_candidates(coverage: Coverage) -> Iterator[Candidate]:
    """For each set, the best literals about one, two and three columns of its elements."""
    for s in range(len(coverage.space.sets)):
        search = _SetSearch(coverage, s)
        found, contexts = search.extend(_Context((), coverage.space.sets[s].mask, 0.0, frozenset()))
        found += search.whole()
        pairs: list[_Extension] = []
        for context in _best(contexts, _CONTEXTS):
            more, deeper = search.extend(search.context(context))
            found += more
            pairs += deeper
        for context in _best(pairs, _DEEPER):
            found += search.extend(search.context(context))[0]
        yield from found


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Context:
    """A conjunction of literals about elements: which elements satisfy it, and its bits."""

    elements: tuple[ElementLiteral, ...]
    mask: Bools
    bits: float
    columns: frozenset[int]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Extension:
    """A context and one literal more: a column, and which of its codes."""

    base: _Context
    column: int
    codes: Longs
    literal: ElementLiteral
    bits: float
    worth: float


def _best(extensions: list[_Extension], most: int) -> list[_Extension]:
    return sorted(extensions, key=lambda extension: -extension.worth)[:most]


_KINDS: Final = ((1, True), (1, False), (2, True), (2, False))
"""At least one, fewer than one, at least two, fewer than two."""


@final
class _SetSearch:
    def __init__(self, coverage: Coverage, s: int) -> None:
        self.s = s
        self.group: ElementSpace = coverage.space.sets[s]
        self.weights = np.stack([coverage.positive, coverage.negative])
        self.grouping = coverage.groups
        self.p0, self.n0 = coverage.totals
        self.overhead = log2(max(coverage.space.n_columns, 2))

    def whole(self) -> list[Candidate]:
        """Whether there are elements at all."""
        count = self.group.mask.sum(axis=1)
        found = []
        for least, sign in _KINDS:
            gain = self._gains(self.weights @ (count >= least), sign)
            found.append(self._scored((), least, sign, self.overhead, float(gain)))
        return found

    def context(self, extension: _Extension) -> _Context:
        """The elements that satisfy the literal, too."""
        base, column = extension.base, extension.column
        table = np.zeros(self.group.sizes[column], np.bool_)
        table[extension.codes] = True
        mask = base.mask & table[np.where(base.mask, self.group.codes[:, :, column], 0)]
        return _Context((*base.elements, extension.literal), mask, extension.bits, base.columns | {column})

    def extend(self, context: _Context) -> tuple[list[Candidate], list[_Extension]]:
        """The best literals about each further column, and what can be extended again."""
        found: list[Candidate] = []
        extensions: list[_Extension] = []
        for column in range(len(self.group.sizes)):
            budget.current().tick()
            if column not in context.columns:
                self._column(context, column, found, extensions)
        return found, extensions

    def _column(
        self, context: _Context, column: int, found: list[Candidate], extensions: list[_Extension]
    ) -> None:
        size = self.group.sizes[column]
        codes = np.where(context.mask, self.group.codes[:, :, column], size)
        flat = codes + (size + 1) * np.arange(len(codes))[:, None]
        counts = np.bincount(flat.ravel(), minlength=len(codes) * (size + 1))
        counts = counts.reshape(len(codes), size + 1)[:, :size]
        once = self.weights @ (counts >= 1)
        seen = np.flatnonzero(once.sum(axis=0))
        if not len(seen):
            return
        once, twice = once[:, seen], self.weights @ (counts[:, seen] >= 2)
        bits = group_bits(len(seen)) + self.overhead + context.bits
        literals = [self.group.literal(column, seen[[at]]) for at in range(len(seen))]
        gains = [self._gains(once if least == 1 else twice, sign) for least, sign in _KINDS]
        for (least, sign), gain in zip(_KINDS, gains, strict=True):
            at = int(gain.argmax())
            elements = (*context.elements, literals[at])
            found.append(self._scored(elements, least, sign, float(bits[1]), float(gain[at])))
        worth = np.maximum(gains[0], gains[1])
        extensions += [
            _Extension(context, column, seen[[at]], literals[at], float(bits[1]), float(worth[at]))
            for at in range(len(seen))
        ]
        if len(seen) > 2 and self.grouping:
            rates = precision(once[0], once[1], self.p0, self.n0)
            for sign in (True, False):
                order = seen[np.lexsort((seen, -rates if sign else rates))]
                self._groups(context, column, order, sign, bits, found, extensions)

    def _groups(
        self,
        context: _Context,
        column: int,
        order: Longs,
        sign: bool,
        bits: Floats,
        found: list[Candidate],
        extensions: list[_Extension],
    ) -> None:
        """The first codes in an order, two or more of them, but not all."""
        size = self.group.sizes[column]
        rank = np.full(size + 1, len(order))
        rank[order] = np.arange(len(order))
        ranks = np.sort(rank[np.where(context.mask, self.group.codes[:, :, column], size)], axis=1)
        for least in range(1, 1 + min(2, ranks.shape[1])):
            hits = np.stack([counted(ranks[:, least - 1], w, len(order) + 1) for w in self.weights])
            gain = self._gains(np.cumsum(hits, axis=1)[:, 1 : len(order) - 1], sign)
            at = int((gain - bits[2 : len(order)]).argmax())
            n = at + 2
            few = 2 * n <= len(order)
            literal = self.group.literal(column, order[:n] if few else order[n:], few)
            elements = (*context.elements, literal)
            found.append(self._scored(elements, least, sign, float(bits[n]), float(gain[at])))
            if least == 1:
                extensions.append(
                    _Extension(context, column, order[:n], literal, float(bits[n]), float(gain[at]))
                )

    def _gains(self, hits: Floats, sign: bool) -> Floats:
        p, n = hits if sign else (self.p0 - hits[0], self.n0 - hits[1])
        return foil_gain(np.maximum(p, 0.0), np.maximum(n, 0.0), self.p0, self.n0)

    def _scored(
        self, elements: tuple[ElementLiteral, ...], count: int, sign: bool, bits: float, gain: float
    ) -> Candidate:
        whole = float(bits) + 2 * count
        return Candidate(float(gain) - whole, float(gain), (AtLeast(self.s, elements, count, sign),))


def counted(codes: Longs, weights: Floats, size: int) -> Floats:
    """The weight of the rows with each code."""
    found: Floats = np.bincount(codes, weights, size).astype(np.float64)
    return found


def precision(p: Floats, n: Floats, p0: float, n0: float) -> Floats:
    """The m-estimate with m = 1 (Cestnik, 1990): what was seen once is not taken for certain."""
    found: Floats = (p + p0 / (p0 + n0)) / (p + n + 1)
    return found
