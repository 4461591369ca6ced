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
from pdsketch.lang.data import choices_of
from pdsketch.lang.domain import Domain
from pdsketch.lang.substitute import called
from pdsketch.lang.terms import Apply, Each, Expr, Object, Quantified, Value, Variable, children
from pdsketch.lang.types import ObjectType, Type

Thing = int | Value | None
"""What a variable stands for: an object by its number, a value, or None: a value yet to be chosen."""

Scope = Mapping[str, Thing]


@final
@dataclass(slots=True, eq=False)
class Grounding:
    """The objects at hand, the constants first, and what the expressions of a domain mean over them."""

    domain: Domain
    types: tuple[ObjectType, ...]
    _members: dict[Type, tuple[Thing, ...]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _free: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _inlined: dict[int, Expr] = field(default_factory=dict)
    _fresh: count[int] = field(default_factory=count)
    budget: Budget = field(default_factory=current)

    def __post_init__(self) -> None:
        self._numbers = {name: i for i, name in enumerate(self.domain.constants)}

    def members(self, type_: Type) -> tuple[Thing, ...]:
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

    def thing(self, expr: Expr, scope: Scope) -> Thing:
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

    def things(self, atom: Apply, scope: Scope) -> tuple[Thing, ...] | None:
        """What the arguments of an atom stand for; None if one of them is computed."""
        if all(isinstance(a, Variable | Object | Value) for a in atom.args):
            return tuple([self.thing(a, scope) for a in atom.args])
        return None

    def free(self, expr: Expr) -> tuple[str, ...]:
        """The free variables of an expression of the domain or the goal, sorted."""
        if id(expr) not in self._free:
            inside = {name for child in children(expr) for name in self.free(child)}
            if isinstance(expr, Variable):
                inside = {expr.name}
            elif isinstance(expr, Quantified | Each):
                inside -= {variable.name for variable in expr.variables}
            self._free[id(expr)] = tuple(sorted(inside))
        return self._free[id(expr)]

    def called(self, atom: Apply, things: tuple[Thing, ...]) -> tuple[Expr, Scope]:
        """The body of a derived predicate, and the scope in which its parameters stand for things."""
        predicate = self.domain.predicates[atom.predicate]
        assert predicate.body is not None
        return predicate.body, {p.name: t for p, t in zip(predicate.parameters, things, strict=True)}

    def inlined(self, atom: Apply) -> Expr:
        """The body of a derived predicate with computed arguments in the place of its parameters."""
        if id(atom) not in self._inlined:
            self._inlined[id(atom)] = called(atom, self.domain, self._fresh)
        return self._inlined[id(atom)]


Variables = dict[tuple[str, tuple[Thing, ...]], None]
"""Ground state variables: a predicate and the numbers of its objects."""


def reads(expr: Expr, scope: Scope, ground: Grounding) -> Variables | None:
    """Every state variable on which a ground expression may depend; None if that cannot be told.

    Sets and quantifiers are written out over all objects; derived predicates
    are followed to what they read in turn.
    """
    found: Variables = {}
    seen: set[tuple[str, tuple[Thing, ...]]] = set()
    agenda: list[tuple[Expr, Scope]] = [(expr, scope)]
    while agenda:
        ground.budget.tick()
        node, here = agenda.pop()
        match node:
            case Quantified() | Each():
                for inner in ground.scopes(node.variables, here):
                    agenda.extend((child, inner) for child in children(node))
            case Apply() if ground.domain.predicates[node.predicate].role in (
                "derived",
                "observed",
                "encoded",
            ):
                things = ground.things(node, here)
                if ground.domain.predicates[node.predicate].role != "derived":
                    assert things is not None
                    found[node.predicate, things] = None
                elif things is not None and (node.predicate, things) not in seen:
                    seen.add((node.predicate, things))
                    agenda.append(ground.called(node, things))
                elif things is None and node.predicate in ground.domain.recursive:
                    return None  # it may be called with ever new values
                elif things is None:
                    agenda.append((ground.inlined(node), here))
            case _:
                agenda.extend((child, here) for child in children(node))
    return found
