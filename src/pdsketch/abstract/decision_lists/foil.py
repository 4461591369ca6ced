"""FOIL (Quinlan, 1990) with pruning as in IREP and RIPPER (Cohen, 1995): rules for one label after another.

The rarest label comes first, the commonest is the default. A rule grows literal by literal on two thirds of
the examples, and is pruned on the rest. It is kept if it saves more bits of exceptions than it takes.
"""

from __future__ import annotations

from itertools import combinations
from math import log2, sqrt
from typing import Final, final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.candidates import (
    Candidate,
    Coverage,
    counted,
    grouped,
    precision,
    scalar_candidates,
    set_candidates,
)
from pdsketch.abstract.decision_lists.decision_list import DecisionRule
from pdsketch.abstract.decision_lists.description import (
    Body,
    body_bits,
    exception_bits,
    joined,
    shortened,
    tidied,
)
from pdsketch.abstract.decision_lists.examples import CodedExamples
from pdsketch.abstract.decision_lists.literals import AtLeast, CodeLiteral, covers, holds, negated
from pdsketch.abstract.decision_lists.space import Pairs, foil_gain, group_bits, space_of
from pdsketch.kernels import Bools, Floats, Longs

# Two or three literals at once, for where no single one gains anything, as in parities.
#
# Quinlan and Cameron-Jones (1993) and others describe why greedy search needs it.

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
    order = np.lexsort((-p, -precision(p, n, p0, n0)))
    gain = foil_gain(np.cumsum(p[order]), np.cumsum(n[order]), p0, n0) - group_bits(len(p))[1:]
    return order, int(gain.argmax()) + 1


# Shorter lists: rules and literals that are not worth their bits are dropped, and like rules joined.


def simplified(rules: list[DecisionRule], default: int, examples: CodedExamples) -> list[DecisionRule]:
    """A list whose description length does not grow by dropping a rule or a literal."""
    work = _Work(rules, default, examples)
    while work.drop_literals() or work.drop_rules():
        pass
    return _joined(work.rules)


@final
class _Work:
    def __init__(self, rules: list[DecisionRule], default: int, examples: CodedExamples) -> None:
        self.rules = list(rules)
        self.default = default
        self.examples = examples
        self.weight = examples.weight
        self.total = float(self.weight.sum())
        self.n_labels = len(np.unique(examples.y))
        self.hits: list[Bools] = [covers(rule.literals, examples) for rule in rules]
        self._measure()

    def drop_rules(self) -> bool:
        """Drop each rule that is not worth its bits; whether there was one."""
        dropped = False
        for at in reversed(range(len(self.rules))):
            budget.current().tick()
            nothing, owned = np.zeros(len(self.examples), np.bool_), self._owned(at)
            bits = body_bits(self.rules[at].literals, self.examples)
            if self._bits(self._more_errors(at, nothing, owned)) <= bits:
                del self.rules[at], self.hits[at]
                self._measure()
                dropped = True
        return dropped

    def drop_literals(self) -> bool:
        """Drop each literal that is not worth its bits; whether there was one."""
        dropped = False
        for at in range(len(self.rules)):
            while (short := self._shorter(at)) is not None:
                self.rules[at] = DecisionRule(short, self.rules[at].label)
                self.hits[at] = covers(short, self.examples)
                self._measure()
                dropped = True
        return dropped

    def _shorter(self, at: int) -> Body | None:
        """The rule with a literal less; rows that earlier rules get right must not be spoiled, either."""
        rule, owned = self.rules[at], self._owned(at)
        bits = body_bits(rule.literals, self.examples)
        for short in shortened(rule.literals):
            budget.current().tick()
            if not short:
                continue
            more = self._more_errors(at, covers(short, self.examples), owned)
            if self._bits(more) <= bits - body_bits(short, self.examples):
                return short
        return None

    def _more_errors(self, at: int, hit: Bools, owned: Bools) -> float:
        """The weight of errors more, if a rule covered other rows; ``owned`` ones reach it."""
        label = self.rules[at].label
        new, lost = hit & ~self.hits[at], self.hits[at] & ~hit & owned
        y, weight = self.examples.y, self.weight
        spoiled = float(weight[new & (y != label) & (self.labels == y)].sum())
        mended = float(weight[new & owned & (y == label) & (self.labels != y)].sum())
        later = self._labels(lost, at + 1) != y[lost]
        return spoiled - mended + float(weight[lost] @ (later.astype(float) - (y[lost] != label)))

    def _owned(self, at: int) -> Bools:
        """Rows that no rule before it covers."""
        free = np.ones(len(self.examples), np.bool_)
        for hit in self.hits[:at]:
            free &= ~hit
        return free

    def _labels(self, rows: Bools, start: int) -> Longs:
        """What the rules from ``start`` on say of some rows."""
        found = np.full(int(rows.sum()), self.default)
        open_ = np.ones(len(found), np.bool_)
        for rule, hit in zip(self.rules[start:], self.hits[start:], strict=True):
            own = hit[rows] & open_
            found[own] = rule.label
            open_ &= ~own
        return found

    def _bits(self, more: float) -> float:
        """Bits of so many errors more."""
        after = exception_bits(max(self.wrong + more, 0.0), self.total, self.n_labels)
        return after - exception_bits(self.wrong, self.total, self.n_labels)

    def _measure(self) -> None:
        self.labels = self._labels(np.ones(len(self.examples), np.bool_), 0)
        self.wrong = float(self.weight[self.labels != self.examples.y].sum())


