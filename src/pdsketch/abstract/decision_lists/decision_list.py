"""Decision lists over codes (Rivest, 1987): the first rule whose literals hold says the label."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from pdsketch.core import Bools, Longs


@final
@dataclass(frozen=True, slots=True)
class CodeColumn:
    """Codes 0 … ``size`` - 1. Columns of the same ``sort`` can be compared; None is like no other."""

    size: int
    sort: Hashable = None

    def is_like(self, other: CodeColumn) -> bool:
        """Whether it makes sense to ask if two columns have equal codes."""
        return self.sort is not None and self.sort == other.sort


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
    """

    codes: Longs
    columns: tuple[CodeColumn, ...]
    y: Longs
    sets: tuple[CodedSet, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.integer] | Bools) -> CodedExamples:
        """Some of the rows."""
        sets = tuple(CodedSet(s.codes[rows], s.mask[rows], s.columns) for s in self.sets)
        return CodedExamples(self.codes[rows], self.columns, self.y[rows], sets)


# What a rule may ask of its arguments, and which rows answer yes.


@final
@dataclass(frozen=True, slots=True)
class HasCode:
    """An argument, or a column of an element, has one of some codes; where not ``positive``, none of them."""

    argument: int
    codes: tuple[int, ...]
    positive: bool = True


@final
@dataclass(frozen=True, slots=True)
class SameCode:
    """Two arguments have equal codes; where not ``positive``, different ones.

    Of elements: a column (``left``) has the code of an argument.
    """

    left: int
    right: int
    positive: bool = True


@final
@dataclass(frozen=True, slots=True)
class AtLeast:
    """At least ``count`` (1 or 2) different elements of a set satisfy all ``elements``; or fewer do."""

    group: int
    elements: tuple[HasCode | SameCode, ...]
    count: int = 1
    positive: bool = True


CodeLiteral = HasCode | SameCode | AtLeast


def holds(literal: CodeLiteral, examples: CodedExamples) -> Bools:
    """Of which rows a literal is true."""
    found: Bools
    match literal:
        case HasCode(i, codes):
            found = _members(codes, examples.columns[i])[examples.codes[:, i]]
        case SameCode(i, j):
            found = examples.codes[:, i] == examples.codes[:, j]
        case AtLeast(s, elements, count):
            found = satisfying(elements, examples.sets[s], examples).sum(axis=1) >= count
    return found if literal.positive else ~found


def satisfying(elements: Iterable[HasCode | SameCode], group: CodedSet, examples: CodedExamples) -> Bools:
    """Which elements of a set satisfy all of some literals."""
    found = group.mask
    for literal in elements:
        true: Bools
        if isinstance(literal, HasCode):
            codes = np.where(group.mask, group.codes[:, :, literal.argument], 0)
            true = _members(literal.codes, group.columns[literal.argument])[codes]
        else:
            true = group.codes[:, :, literal.left] == examples.codes[:, literal.right, None]
        found = found & (true if literal.positive else ~true)
    return found


def covers(literals: Iterable[CodeLiteral], examples: CodedExamples) -> Bools:
    """Of which rows all literals are true."""
    found = np.ones(len(examples), np.bool_)
    for literal in literals:
        found &= holds(literal, examples)
    return found


def _members(codes: tuple[int, ...], column: CodeColumn) -> Bools:
    table = np.zeros(column.size, np.bool_)
    table[list(codes)] = True
    return table


def has_one_of(argument: int, codes: Iterable[int], size: int) -> HasCode:
    """An argument has one of some codes; said of the other codes, where these are fewer."""
    own = set(codes)
    if 2 * len(own) <= size:
        return HasCode(argument, tuple(sorted(own)))
    return HasCode(argument, tuple(sorted(set(range(size)) - own)), positive=False)


def exclusive(left: Iterable[CodeLiteral], right: Iterable[CodeLiteral]) -> bool:
    """Whether a literal of the one side contradicts one of the other, so that they never hold together."""
    others = tuple(right)
    return any(_opposed(a, b) for a in left for b in others)


def _opposed(left: CodeLiteral, right: CodeLiteral) -> bool:
    match left, right:
        case HasCode(i, a, True), HasCode(j, b, True):
            return i == j and not {*a} & {*b}
        case HasCode(i, a, True), HasCode(j, b, False):
            return i == j and {*a} <= {*b}
        case HasCode(i, a, False), HasCode(j, b, True):
            return i == j and {*b} <= {*a}
        case SameCode(i, a, p), SameCode(j, b, q):
            return (i, a) == (j, b) and p != q
        case AtLeast(s, a, n, True), AtLeast(t, b, m, False):
            return s == t and {*a} == {*b} and n >= m
        case AtLeast(s, a, n, False), AtLeast(t, b, m, True):
            return s == t and {*a} == {*b} and n <= m
        case _:
            return False


@final
@dataclass(frozen=True, slots=True)
class DecisionRule:
    """If all literals hold, the label is ``label``."""

    literals: tuple[CodeLiteral, ...]
    label: int


@final
@dataclass(frozen=True, slots=True)
class DecisionList:
    """Ordered rules, the label where none holds, and how well that agrees with the examples.

    It is right for the share ``held_out`` of ``n_held_out`` examples that it was not learned from;
    ``counter_example`` is the row of one of the others.
    """

    rules: tuple[DecisionRule, ...]
    default: int
    n_held_out: int = 0
    held_out: float = 1.0
    counter_example: int | None = None

    def predict(self, examples: CodedExamples) -> Longs:
        """The label of each row."""
        found = np.full(len(examples), self.default, np.int64)
        rows, rest, open_ = np.arange(len(examples)), examples, np.ones(len(examples), np.bool_)
        for rule in self.rules:
            hit = covers(rule.literals, rest) & open_
            found[rows[hit]] = rule.label
            open_ &= ~hit
            if 2 * open_.sum() <= len(rows):
                rows, rest, open_ = rows[open_], rest.take(open_), open_[open_]
        return found

    def overridden_by(self, at: int) -> tuple[int, ...]:
        """Earlier rules with another label that may hold where rule ``at`` does; the others exclude it."""
        rule = self.rules[at]
        return tuple(
            earlier
            for earlier, other in enumerate(self.rules[:at])
            if other.label != rule.label and not exclusive(other.literals, rule.literals)
        )
