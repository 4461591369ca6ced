"""Decision lists over codes (Rivest, 1987): the first rule whose literals hold says the label."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from pdsketch import budget
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


MOST_CELLS: Final = 200_000
"""Larger tables are not looked at as a whole."""

_MOST_EXPANDED: Final = 1000
"""How many boxes are grown; if these are not enough, each other cell is a box."""

UNSEEN: Final = -1
"""The label of a cell that may have any: it cannot be, or was not seen."""

Body = tuple[CodeLiteral, ...]

Groups = list[Longs]
"""A box: the codes of each axis."""


@final
@dataclass(frozen=True, slots=True)
class _Axis:
    """An argument of so many codes, or whether two are equal."""

    arguments: tuple[int, ...]
    size: int


def exact_rules(
    table: Longs, pairs: Sequence[tuple[int, int]], default: int | None = None
) -> tuple[list[DecisionRule], int]:
    """Rules that give every cell of a table its label, and the default; ``pairs`` are compared."""
    labels, counts = np.unique(table[table != UNSEEN], return_counts=True)
    common = int(labels[counts.argmax()])
    axes, reduced = _relevant(table)
    defaults = [common if default is None else default]
    if default is None and len(labels) == 2:
        defaults = labels[[counts.argmax(), 1 - counts.argmax()]].tolist()
    ways = [(axes, reduced)]
    with_equalities = _with_equalities(axes, reduced, pairs)
    ways += [with_equalities] if with_equalities is not None else []
    found = [(_rules(*way, wanted), wanted) for wanted in defaults for way in ways]
    return min(found, key=lambda rules: (_length(rules[0]), len(rules[0])))


def _length(rules: list[DecisionRule]) -> int:
    return sum(
        1 + (len(literal.codes) if isinstance(literal, HasCode) else 1)
        for r in rules
        for literal in r.literals
    )


def _relevant(table: Longs) -> tuple[list[_Axis], Longs]:
    """The table without the arguments that never matter."""
    axes = []
    for i in reversed(range(table.ndim)):
        first = table.take([0], axis=i)
        if (table == first).all():
            table = first.squeeze(axis=i)
        else:
            axes.append(_Axis((i,), table.shape[i]))
    return axes[::-1], table


def _with_equalities(
    axes: list[_Axis], table: Longs, pairs: Sequence[tuple[int, int]]
) -> tuple[list[_Axis], Longs] | None:
    """The table with an axis more for each pair of comparable arguments."""
    place = {axis.arguments[0]: at for at, axis in enumerate(axes)}
    usable = [pair for pair in pairs if pair[0] in place and pair[1] in place]
    if not usable or table.size << len(usable) > MOST_CELLS:
        return None
    axes, original = list(axes), table
    for pair in usable:
        grid = np.ix_(*(np.arange(size) for size in original.shape))
        equal = np.broadcast_to(grid[place[pair[0]]] == grid[place[pair[1]]], original.shape)
        equal = equal.reshape(original.shape + (1,) * (table.ndim - original.ndim))
        # Equal codes cannot have the value *different*, nor the others *equal*: don't cares, which boxes
        # may cover.
        table = np.stack([np.where(equal, UNSEEN, table), np.where(equal, table, UNSEEN)], axis=-1)
        axes.append(_Axis(pair, 2))
    return axes, table


def _rules(axes: list[_Axis], table: Longs, default: int) -> list[DecisionRule]:
    """A cover of each label but the default."""
    found = []
    known: dict[tuple[int, bytes], Body] = {}
    left = _MOST_EXPANDED
    n_equalities = sum(len(axis.arguments) > 1 for axis in axes)
    for label in np.unique(table).tolist():
        if label in (default, UNSEEN):
            continue
        boxes = _cover(table, label, n_equalities, left)
        left -= len(boxes)
        found += [DecisionRule(_literals(axes, box, known), label) for box in boxes]
    return found


def _cover(table: Longs, label: int, n_equalities: int, most: int) -> list[Groups]:
    """Boxes that cover a label and nothing else."""
    # Comparing a table in which no argument matters gives a scalar, which cannot be written to.
    real: Bools = np.asarray(table == label)
    inside: Bools = real | (table == UNSEEN)
    open_ = real.copy()
    seeds = np.flatnonzero(real.ravel())
    boxes: list[Groups] = []
    limit = budget.current()
    while len(seeds) and len(boxes) < most:
        limit.tick()
        at = np.unravel_index(seeds[0], table.shape)
        grown = [_expand(inside, open_, at, free) for free in sorted({n_equalities, 0})]
        box = max(grown, key=lambda box: (int(open_[np.ix_(*box)].sum()), -_n_literals(box, table.shape)))
        open_[np.ix_(*box)] = False
        boxes.append(box)
        seeds = seeds[open_.ravel()[seeds]]
    left = (np.unravel_index(seed, table.shape) for seed in seeds)
    return _irredundant(boxes, real) + [[np.array([code]) for code in cell] for cell in left]


def _expand(inside: Bools, open_: Bools, seed: Sequence[Any], free: int) -> Groups:
    """A box around a cell that cannot grow. The last ``free`` axes are left open from the start.

    An axis that was expanded cannot be expanded again later, because a larger box admits fewer codes.
    """
    shape = inside.shape
    box = [np.array([int(code)]) for code in seed]
    for at in range(len(shape) - free, len(shape)):
        box[at] = np.arange(shape[at])
    left = list(range(len(shape) - free))
    while left:
        best: tuple[tuple[int, float, int], int, Longs] | None = None
        for at in left:
            wide = [*box[:at], np.arange(shape[at]), *box[at + 1 :]]
            others = tuple(axis for axis in range(len(shape)) if axis != at)
            codes = np.flatnonzero(inside[np.ix_(*wide)].all(axis=others))
            if len(codes) == len(box[at]):
                continue
            wide[at] = codes
            worth = (int(open_[np.ix_(*wide)].sum()), len(codes) / shape[at], -at)
            if best is None or worth > best[0]:
                best = (worth, at, codes)
        if best is None:
            break
        box[best[1]] = best[2]
        left.remove(best[1])
    return box


def _irredundant(boxes: list[Groups], real: Bools) -> list[Groups]:
    """Without the boxes that others cover."""
    # IRREDUNDANT of Espresso, greedily: a box goes if each of its cells is in another one that is left.
    count = np.zeros(real.shape, np.int64)
    for box in boxes:
        count[np.ix_(*box)] += 1
    kept = []
    for box in boxes:
        at = np.ix_(*box)
        if (count[at][real[at]] > 1).all():
            count[at] -= 1
        else:
            kept.append(box)
    return kept


def _n_literals(box: Groups, shape: tuple[int, ...]) -> int:
    return sum(len(codes) < size for codes, size in zip(box, shape, strict=True))


def _literals(axes: list[_Axis], box: Groups, known: dict[tuple[int, bytes], Body]) -> Body:
    """A literal for each axis of which not all codes are in the box; ``known`` ones are made once."""
    found: Body = ()
    for at, (axis, group) in enumerate(zip(axes, box, strict=True)):
        key = (at, group.tobytes())
        if key not in known:
            known[key] = _literal(axis, group)
        found += known[key]
    return found


def _literal(axis: _Axis, group: Longs) -> Body:
    if len(group) == axis.size:
        return ()
    if len(axis.arguments) > 1:
        return (SameCode(axis.arguments[0], axis.arguments[1], bool(group[0])),)
    return (has_one_of(axis.arguments[0], group.tolist(), axis.size),)
