"""Decision lists from examples (FOIL; Quinlan, 1990).

A rule is grown from rows literal by literal, the one with the most gain first, on two thirds of the examples,
and shortened on the other third. It is kept if it saves more bits of exceptions than it takes to write down
(Cohen, 1995). The arguments of a row are searched as a set of one element is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import log2
from typing import Final, final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.decision_list import (
    AtLeast,
    CodeColumn,
    CodedExamples,
    CodeLiteral,
    DecisionList,
    DecisionRule,
    HasCode,
    SameCode,
    covers,
    has_one_of,
    holds,
)
from pdsketch.core import Bools, Floats, Longs

Body = tuple[CodeLiteral, ...]

HELD_OUT: Final = 5
"""One example in so many is held out, of each label."""

_PATIENCE: Final = 3
"""After so many rules in a row that do not pay, a label is given up."""

_OF_ELEMENT: Final = 3
"""Literals about one element, and how many conjunctions of them are tried with one more."""


def learn_list(examples: CodedExamples) -> DecisionList:
    """Learn a decision list from four in five examples; the others say how well it agrees.

    Labels may be noisy: rules that only explain noise cost more bits than they save, and are left out. Of no
    examples nothing is learned: the list is empty and says 0. Time is bounded by the `current` budget, whose
    `LimitError` is raised.
    """
    if not len(examples):
        return DecisionList((), 0)
    train, held_out = split(examples)
    found = _Learner(examples.take(train)).found()
    wrong = found.predict(examples) != examples.y
    worst = [*np.flatnonzero(wrong & np.isin(np.arange(len(wrong)), held_out)), *np.flatnonzero(wrong)][:1]
    share = 1.0 - float(wrong[held_out].mean()) if len(held_out) else 1.0
    return DecisionList(found.rules, found.default, len(held_out), share, int(worst[0]) if worst else None)


def split(examples: CodedExamples) -> tuple[Longs, Longs]:
    """Rows to learn from, in random order, and rows held out: of each label the third, eighth … of them."""
    shuffled = np.random.default_rng(0).permutation(len(examples))
    by_label = shuffled[np.argsort(examples.y[shuffled], kind="stable")]
    y = examples.y[by_label]
    held = np.zeros(len(y), np.bool_)
    held[by_label] = (np.arange(len(y)) - np.searchsorted(y, y)) % HELD_OUT == HELD_OUT // 2
    return shuffled[~held[shuffled]], shuffled[held[shuffled]]


@final
class _Learner:
    """Learns from examples in random order; every third is for judging rules."""

    def __init__(self, examples: CodedExamples) -> None:
        self._examples = examples
        self._things = [*_things_of(examples)]
        self._growing: Bools = np.arange(len(examples)) % 3 > 0

    def found(self) -> DecisionList:
        """Rules for all labels but the most frequent one, the rarest first."""
        counts = np.bincount(self._examples.y)
        default = int(counts.argmax())
        labels = [label for label in np.flatnonzero(counts).tolist() if label != default]
        rules: list[DecisionRule] = []
        for label in sorted(labels, key=lambda label: (counts[label], label)):
            rules += _joined([DecisionRule(body, label) for body in self._cover(label)])
        return DecisionList(tuple(rules), default)

    def _cover(self, label: int) -> list[Body]:
        """Bodies of rules for a label, until its examples are covered, or not worth a rule."""
        found: list[Body] = []
        wrong: Bools = self._examples.y == label
        left, failures = wrong.copy(), 0
        while left.any() and failures < _PATIENCE:
            budget.current().check()
            grown = [self._grow(label, left, groups) for groups in (True, False)]
            body = min(
                (self._shortened(own, label, left) for own in grown if own),
                key=lambda own: self._length(own, label, wrong),
                default=(),
            )
            if not body:
                break
            hit = covers(body, self._examples)
            if self._length(body, label, wrong) < self._length(None, label, wrong):
                found.append(body)
                wrong = np.where(hit, self._examples.y != label, wrong)
                failures = 0
            else:
                failures += 1
            if not (hit & left).any():
                break
            left &= ~hit
        return found

    def _grow(self, label: int, left: Bools, groups: bool) -> Body:
        """Literals that keep positives and lose negatives, the best first; of single codes without groups."""
        y = self._examples.y
        rows = np.flatnonzero(self._growing & (left | (y != label)))
        if not (y[rows] == label).any():
            rows = np.flatnonzero(left | (y != label))
        body: Body = ()
        while True:
            positive = y[rows] == label
            if positive.all() or not positive.any():
                break
            score, literal = self._best(rows, positive, groups)
            if literal is None or score <= 0:
                break
            rows = rows[holds(literal, self._examples)[rows]]
            body += (literal,) if literal not in body else ()
        return tidied(body, self._examples)

    def _shortened(self, body: Body, label: int, left: Bools) -> Body:
        """Without the literals that the examples for judging do not miss."""

        def value(own: Body) -> float:
            p, n = self._judged(own, label, left)
            return (p - n) / (p + n) if p + n else 0.0

        while len(body) > 1:
            best = max(combinations(body, len(body) - 1), key=value)
            if value(best) < value(body):
                break
            body = best
        return body

    def _judged(self, body: Body, label: int, left: Bools) -> tuple[int, int]:
        """How many of the examples for judging a rule gets right of those ``left``, and how many wrong."""
        hit = covers(body, self._examples) & ~self._growing
        return int((hit & left).sum()), int((hit & (self._examples.y != label)).sum())

    def _best(self, rows: Longs, positive: Bools, groups: bool) -> tuple[float, CodeLiteral | None]:
        """The literal that gains the most, less its bits."""
        weights = np.stack([positive, ~positive]).astype(np.float64)
        overhead = log2(max(sum(len(things.sizes) for things in self._things), 2))
        found: list[tuple[float, CodeLiteral | None]] = [(0.0, None)]
        for things in self._things:
            found += _Search(things.take(rows), weights, groups, overhead).candidates()
        return max(found, key=lambda each: each[0])

    def _length(self, body: Body | None, label: int, wrong: Bools) -> float:
        """Description length of what is ``wrong`` about one label, with a rule more that has this body."""
        bits = 0.0
        if body is not None:
            wrong = np.where(covers(body, self._examples), self._examples.y != label, wrong)
            bits = body_bits(body, self._examples)
        return bits + exception_bits(int(wrong.sum()), len(wrong))


# Literals to add to a rule, by FOIL's gain less the bits that it takes to write them down.
#
# For each column the codes are sorted by precision, and the groups tried are the first 1, 2 … of them, among
# which is the best group for two classes (Breiman et al., 1984); of sets, by the first, or second, of the
# elements of each row in that order.


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Things:
    """``codes[row, element, column]`` of a set (``group``), or of the arguments, as one element (None).

    Columns that say whether codes are equal come last: ``equalities`` are their pairs.
    """

    group: int | None
    codes: Longs
    mask: Bools
    sizes: tuple[int, ...]
    equalities: tuple[tuple[int, int], ...]

    def take(self, rows: Longs) -> _Things:
        """Some of the rows."""
        return _Things(self.group, self.codes[rows], self.mask[rows], self.sizes, self.equalities)

    def literal(self, column: int, codes: Longs, sign: bool = True) -> HasCode | SameCode:
        """A column has one of the codes; where there is no ``sign``, none of them."""
        own = len(self.sizes) - len(self.equalities)
        if column < own:
            return HasCode(column, tuple(sorted(codes.tolist())), sign)
        return SameCode(*self.equalities[column - own], bool(codes[0]) == sign)


def _things_of(examples: CodedExamples) -> Iterator[_Things]:
    """The arguments, and the sets."""
    columns, codes = examples.columns, examples.codes
    pairs = [(i, j) for i, j in combinations(range(len(columns)), 2) if columns[i].is_like(columns[j])]
    rows = codes[:, None]
    yield _with_equalities(None, rows, np.ones((len(codes), 1), np.bool_), columns, pairs, rows)
    for s, group in enumerate(examples.sets):
        own = enumerate(group.columns)
        same = [(k, i) for k, one in own for i, column in enumerate(columns) if one.is_like(column)]
        yield _with_equalities(s, group.codes, group.mask, group.columns, same, rows)


def _with_equalities(
    group: int | None,
    codes: Longs,
    mask: Bools,
    columns: Sequence[CodeColumn],
    pairs: Sequence[tuple[int, int]],
    others: Longs,
) -> _Things:
    equal = [(codes[:, :, k] == others[:, :, i]).astype(np.int64)[:, :, None] for k, i in pairs]
    sizes = (*(column.size for column in columns), *(2 for _ in pairs))
    return _Things(group, np.concatenate([codes, *equal], axis=2), mask, sizes, tuple(pairs))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Context:
    """A conjunction of literals about an element; ``parts`` are their columns, and which codes."""

    elements: tuple[HasCode | SameCode, ...] = ()
    parts: tuple[tuple[int, Longs], ...] = ()
    bits: float = 0.0
    worth: float = 0.0

    def mask(self, things: _Things) -> Bools:
        """Which elements satisfy it."""
        found = things.mask
        for column, codes in self.parts:
            table = np.zeros(things.sizes[column], np.bool_)
            table[codes] = True
            found = found & table[np.where(found, things.codes[:, :, column], 0)]
        return found


_KINDS: Final = ((1, True), (1, False), (2, True), (2, False))
"""At least one, fewer than one, at least two, fewer than two."""


@final
class _Search:
    """Literals about one group of columns; ``weights`` are 1 for positive rows, then for the others."""

    def __init__(self, things: _Things, weights: Floats, groups: bool, overhead: float) -> None:
        self._things = things
        self._weights = weights
        self._groups = groups
        self._overhead = overhead
        self._totals = weights.sum(axis=1)
        self._found: list[tuple[float, CodeLiteral]] = []

    def candidates(self) -> list[tuple[float, CodeLiteral]]:
        """The best literals of each kind, with what they are worth."""
        contexts = [_Context()]
        if self._things.group is None:
            self._extended(contexts[0])
            return self._found
        count = self._things.mask.sum(axis=1)
        for least, sign in _KINDS:
            self._add((), least, sign, self._overhead, self._gains(self._weights @ (count >= least), sign))
        for _ in range(_OF_ELEMENT):
            more = [new for context in contexts for new in self._extended(context)]
            contexts = sorted(more, key=lambda new: -new.worth)[:_OF_ELEMENT]
        return self._found

    def _extended(self, context: _Context) -> list[_Context]:
        """Conjunctions with a literal more; the best ones become candidates."""
        found: list[_Context] = []
        mask, known = context.mask(self._things), {column for column, _ in context.parts}
        for column, size in enumerate(self._things.sizes):
            budget.current().tick()
            if column not in known:
                codes = np.where(mask, self._things.codes[:, :, column], size)
                found += self._of_column(context, column, codes)
        return found

    def _of_column(self, context: _Context, column: int, codes: Longs) -> Iterator[_Context]:
        """Those about one column, whose codes are given; elements without the context have none."""
        size = self._things.sizes[column]
        once, twice = self._having(codes, size)
        seen = np.flatnonzero(once.sum(axis=0))
        if not len(seen):
            return
        once, twice = once[:, seen], twice[:, seen]
        bits = group_bits(len(seen)) + self._overhead + context.bits
        literals = [self._things.literal(column, seen[[at]]) for at in range(len(seen))]
        for least, sign in self._kinds:
            gain = self._gains(once if least == 1 else twice, sign)
            at = int(gain.argmax())
            self._add((*context.elements, literals[at]), least, sign, bits[1], gain[at])
        if self._things.group is not None:
            worth = np.maximum(self._gains(once, True), self._gains(once, False))
            for at, literal in enumerate(literals):
                parts = (*context.parts, (column, seen[[at]]))
                yield _Context((*context.elements, literal), parts, bits[1], worth[at])
        if len(seen) > 2 and self._groups:
            rates = precision(*once, *self._totals)
            for sign in (True, False) if self._things.group is not None else (True,):
                order = seen[np.lexsort((seen, -rates if sign else rates))]
                yield from self._of_groups(context, column, codes, order, sign, bits)

    @property
    def _kinds(self) -> Sequence[tuple[int, bool]]:
        return _KINDS if self._things.group is not None else _KINDS[:1]

    def _having(self, codes: Longs, size: int) -> tuple[Floats, Floats]:
        """The weights of rows that have each code at least once, and twice."""
        if codes.shape[1] == 1:
            once: Floats = np.stack([counted(codes[:, 0], w, size + 1)[:size] for w in self._weights])
            return once, np.zeros_like(once)
        flat = codes + (size + 1) * np.arange(len(codes))[:, None]
        counts = np.bincount(flat.ravel(), minlength=len(codes) * (size + 1))
        counts = counts.reshape(len(codes), size + 1)[:, :size]
        return self._weights @ (counts >= 1), self._weights @ (counts >= 2)

    def _of_groups(
        self, context: _Context, column: int, codes: Longs, order: Longs, sign: bool, bits: Floats
    ) -> Iterator[_Context]:
        """The first codes in an order, two or more of them, but not all."""
        rank = np.full(self._things.sizes[column] + 1, len(order))
        rank[order] = np.arange(len(order))
        ranks = np.sort(rank[codes], axis=1)
        for least in range(1, 1 + min(2, ranks.shape[1])):
            hits = np.stack([counted(ranks[:, least - 1], w, len(order) + 1) for w in self._weights])
            gain = self._gains(hits.cumsum(axis=1)[:, 1 : len(order) - 1], sign)
            at = int((gain - bits[2 : len(order)]).argmax())
            n, few = at + 2, 2 * (at + 2) <= len(order)
            literal = self._things.literal(column, order[:n] if few else order[n:], few)
            elements = (*context.elements, literal)
            self._add(elements, least, sign, bits[n], gain[at])
            if least == 1 and self._things.group is not None:
                yield _Context(elements, (*context.parts, (column, order[:n])), bits[n], gain[at])

    def _gains(self, hits: Floats, sign: bool) -> Floats:
        """Bits saved by knowing the positives that a literal keeps, of rows that it hits; or of the others.

        The precision is an m-estimate with m = 1 (Cestnik, 1990), so that a few rows are no proof.
        """
        p0, n0 = self._totals
        p, n = hits if sign else (p0 - hits[0], n0 - hits[1])
        p, n = np.maximum(p, 0.0), np.maximum(n, 0.0)
        gain: Floats = p * (np.log2(precision(p, n, p0, n0)) - np.log2(p0 / (p0 + n0)))
        return gain

    def _add(
        self, elements: tuple[HasCode | SameCode, ...], count: int, sign: bool, bits: float, gain: Floats
    ) -> None:
        if self._things.group is None:
            self._found.append((float(gain - bits), elements[0]))
        else:
            literal = AtLeast(self._things.group, elements, count, sign)
            self._found.append((float(gain - bits - 2 * count), literal))


def counted(codes: Longs, weights: Floats, size: int) -> Floats:
    """The weight of the rows with each code."""
    found: Floats = np.bincount(codes, weights, size).astype(np.float64)
    return found


def precision(p: Floats, n: Floats, p0: float, n0: float) -> Floats:
    """The m-estimate with m = 1: what was seen once is not taken for certain.

    Of rows of weight ``p`` and ``n``, positive and negative, where all have ``p0`` and ``n0``.
    """
    found: Floats = (p + p0 / (p0 + n0)) / (p + n + 1)
    return found


# Description length: bits of a rule, and of the examples that a list gets wrong (Quinlan, 1990; Cohen, 1995).


def exception_bits(wrong: float, total: float) -> float:
    """Bits to name the examples that are wrong; the more, the less one more costs."""
    if wrong <= 0:
        return 0.0
    share = min(wrong / total, 0.5)
    return total * (-share * log2(share) - (1 - share) * log2(1 - share))


def body_bits(body: Body, examples: CodedExamples) -> float:
    """Bits to write down the literals of a rule."""
    sets = [group.columns for group in examples.sets]
    overhead = log2(max(len(examples.columns) + sum(map(len, sets)), 2))
    bits = 1.0
    for literal in body:
        if isinstance(literal, AtLeast):
            columns = sets[literal.group]
            bits += 2 * literal.count + sum(_bits(own, columns, overhead) for own in literal.elements)
        else:
            bits += _bits(literal, examples.columns, overhead)
    return bits


def _bits(literal: HasCode | SameCode, columns: Sequence[CodeColumn], overhead: float) -> float:
    if isinstance(literal, SameCode):
        return 2 * overhead
    return overhead + float(group_bits(columns[literal.argument].size)[len(literal.codes)])


@lru_cache(maxsize=256)
def group_bits(size: int) -> Floats:
    """Bits to say which 0, 1 … ``size`` of so many codes are meant."""
    log = np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, size + 1)))])
    g = np.arange(size + 1)
    few = np.maximum(np.minimum(g, size - g) - 1, 0)
    bits: Floats = log[size] - log[g] - log[size - g] + 2 * np.log2(1 + few)
    return bits


# Shorter lists.


def tidied(body: Body, examples: CodedExamples) -> Body:
    """At most one literal about the codes of each argument."""
    allowed: dict[int, set[int]] = {}
    for literal in body:
        if isinstance(literal, HasCode):
            every = set(range(examples.columns[literal.argument].size))
            own = set(literal.codes) if literal.positive else every - set(literal.codes)
            allowed[literal.argument] = allowed.get(literal.argument, every) & own
    groups = [has_one_of(i, codes, examples.columns[i].size) for i, codes in sorted(allowed.items())]
    return (*groups, *(literal for literal in body if not isinstance(literal, HasCode)))


def _joined(rules: list[DecisionRule]) -> list[DecisionRule]:
    """Rules of one label that differ in the codes of one literal become one rule."""
    found: list[DecisionRule] = []
    for rule in rules:
        body = rule.literals
        for at in reversed(range(len(found))):
            both = _union(found[at].literals, body)
            if both is not None:
                del found[at]
                body = both
        found.append(DecisionRule(body, rule.label))
    return found


def _union(left: Body, right: Body) -> Body | None:
    """One body for two that differ in the codes of one literal; None if there is none."""
    different = [at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b]
    if len(left) != len(right) or len(different) != 1:
        return None
    (at,) = different
    match left[at], right[at]:
        case HasCode(i, a, True), HasCode(j, b, True) if i == j:
            both: CodeLiteral = HasCode(i, tuple(sorted({*a, *b})))
        case AtLeast(s, own, 1, True), AtLeast(t, other, 1, True) if s == t:
            elements = _union(own, other)
            if elements is None:
                return None
            both = AtLeast(s, elements)  # type: ignore[arg-type]
        case _:
            return None
    return (*left[:at], both, *left[at + 1 :])
