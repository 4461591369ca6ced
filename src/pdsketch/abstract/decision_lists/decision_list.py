"""Decision lists over codes (Rivest, 1987): the first rule whose literals hold says the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import floor
from typing import Any, Final, final

import numpy as np

from pdsketch.abstract.decision_lists.examples import CodedExamples
from pdsketch.abstract.decision_lists.literals import (
    NUMBERED,
    CodeLiteral,
    CodeNames,
    covers,
    exclusive,
    literal_as_json,
    literal_from_json,
    literal_text,
)
from pdsketch.kernels import Longs
from pdsketch.lang import error

FORMAT: Final = 1


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

    def text(self, names: CodeNames = NUMBERED) -> str:
        """The rules in the paper's notation, and how well they agree."""
        lines = []
        for rule in self.rules:
            parts = [literal_text(literal, names) for literal in rule.literals]
            body = parts[0] if len(parts) == 1 else f"(and{''.join(' ' + part for part in parts)})"
            lines.append(f"{names.label(rule.label)} <- {body}")
        lines.append(f"{names.label(self.default)} <- otherwise")
        return "\n".join([*lines, *(f"; {line}" for line in _remarks(self.agreement))])

    def __str__(self) -> str:
        return self.text()

    def as_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        rules = [
            {"label": r.label, "if": [literal_as_json(literal) for literal in r.literals]} for r in self.rules
        ]
        return {
            "format": FORMAT,
            "rules": rules,
            "default": self.default,
            "agreement": asdict(self.agreement),
        }

    @staticmethod
    def from_json(content: Any) -> DecisionList:
        """The list that `as_json` wrote; an Error if it is damaged."""
        try:
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']!r:.20} is not known")
            rules = tuple(
                DecisionRule(tuple(literal_from_json(literal) for literal in rule["if"]), _int(rule["label"]))
                for rule in content["rules"]
            )
            return DecisionList(rules, _int(content["default"]), _agreement(content["agreement"]))
        except (KeyError, TypeError, ValueError) as problem:
            why = f"the rules of a saved model are damaged: {problem}"
            raise error("bad-model", why, help="compile the rules of the model again") from None


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


def _remarks(agreement: Agreement) -> list[str]:
    a = agreement
    lines = []
    if a.exact:
        lines.append(f"exact: all {a.n_train:,} combinations of codes")
    elif a.n_held_out:
        lines.append(f"agrees with {_percent(a.held_out)} of {a.n_held_out:,} held-out cases")
    else:
        lines.append(f"agrees with {_percent(a.train)} of {a.n_train:,} cases, none held out")
    if a.contradictions:
        lines.append(f"{a.contradictions:,} cases contradict others with the same codes; the majority counts")
    if a.conflicts:
        lines.append(f"in {a.conflicts:,} cases rules with different labels hold; the first counts")
    if a.counter_example is not None:
        lines.append(f"counter-example: case {a.counter_example}")
    return lines


def _percent(share: float) -> str:
    """Rounded down: 100 % means all."""
    return f"{floor(1000 * share + 1e-9) / 10:.1f} %"


def _agreement(content: Any) -> Agreement:
    found = Agreement(**content)
    also = {"train": int, "held_out": int, "counter_example": int}
    for name, usual in asdict(Agreement()).items():
        value = getattr(found, name)
        if type(value) not in (type(usual), also.get(name)):
            raise ValueError(f"{name} is {value!r:.20}")
    return found


def _int(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"a whole number was wanted, and {value!r:.20} was found")
    return value
