"""Two or three literals at once, for where no single one gains anything, as in parities.

Quinlan and Cameron-Jones (1993) and others describe why greedy search needs it.
"""

from __future__ import annotations

from itertools import combinations
from math import log2
from typing import Final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.candidates import Candidate, Coverage, counted, grouped
from pdsketch.abstract.decision_lists.literals import AtLeast, CodeLiteral, negated
from pdsketch.abstract.decision_lists.space import foil_gain, group_bits
from pdsketch.kernels import Bools, Floats, Longs

_MOST_PAIRED: Final = 300
"""How many literals are tried in pairs."""

_MOST_IN_THREES: Final = 40
_MOST_COLUMNS: Final = 16
"""How many columns are tried in pairs, with groups of codes."""

_SEEDS: Final = 8


def look_ahead(coverage: Coverage) -> Candidate | None:
    """The best two literals together, or three, that are worth their bits."""
    p0, n0 = coverage.totals
    if not p0 or not n0:
        return None
    literals, rows, bits = _pool(coverage)
    found = [*_pairs(coverage, literals, rows, bits, (), 0.0), *_group_pairs(coverage)]
    best = max(found, key=lambda candidate: candidate.score, default=None)
    if (best is None or best.score <= 0) and len(literals) <= _MOST_IN_THREES:
        found = []
        for at, literal in enumerate(literals):
            for sign in (True, False):
                first = literal if sign else negated(literal)
                weights = rows[at] if sign else ~rows[at]
                found += _pairs(coverage, literals, rows, bits, (first,), float(bits[at]), weights)
        best = max(found, key=lambda candidate: candidate.score, default=None)
    return best if best is not None and best.score > 0 else None


def _pool(coverage: Coverage) -> tuple[list[CodeLiteral], Bools, Floats]:
    """Literals about single codes, those that split the rows most evenly if they are too many."""
    space = coverage.space
    literals: list[CodeLiteral] = []
    rows: list[Bools] = []
    bits: list[float] = []
    overhead = log2(max(space.n_columns, 2))
    for column, size in enumerate(space.sizes):
        seen = np.flatnonzero(np.bincount(space.codes[:, column], minlength=size))
        if len(seen) < 2:
            continue
        for code in seen[1:] if len(seen) == 2 else seen:
            literals.append(space.literal(column, np.array([code])))
            rows.append(space.codes[:, column] == code)
            bits.append(overhead + log2(len(seen)))
    for s, group in enumerate(space.sets):
        for column, size in enumerate(group.sizes):
            codes = group.codes[:, :, column]
            seen = np.flatnonzero(np.bincount(codes[group.mask], minlength=size))
            for code in seen:
                count = ((codes == code) & group.mask).sum(axis=1)
                for least in (1, 2):
                    literals.append(AtLeast(s, (group.literal(column, np.array([code])),), least))
                    rows.append(count >= least)
                    bits.append(overhead + log2(max(len(seen), 2)) + 2 * least)
    matrix = np.array(rows, np.bool_).reshape(len(rows), len(space.codes))
    even = np.abs(matrix.mean(axis=1) - 0.5) if len(space.codes) else np.zeros(len(rows))
    chosen = np.sort(np.argsort(even, kind="stable")[:_MOST_PAIRED])
    return [literals[at] for at in chosen], matrix[chosen], np.array(bits)[chosen]


