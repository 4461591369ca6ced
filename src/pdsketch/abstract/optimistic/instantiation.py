"""Expressions of a domain over numbered objects.

Expressions are never written out for each object: an expression and a `Scope`,
which says what its free variables stand for, are one ground expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, product
from typing import final

from pdsketch.budget import Budget, current
from pdsketch.lang import (
    Apply,
    Domain,
    Each,
    Expr,
    Object,
    ObjectType,
    Quantified,
    Type,
    Value,
    Variable,
    children,
    choices_of,
    unfold,
)

GroundTerm = int | Value | None
"""What a variable stands for: an object by its number, a value, or None: a value yet to be chosen."""

Scope = Mapping[str, GroundTerm]


@final
@dataclass(slots=True, eq=False)
class Instantiation:
    """The objects at hand, the constants first, and what the expressions of a domain mean over them."""

    domain: Domain
    types: tuple[ObjectType, ...]
    _members: dict[Type, tuple[GroundTerm, ...]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _inlined: dict[Apply, Expr] = field(default_factory=dict)
    _fresh: count[int] = field(default_factory=count)
    budget: Budget = field(default_factory=current)

    def __post_init__(self) -> None:
        self._numbers = {name: i for i, name in enumerate(self.domain.constants)}

    def members(self, type_: Type) -> tuple[GroundTerm, ...]:
        """What a variable of a type ranges over."""
        if type_ not in self._members:
            if isinstance(type_, ObjectType):
                fits = self.domain.hierarchy.is_subtype
                below = {own for own in dict.fromkeys(self.types) if fits(own, type_)}
                self._members[type_] = tuple(i for i, own in enumerate(self.types) if own in below)
            else:
                self._members[type_] = tuple(Value(value, type_) for value in choices_of(type_))
        return self._members[type_]

    def scopes(self, variables: tuple[Variable, ...], outer: Scope) -> Iterator[Scope]:
        """The scope with every choice for some more variables."""
        if not variables:
            yield outer
            return
        names = [variable.name for variable in variables]
        for chosen in product(*(self.members(variable.type) for variable in variables)):
            self.budget.tick()
            yield {**outer, **dict(zip(names, chosen, strict=True))}

    def term_of(self, expr: Expr, scope: Scope) -> GroundTerm:
        """What a variable, an object or a value stands for."""
        match expr:
            case Variable():
                return scope[expr.name]
            case Object():
                return self._numbers[expr.name]
            case Value():
                return expr
            case _:
                raise AssertionError(f"{type(expr).__name__} is computed")

    def terms_of(self, atom: Apply, scope: Scope) -> tuple[GroundTerm, ...] | None:
        """What the arguments of an atom stand for; None if one of them is computed."""
        if all(isinstance(a, Variable | Object | Value) for a in atom.args):
            return tuple([self.term_of(a, scope) for a in atom.args])
        return None

    def called(self, atom: Apply, terms: tuple[GroundTerm, ...]) -> tuple[Expr, Scope]:
        """The body of a derived predicate, and the scope in which its parameters stand for terms."""
        predicate = self.domain.predicates[atom.predicate]
        assert predicate.body is not None
        return predicate.body, {p.name: t for p, t in zip(predicate.parameters, terms, strict=True)}

    def inlined(self, atom: Apply) -> Expr:
        """The body of a derived predicate with computed arguments in the place of its parameters."""
        if atom not in self._inlined:
            self._inlined[atom] = unfold(atom, self.domain, self._fresh)
        return self._inlined[atom]


Variables = dict[tuple[str, tuple[GroundTerm, ...]], None]
"""Ground state variables: a predicate and the numbers of its objects."""


def reads(expr: Expr, scope: Scope, instantiation: Instantiation) -> Variables | None:
    """Every state variable on which a ground expression may depend; None if that cannot be told.

    Sets and quantifiers are written out over all objects; derived predicates
    are followed to what they read in turn.
    """
    found: Variables = {}
    seen: set[tuple[str, tuple[GroundTerm, ...]]] = set()
    agenda: list[tuple[Expr, Scope]] = [(expr, scope)]
    while agenda:
        instantiation.budget.tick()
        node, here = agenda.pop()
        match node:
            case Quantified() | Each():
                for inner in instantiation.scopes(node.variables, here):
                    agenda.extend((child, inner) for child in children(node))
            case Apply() if instantiation.domain.predicates[node.predicate].role in (
                "derived",
                "observed",
                "encoded",
            ):
                terms = instantiation.terms_of(node, here)
                if instantiation.domain.predicates[node.predicate].role != "derived":
                    assert terms is not None
                    found[node.predicate, terms] = None
                elif terms is not None and (node.predicate, terms) not in seen:
                    seen.add((node.predicate, terms))
                    agenda.append(instantiation.called(node, terms))
                elif terms is None and node.predicate in instantiation.domain.recursive:
                    return None  # it may be called with ever new values
                elif terms is None:
                    agenda.append((instantiation.inlined(node), here))
            case _:
                agenda.extend((child, here) for child in children(node))
    return found
