"""What a rule may ask of its arguments, and which rows answer yes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from pdsketch.abstract.decision_lists.examples import CodedExamples, CodedSet
from pdsketch.core import Bools


@final
@dataclass(frozen=True, slots=True)
class HasCode:
    """A scalar argument has one of some codes; where not ``positive``, none of them."""

    argument: int
    codes: tuple[int, ...]
    positive: bool = True


@final
@dataclass(frozen=True, slots=True)
class SameCode:
    """Two scalar arguments have equal codes; where not ``positive``, different ones."""

    left: int
    right: int
    positive: bool = True


@final
@dataclass(frozen=True, slots=True)
class ElementHasCode:
    """A column of an element has one of some codes, or none of them."""

    column: int
    codes: tuple[int, ...]
    positive: bool = True


@final
@dataclass(frozen=True, slots=True)
class ElementSameCode:
    """A column of an element has the code of a scalar argument, or another one."""

    column: int
    argument: int
    positive: bool = True


ElementLiteral = ElementHasCode | ElementSameCode


@final
@dataclass(frozen=True, slots=True)
class AtLeast:
    """At least ``count`` (1 or 2) different elements of a set satisfy all ``elements``; or fewer do."""

    group: int
    elements: tuple[ElementLiteral, ...]
    count: int = 1
    positive: bool = True


CodeLiteral = HasCode | SameCode | AtLeast


def holds(literal: CodeLiteral, examples: CodedExamples) -> Bools:
    """Of which rows a literal is true."""
    found: Bools
    match literal:
        case HasCode(i, codes):
            found = _table(codes, examples.columns[i].size)[examples.codes[:, i]]
        case SameCode(i, j):
            found = examples.codes[:, i] == examples.codes[:, j]
        case AtLeast(s, elements, count):
            found = satisfying(elements, examples.sets[s], examples).sum(axis=1) >= count
    return found if literal.positive else ~found


def satisfying(elements: Iterable[ElementLiteral], group: CodedSet, examples: CodedExamples) -> Bools:
    """Which elements of a set satisfy all of some literals."""
    found = group.mask
    for literal in elements:
        column = group.codes[:, :, literal.column]
        true: Bools
        if isinstance(literal, ElementHasCode):
            table = _table(literal.codes, group.columns[literal.column].size)
            true = table[np.where(group.mask, column, 0)]
        else:
            true = column == examples.codes[:, literal.argument, None]
        found = found & (true if literal.positive else ~true)
    return found


def covers(literals: Iterable[CodeLiteral], examples: CodedExamples) -> Bools:
    """Of which rows all literals are true."""
    found = np.ones(len(examples), np.bool_)
    for literal in literals:
        found &= holds(literal, examples)
    return found


def negated(literal: CodeLiteral) -> CodeLiteral:
    """True where the literal is not."""
    match literal:
        case HasCode(i, codes, positive):
            return HasCode(i, codes, not positive)
        case SameCode(i, j, positive):
            return SameCode(i, j, not positive)
        case AtLeast(s, elements, count, positive):
            return AtLeast(s, elements, count, not positive)


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
        case AtLeast(s, a, n, True), AtLeast(t, b, m, False):
            return s == t and {*a} == {*b} and n >= m
        case AtLeast(s, a, n, False), AtLeast(t, b, m, True):
            return s == t and {*a} == {*b} and n <= m
        case _:
            return left == negated(right)


def _table(codes: tuple[int, ...], size: int) -> Bools:
    table = np.zeros(size, np.bool_)
    table[list(codes)] = True
    return table


# Literals as text, in the notation of the paper.


class CodeNames(Protocol):
    """How arguments, codes and labels are called."""

    def argument(self, i: int) -> str:
        """A scalar argument, e.g. ``(robot-pose ?r)``."""

    def fact(self, i: int, code: int) -> str:
        """A scalar argument has a code, e.g. ``(robot-pose@37 ?r)``."""

    def variable(self, group: int) -> str:
        """An element of a set, with its type, e.g. ``?t - thing``."""

    def element(self, group: int, column: int) -> str:
        """A column of an element, e.g. ``(item-feature ?t)``."""

    def element_fact(self, group: int, column: int, code: int) -> str:
        """A column of an element has a code, e.g. ``(item-feature@9 ?t)``."""

    def membership(self, group: int) -> str:
        """When something is in a set, e.g. ``(robot-facing ?r ?t)``; empty: that goes without saying."""


def literal_text(literal: CodeLiteral, names: CodeNames) -> str:
    """A literal as a formula."""
    text: str
    match literal:
        case HasCode(i, codes):
            text = _either([names.fact(i, code) for code in codes])
        case SameCode(i, j):
            text = f"(= {names.argument(i)} {names.argument(j)})"
        case AtLeast(s, elements, count):
            parts = [_element_text(element, s, names) for element in elements]
            member = names.membership(s)
            body = conjunction([member, *parts] if member else parts)
            quantifier = "exists" if count == 1 else f"at-least-{count}"
            text = f"({quantifier} ({names.variable(s)}) {body})"
    return text if literal.positive else f"(not {text})"


def _element_text(literal: ElementLiteral, group: int, names: CodeNames) -> str:
    if isinstance(literal, ElementHasCode):
        text = _either([names.element_fact(group, literal.column, code) for code in literal.codes])
    else:
        text = f"(= {names.element(group, literal.column)} {names.argument(literal.argument)})"
    return text if literal.positive else f"(not {text})"


def _either(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"(or{''.join(' ' + part for part in parts)})"


def conjunction(parts: list[str]) -> str:
    """All of the parts hold."""
    return parts[0] if len(parts) == 1 else f"(and{''.join(' ' + part for part in parts)})"


def disjunction(parts: list[str]) -> str:
    """Some of the parts hold."""
    return _either(parts) if parts else "false"
