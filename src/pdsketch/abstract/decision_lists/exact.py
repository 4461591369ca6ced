"""Exact lists for complete tables: two-level minimisation over many-valued variables.

A rule is a box, the product of a group of codes for each argument, and must lie within its class, whatever
the other rules say: the order of the rules does not matter. Boxes grow from single cells until no
argument can take another code (the EXPAND step of Espresso-MV; Rudell and Sangiovanni-Vincentelli, 1987), and
those that others cover are dropped. Equality of two arguments is one more Boolean axis whose impossible
cells are don't cares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.decision_list import (
    CodeLiteral,
    DecisionRule,
    HasCode,
    SameCode,
    has_one_of,
)
from pdsketch.core import Bools, Longs

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
