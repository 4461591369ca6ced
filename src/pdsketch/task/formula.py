"""Formulas in negation normal form: what conditions become before they are ground.

A *term* is the name of a variable, made unique within the problem, or the
number of an object. Value types are gone: quantifiers over choices are written
out, and comparisons of numbers that no action changes are `Test`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import final

from pdsketch.lang import Compare, Equal, Value, dataclass

Term = str | int


@final
@dataclass(frozen=True, slots=True)
class Atom:
    """``(p a b)`` or its negation."""

    predicate: str
    args: tuple[Term, ...]
    positive: bool = True


@final
@dataclass(frozen=True, slots=True)
class Same:
    """Two terms are one object, or are not."""

    left: Term
    right: Term
    positive: bool = True


@final
@dataclass(frozen=True, slots=True)
class Test:
    """A comparison of numbers that never change; ``scope`` is what the author's variables stand for."""

    expr: Compare | Equal
    scope: Mapping[str, Term | Value] = field(hash=False)
    positive: bool = True


@final
@dataclass(frozen=True, slots=True)
class Conjunction:
    """All parts hold; without parts, true."""

    parts: tuple[Formula, ...]


@final
@dataclass(frozen=True, slots=True)
class Disjunction:
    """Some part holds; without parts, false."""

    parts: tuple[Formula, ...]


@final
@dataclass(frozen=True, slots=True)
class Every:
    """The body holds for all objects that the variables may stand for."""

    variables: tuple[str, ...]
    body: Formula


@final
@dataclass(frozen=True, slots=True)
class Some:
    """The body holds for some objects that the variables may stand for."""

    variables: tuple[str, ...]
    body: Formula


Formula = Atom | Same | Test | Conjunction | Disjunction | Every | Some
Literal = Atom | Same | Test

TRUE = Conjunction(())
FALSE = Disjunction(())


def both(parts: Iterable[Formula]) -> Formula:
    """A conjunction: flat, without ``true``, and ``false`` if a part is."""
    flat: list[Formula] = []
    for part in parts:
        if part == FALSE:
            return FALSE
        flat.extend(part.parts if isinstance(part, Conjunction) else (part,))
    return flat[0] if len(flat) == 1 else Conjunction(tuple(flat))


def either(parts: Iterable[Formula]) -> Formula:
    """A disjunction: flat, without ``false``, and ``true`` if a part is."""
    flat: list[Formula] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        flat.extend(part.parts if isinstance(part, Disjunction) else (part,))
    return flat[0] if len(flat) == 1 else Disjunction(tuple(flat))


def variables_of(formula: Formula) -> tuple[str, ...]:
    """The free variables, in the order in which they first occur."""
    found: list[str] = []
    match formula:
        case Atom():
            found = [a for a in formula.args if isinstance(a, str)]
        case Same():
            found = [a for a in (formula.left, formula.right) if isinstance(a, str)]
        case Test():
            found = [a for a in formula.scope.values() if isinstance(a, str)]
        case Conjunction() | Disjunction():
            found = [v for part in formula.parts for v in variables_of(part)]
        case Every() | Some():
            found = [v for v in variables_of(formula.body) if v not in formula.variables]
    return tuple(dict.fromkeys(found))


def atoms_of(formula: Formula) -> Iterable[Atom]:
    """Every atom in a formula."""
    return (part for part in parts_of(formula) if isinstance(part, Atom))


def parts_of(formula: Formula) -> Iterator[Formula]:
    """A formula and all that it is made of."""
    yield formula
    match formula:
        case Conjunction() | Disjunction():
            for part in formula.parts:
                yield from parts_of(part)
        case Every() | Some():
            yield from parts_of(formula.body)
        case Atom() | Same() | Test():
            return