def _joined(rules: list[DecisionRule]) -> list[DecisionRule]:
    """Neighbours with one label that differ in the codes of one literal become one rule."""
    found: list[DecisionRule] = []
    for rule in rules:
        body = rule.literals
        for at in reversed(range(len(found))):
            if found[at].label != rule.label:
                break
            both = joined(found[at].literals, body)
            if both is not None:
                del found[at]
                body = both
        found.append(DecisionRule(body, rule.label))
    return found


_MOST_ROWS: Final = 4000
"""So many positives, and negatives, are looked at to choose a literal."""

_MOST_LITERALS: Final = 12
_PATIENCE: Final = 3
"""After so many rules in a row that do not pay, a label is given up."""

_MANNERS: Final = ("groups", "codes", "pairs")
"""How a rule may grow."""


def foil_rules(
    examples: CodedExamples, *, pairs: Pairs | None = None, default: int | None = None
) -> tuple[list[DecisionRule], int]:
    """Rules and a default, from examples in random order; every third example is for pruning."""
    weight = np.bincount(examples.y, examples.weight)
    wanted = int(weight.argmax()) if default is None else default
    labels = [label for label in np.flatnonzero(weight).tolist() if label != wanted]
    learner = _Learner(examples, pairs)
    rules = [
        DecisionRule(body, label)
        for label in sorted(labels, key=lambda label: (weight[label], label))
        for body in learner.cover(label)
    ]
    return simplified(rules, wanted, examples), wanted


