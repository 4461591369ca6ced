"""Shorter lists: rules and literals that are not worth their bits are dropped, and like rules joined."""

from __future__ import annotations

from typing import final

import numpy as np

from pdsketch import budget
from pdsketch.abstract.decision_lists.decision_list import DecisionRule
from pdsketch.abstract.decision_lists.description import Body, body_bits, exception_bits, joined, shortened
from pdsketch.abstract.decision_lists.examples import CodedExamples
from pdsketch.abstract.decision_lists.literals import covers
from pdsketch.kernels import Bools, Longs


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
