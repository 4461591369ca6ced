"""FOIL (Quinlan, 1990) with pruning as in IREP and RIPPER (Cohen, 1995): rules for one label after another.

The rarest label comes first, the commonest is the default. A rule grows literal by literal on two thirds of
the examples, and is pruned on the rest. It is kept if it saves more bits of exceptions than it takes.
"""

from __future__ import annotations

from math import sqrt
from typing import Final, final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.candidates import Candidate, Coverage, scalar_candidates, set_candidates
from pdsketch.abstract.decision_lists.decision_list import DecisionRule
from pdsketch.abstract.decision_lists.description import Body, body_bits, exception_bits, shortened, tidied
from pdsketch.abstract.decision_lists.examples import CodedExamples
from pdsketch.abstract.decision_lists.literals import covers, holds
from pdsketch.abstract.decision_lists.lookahead import look_ahead
from pdsketch.abstract.decision_lists.simplify import simplified
from pdsketch.abstract.decision_lists.space import Pairs, space_of
from pdsketch.kernels import Bools, Floats, Longs

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