@final
class _Learner:
    def __init__(self, examples: CodedExamples, pairs: Pairs | None) -> None:
        self.examples = examples
        self.weight: Floats = examples.weight
        self.total = float(self.weight.sum())
        self.space = space_of(examples, pairs)
        self.growing: Bools = np.arange(len(examples)) % 3 > 0

    def cover(self, label: int) -> list[Body]:
        """Bodies of rules for a label, until its examples are covered, or not worth a rule."""
        found: list[Body] = []
        wrong: Bools = self.examples.y == label
        left, failures = wrong.copy(), 0
        while left.any() and failures < _PATIENCE:
            budget.current().check()
            body = self._rule(label, left, wrong)
            if not body:
                break
            hit = covers(body, self.examples)
            saves = self._length(body, label, wrong) < self._length(None, label, wrong)
            p, n = self._pruning(body, label, left)
            # By chance, p − n has a standard deviation of √(p + n): it must be past one, on the examples
            # for pruning.
            if saves and p - n >= sqrt(p + n):
                found.append(body)
                wrong = np.where(hit, self.examples.y != label, wrong)
                failures = 0
            else:
                failures += 1
            if not (hit & left).any():
                break
            left &= ~hit
        return found

    def _rule(self, label: int, left: Bools, wrong: Bools) -> Body:
        """The shortest of those with groups, without, and, if neither is pure, with two literals at first."""
        found: list[tuple[float, Body]] = []
        for manner in _MANNERS:
            if manner == "pairs" and found and self._pure(found[0][1], label):
                break
            body = self._grow(label, left, manner)
            if body:
                body = tidied(self._prune(body, label, left, wrong), self.examples)
                found.append((self._length(body, label, wrong), body))
                found.sort(key=lambda option: option[0])
        return found[0][1] if found else ()

    def _pure(self, body: Body, label: int) -> bool:
        return bool((self.examples.y[covers(body, self.examples)] == label).all())

    def _grow(self, label: int, left: Bools, manner: str) -> Body:
        """Literals that keep positives and lose negatives, the best first."""
        y = self.examples.y
        rows = np.flatnonzero(self.growing & (left | (y != label)))
        if not (y[rows] == label).any():
            rows = np.flatnonzero(left | (y != label))
        body: Body = ()
        while len(body) < _MOST_LITERALS:
            positive = y[rows] == label
            if positive.all() or not positive.any():
                break
            coverage = self._coverage(rows, positive, manner != "codes")
            best = look_ahead(coverage) if manner == "pairs" and not body else _best(coverage)
            if best is None:
                break
            for literal in best.literals:
                rows = rows[holds(literal, self.examples)[rows]]
            body += tuple(literal for literal in best.literals if literal not in body)
        return body

    def _coverage(self, rows: Longs, positive: Bools, groups: bool) -> Coverage:
        """Columns and weights of some rows; of a part of them, if they are many."""
        parts = []
        for part in (rows[positive], rows[~positive]):
            some = part[:_MOST_ROWS]
            parts.append((some, self.weight[some] * (self.weight[part].sum() / self.weight[some].sum())))
        (p, of_p), (n, of_n) = parts
        chosen = np.concatenate([p, n])
        zeros = np.zeros(len(chosen))
        of_positive, of_negative = zeros, zeros.copy()
        of_positive[: len(p)] = of_p
        of_negative[len(p) :] = of_n
        return Coverage(self.space.take(chosen), of_positive, of_negative, groups)

    def _prune(self, body: Body, label: int, left: Bools, wrong: Bools) -> Body:
        """Without the literals that neither the pruning examples nor the description length miss."""
        value, length = self._value(body, label, left), self._length(body, label, wrong)
        while True:
            options = [
                (self._length(short, label, wrong), -self._value(short, label, left), at, short)
                for at, short in enumerate(shortened(body))
                if short
            ]
            options = [option for option in options if option[0] <= length and -option[1] >= value]
            if not options:
                break
            length, negative, _, body = min(options, key=lambda option: option[:3])
            value = -negative
        return body

    def _value(self, body: Body, label: int, left: Bools) -> float:
        """(p - n) / (p + n) among the examples for pruning."""
        p, n = self._pruning(body, label, left)
        return (p - n) / (p + n) if p + n else 0.0

    def _pruning(self, body: Body, label: int, left: Bools) -> tuple[float, float]:
        """The weights of positives and negatives among the examples for pruning."""
        hit = covers(body, self.examples) & ~self.growing
        n = self.weight[hit & (self.examples.y != label)].sum()
        return float(self.weight[hit & left].sum()), float(n)

    def _length(self, body: Body | None, label: int, wrong: Bools) -> float:
        """Description length of what is ``wrong`` about one label, with a rule more that has this body."""
        bits = 0.0
        if body is not None:
            wrong = np.where(covers(body, self.examples), self.examples.y != label, wrong)
            bits = body_bits(body, self.examples)
        return bits + exception_bits(float(self.weight[wrong].sum()), self.total, 2)


def _best(coverage: Coverage) -> Candidate | None:
    found = [*scalar_candidates(coverage), *set_candidates(coverage)]
    best = max(found, key=lambda candidate: candidate.score, default=None)
    return best if best is not None and best.score > 0 else look_ahead(coverage)
