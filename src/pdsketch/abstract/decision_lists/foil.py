"""FOIL (Quinlan, 1990) with pruning as in IREP and RIPPER (Cohen, 1995): rules for one label after another.

The rarest label comes first, the commonest is the default. A rule grows literal by literal on two thirds of
the examples, and is pruned on the rest. It is kept if it saves more bits of exceptions than it takes.
"""

from __future__ import annotations

from math import sqrt
from typing import Final, final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.candidates import (
    Candidate,
    Coverage,
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
from pdsketch.abstract.decision_lists.literals import covers, holds
from pdsketch.abstract.decision_lists.space import space_of
from pdsketch.core import Bools, Floats, Longs

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


def foil_rules(examples: CodedExamples) -> tuple[list[DecisionRule], int]:
    """Rules and a default, from examples in random order; every third example is for pruning."""
    weight = np.bincount(examples.y, examples.weight)
    wanted = int(weight.argmax())
    labels = [label for label in np.flatnonzero(weight).tolist() if label != wanted]
    learner = _Learner(examples)
    rules = [
        DecisionRule(body, label)
        for label in sorted(labels, key=lambda label: (weight[label], label))
        for body in learner.cover(label)
    ]
    return simplified(rules, wanted, examples), wanted


@final
class _Learner:
    def __init__(self, examples: CodedExamples) -> None:
        self.examples = examples
        self.weight: Floats = examples.weight
        self.total = float(self.weight.sum())
        self.space = space_of(examples)
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
        """The shorter of those with groups of codes, and without."""
        found: list[tuple[float, Body]] = []
        for groups in (True, False):
            body = self._grow(label, left, groups)
            if body:
                body = tidied(self._prune(body, label, left, wrong), self.examples)
                found.append((self._length(body, label, wrong), body))
                found.sort(key=lambda option: option[0])
        return found[0][1] if found else ()

    def _grow(self, label: int, left: Bools, groups: bool) -> Body:
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
            best = _best(self._coverage(rows, positive, groups))
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
    return best if best is not None and best.score > 0 else None
