"""Literals as text, in the notation of the paper."""

from __future__ import annotations

from typing import Final, Protocol, final

from pdsketch.abstract.decision_lists.literals import (
    AtLeast,
    CodeLiteral,
    ElementHasCode,
    ElementLiteral,
    HasCode,
    SameCode,
)


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

    def label(self, label: int) -> str:
        """What is predicted."""


@final
class NumberedNames:
    """Names for arguments that have none: ``a0``, ``a1`` …, columns of elements ``e0``, ``e1`` …."""

    def argument(self, i: int) -> str:
        """``a0`` …"""
        return f"a{i}"

    def fact(self, i: int, code: int) -> str:
        """``a0@3`` …"""
        return f"a{i}@{code}"

    def variable(self, group: int) -> str:
        """``?t0`` …"""
        return f"?t{group}"

    def element(self, group: int, column: int) -> str:
        """``(e0 ?t0)`` …"""
        return f"(e{column} ?t{group})"

    def element_fact(self, group: int, column: int, code: int) -> str:
        """``(e0@3 ?t0)`` …"""
        return f"(e{column}@{code} ?t{group})"

    def membership(self, group: int) -> str:
        """Nothing."""
        del group
        return ""

    def label(self, label: int) -> str:
        """The number."""
        return str(label)


NUMBERED: Final = NumberedNames()


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