def _pairs(
    coverage: Coverage,
    literals: list[CodeLiteral],
    rows: Bools,
    bits: Floats,
    first: tuple[CodeLiteral, ...],
    first_bits: float,
    within: Bools | None = None,
) -> list[Candidate]:
    """The best pair of literals of each combination of signs."""
    budget.current().check()
    if len(literals) < 2:
        return []
    p0, n0 = coverage.totals
    dense = rows.astype(np.float32)
    counts = []
    for weights in (coverage.positive, coverage.negative):
        own = (weights if within is None else weights * within).astype(np.float32)
        both = (dense * own) @ dense.T
        each = np.diag(both)
        counts.append(
            (
                both,
                each[:, None] - both,
                each[None, :] - both,
                own.sum() - each[:, None] - each[None, :] + both,
            )
        )
    found = []
    for kind, signs in enumerate(((True, True), (True, False), (False, True), (False, False))):
        p, n = (np.maximum(count[kind].astype(np.float64), 0.0) for count in counts)
        gain = foil_gain(p, n, p0, n0)
        score = gain - bits[:, None] - bits[None, :] - first_bits
        np.fill_diagonal(score, -np.inf)
        i, j = divmod(int(score.argmax()), len(literals))
        pair = [
            literals[at] if sign else negated(literals[at]) for at, sign in zip((i, j), signs, strict=True)
        ]
        found.append(Candidate(float(score[i, j]), float(gain[i, j]), (*first, *pair)))
    return found


def _group_pairs(coverage: Coverage) -> list[Candidate]:
    """For each two scalar columns, groups of codes for both, found by turns from the codes of one of them."""
    space = coverage.space
    p0, n0 = coverage.totals
    found = []
    overhead = 2 * log2(max(space.n_columns, 2))
    columns = [c for c, size in enumerate(space.sizes) if size > 2][:_MOST_COLUMNS]
    for i, j in combinations(columns, 2):
        budget.current().tick()
        shape = (space.sizes[i], space.sizes[j])
        cells = space.codes[:, i] * shape[1] + space.codes[:, j]
        tables = [
            counted(cells, w, shape[0] * shape[1]).reshape(shape)
            for w in (coverage.positive, coverage.negative)
        ]
        whole = tables[0] + tables[1]
        seen = [np.flatnonzero(whole.sum(axis=1)), np.flatnonzero(whole.sum(axis=0))]
        if min(len(s) for s in seen) < 2:
            continue
        p, n = (table[np.ix_(*seen)] for table in tables)
        for seed in np.argsort(-p.sum(axis=1), kind="stable")[:_SEEDS]:
            others, rows = _by_turns(p, n, np.array([seed]), (p0, n0))
            others, rows = _by_turns(p, n, rows[0][: rows[1]], (p0, n0))
            box = np.ix_(rows[0][: rows[1]], others[0][: others[1]])
            gain = float(foil_gain(p[box].sum(), n[box].sum(), p0, n0))
            bits = overhead + sum(
                float(group_bits(len(codes))[size])
                for codes, (_, size) in zip(seen, (rows, others), strict=True)
            )
            literals = [
                grouped(space, column, codes, order, size)
                for column, codes, (order, size) in zip((i, j), seen, (rows, others), strict=True)
                if size < len(codes)
            ]
            if literals:
                found.append(Candidate(gain - bits, gain, tuple(literals)))
    return found


_Prefix = tuple[Longs, int]
"""Codes in an order, and how many of the first ones are meant."""


def _by_turns(p: Floats, n: Floats, rows: Longs, totals: tuple[float, float]) -> tuple[_Prefix, _Prefix]:
    """The best columns for some rows, then the best rows for these columns."""
    columns = _prefix(p[rows].sum(axis=0), n[rows].sum(axis=0), *totals)
    chosen = columns[0][: columns[1]]
    return columns, _prefix(p[:, chosen].sum(axis=1), n[:, chosen].sum(axis=1), *totals)


def _prefix(p: Floats, n: Floats, p0: float, n0: float) -> _Prefix:
    """Codes by precision, and how many of the first ones gain most, their bits paid."""
    precision = (p + p0 / (p0 + n0)) / (p + n + 1)
    order = np.lexsort((-p, -precision))
    gain = foil_gain(np.cumsum(p[order]), np.cumsum(n[order]), p0, n0) - group_bits(len(p))[1:]
    return order, int(gain.argmax()) + 1
