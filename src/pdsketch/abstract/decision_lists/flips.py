"""Functions of sets that single elements decide: f(x, S) = f(x, {}) unless some element of S is of some kind.

The value without elements and the kinds that change it are learned from examples with no element and with
one, which need no quantifier, and are believed if they explain the other examples, too. Where there are
no such examples, what is usual for x takes the place of f(x, {}).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from pdsketch.abstract.decision_lists.decision_list import DecisionRule, predict
from pdsketch.abstract.decision_lists.description import Body, tidied
from pdsketch.abstract.decision_lists.examples import CodedExamples, comparable_pairs
from pdsketch.abstract.decision_lists.foil import foil_rules
from pdsketch.abstract.decision_lists.literals import (
    AtLeast,
    CodeLiteral,
    ElementHasCode,
    ElementLiteral,
    ElementSameCode,
    HasCode,
    SameCode,
    covers,
)
from pdsketch.abstract.decision_lists.space import Pairs
from pdsketch.core import Bools, Longs

ENOUGH: Final = 0.995
"""The share of the other examples that must be explained."""

_FEWEST: Final = 10
"""Fewer examples with one element, or with none, are not looked at."""

Rules = tuple[list[DecisionRule], int]
"""The rules of a list, and its default."""

LearnScalars = Callable[[CodedExamples, Pairs | None, int | None], Rules]
"""Learns from examples without sets; pairs to compare, and the default, may be given."""


def exception_rules(examples: CodedExamples, learn: LearnScalars) -> Rules | None:
    """What the scalar arguments say, unless the sets are unusual: for functions with more than two values."""
    if len(np.unique(examples.y)) <= 2:
        return None
    base, default = learn(_without_sets(examples), None, None)
    usual = predict(base, default, _without_sets(examples))
    changed, _ = foil_rules(examples.relabelled((examples.y != usual).astype(np.int64)), default=0)
    return [*_to_one_value(examples, [rule.literals for rule in changed], learn), *base], default


def flip_rules(examples: CodedExamples, learn: LearnScalars) -> Rules | None:
    """Rules about single elements, then rules about none; None where that does not explain the examples.

    A changed value that depends on the scalar arguments alone is tried first: it needs fewer examples.
    """
    if not examples.sets:
        return None
    counts = np.stack([group.mask.sum(axis=1) for group in examples.sets])
    empty, single = counts.sum(axis=0) == 0, counts.sum(axis=0) == 1
    others = ~empty & ~single
    if min(empty.sum(), single.sum()) < _FEWEST:
        return None
    base, default = learn(_without_sets(examples.take(empty)), None, None)
    usual = predict(base, default, _without_sets(examples))
    rest = examples.take(others if others.any() else single)
    for changes in (_changes_to_one_value, _changes_by_element):
        rules = [*changes(examples, usual, single & (counts == 1), learn), *base]
        right = predict(rules, default, rest) == rest.y
        if float(rest.weight[right].sum()) >= ENOUGH * float(rest.weight.sum()):
            return rules, default
    return None


def _without_sets(examples: CodedExamples) -> CodedExamples:
    return CodedExamples(examples.codes, examples.columns, examples.y, (), examples.weights)


def _changes_to_one_value(
    examples: CodedExamples, usual: Longs, single: Bools, learn: LearnScalars
) -> list[DecisionRule]:
    """Which elements change the value, and to what, by the scalar arguments."""
    changed = examples.relabelled((examples.y != usual).astype(np.int64))
    bodies = [
        rule.literals for s, own in enumerate(single) for rule in _of_elements(changed.take(own), s, 0, learn)
    ]
    return _to_one_value(examples, bodies, learn)


def _to_one_value(examples: CodedExamples, bodies: list[Body], learn: LearnScalars) -> list[DecisionRule]:
    """The values of the rows that some body covers, by the scalar arguments."""
    hit = np.zeros(len(examples), np.bool_)
    for body in bodies:
        hit |= covers(body, examples)
    if not hit.any():
        return []
    values, default = learn(_without_sets(examples.take(hit)), None, None)
    whole = [*values, DecisionRule((), default)]
    rules = [
        DecisionRule(tidied(value.literals + body, examples), value.label)
        for body in bodies
        for value in whole
    ]
    return [rule for rule in rules if covers(rule.literals, examples).any()]


def _changes_by_element(
    examples: CodedExamples, usual: Longs, single: Bools, learn: LearnScalars
) -> list[DecisionRule]:
    """Which elements change the value, and to what, by the arguments and the element."""
    kept = int(max(examples.y.max(), usual.max())) + 1
    changed = examples.relabelled(np.where(examples.y == usual, kept, examples.y))
    return [rule for s, own in enumerate(single) for rule in _of_elements(changed.take(own), s, kept, learn)]


def _of_elements(examples: CodedExamples, s: int, default: int, learn: LearnScalars) -> list[DecisionRule]:
    """Rules about some element, from examples with one element."""
    if not len(examples):
        return []
    group = examples.sets[s]
    element = group.codes[np.arange(len(examples)), group.mask.argmax(axis=1)]
    n = len(examples.columns)
    codes = np.concatenate([examples.codes, element], axis=1)
    flat = CodedExamples(codes, (*examples.columns, *group.columns), examples.y, (), examples.weights)
    pairs = [pair for pair in comparable_pairs(flat.columns) if pair[0] < n]
    rules, _ = learn(flat, pairs, default)
    return [_lifted(rule, s, n) for rule in rules]


def _lifted(rule: DecisionRule, s: int, n: int) -> DecisionRule:
    """A rule about the arguments and the one element becomes one about some element."""
    scalar: list[CodeLiteral] = []
    elements: list[ElementLiteral] = []
    for literal in rule.literals:
        match literal:
            case HasCode(i, codes, sign) if i >= n:
                elements.append(ElementHasCode(i - n, codes, sign))
            case SameCode(i, j, sign) if j >= n:
                elements.append(ElementSameCode(j - n, i, sign))
            case _:
                scalar.append(literal)
    return DecisionRule((*scalar, AtLeast(s, tuple(elements))), rule.label)
