"""Decision lists over codes (Rivest, 1987): the first rule whose literals hold says the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from pdsketch.abstract.decision_lists.examples import CodedExamples
from pdsketch.abstract.decision_lists.literals import CodeLiteral, covers, exclusive
from pdsketch.core import Longs


@final
@dataclass(frozen=True, slots=True)
class DecisionRule:
    """If all literals hold, the label is ``label``."""

    literals: tuple[CodeLiteral, ...]
    label: int


@final
@dataclass(frozen=True, slots=True)
class Agreement:
    """How well a list says what the examples said.

    - ``n_train``, ``n_held_out``: how many examples it was learned from, and checked on.
    - ``train``, ``held_out``: the share of their weight for which the list is right; 1 of no examples.
    - ``exact``: every combination of codes was an example, and the list agrees with all of them.
    - ``counter_example``: the row of an example with another label, a held-out one if there is any.
    - ``contradictions``: examples with another label than most examples with the same arguments.
    - ``conflicts``: examples of which a later rule with another label holds, too.
    """

    n_train: int = 0
    n_held_out: int = 0
    train: float = 1.0
    held_out: float = 1.0
    exact: bool = False
    counter_example: int | None = None
    contradictions: int = 0
    conflicts: int = 0


@final
@dataclass(frozen=True, slots=True)
class DecisionList:
    """Ordered rules, the label where none holds, and how well that agrees with the examples."""

    rules: tuple[DecisionRule, ...]
    default: int
    agreement: Agreement = Agreement()

    @property
    def exact(self) -> bool:
        """Whether the list was learned from all combinations of codes and agrees with all of them."""
        return self.agreement.exact

    @property
    def n_literals(self) -> int:
        """How long the list is."""
        return sum(len(rule.literals) for rule in self.rules)

    def predict(self, examples: CodedExamples) -> Longs:
        """The label of each row."""
        return predict(self.rules, self.default, examples)

    def overridden_by(self, at: int) -> tuple[int, ...]:
        """Earlier rules with another label that may hold where rule ``at`` does; the others exclude it."""
        rule = self.rules[at]
        return tuple(
            earlier
            for earlier, other in enumerate(self.rules[:at])
            if other.label != rule.label and not exclusive(other.literals, rule.literals)
        )


def predict(rules: Sequence[DecisionRule], default: int, examples: CodedExamples) -> Longs:
    """The label of each row by the first rule that holds."""
    found = np.full(len(examples), default, np.int64)
    rows, rest, open_ = np.arange(len(examples)), examples, np.ones(len(examples), np.bool_)
    for rule in rules:
        hit = covers(rule.literals, rest) & open_
        found[rows[hit]] = rule.label
        open_ &= ~hit
        if 2 * open_.sum() <= len(rows):
            rows, rest, open_ = rows[open_], rest.take(open_), open_[open_]
            if not len(rows):
                break
    return found


def conflicts(rules: Sequence[DecisionRule], examples: CodedExamples) -> int:
    """In how many rows rules with different labels hold."""
    if len({rule.label for rule in rules}) < 2:
        return 0
    lowest = np.full(len(examples), np.iinfo(np.int64).max)
    highest = np.full(len(examples), -1)
    for rule in rules:
        hit = covers(rule.literals, examples)
        lowest[hit] = np.minimum(lowest[hit], rule.label)
        highest[hit] = np.maximum(highest[hit], rule.label)
    return int((highest > lowest).sum())
