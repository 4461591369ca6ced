"""Expressions over given objects: substitution, and which state variables an expression reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import final

from pdsketch.lang.data import choices_of, shown
from pdsketch.lang.domain import Domain, Fact
from pdsketch.lang.terms import (
    Apply,
    Arithmetic,
    BlankCall,
    Compare,
    Each,
    Equal,
    Expr,
    Logic,
    Object,
    Quantified,
    Value,
    Variable,
    children,
)
from pdsketch.lang.types import ObjectType, Type

Scope = Mapping[str, Expr]
"""What each variable stands for: an object, a value, or an expression without free variables."""


def substitute(expr: Expr, scope: Scope) -> Expr:
    """The expression with its free variables replaced."""
    match expr:
        case Variable():
            return scope.get(expr.name, expr)
        case Object() | Value():
            return expr
        case Apply() | BlankCall() | Logic() | Arithmetic():
            return replace(expr, args=tuple(substitute(a, scope) for a in expr.args))
        case Equal() | Compare():
            return replace(expr, left=substitute(expr.left, scope), right=substitute(expr.right, scope))
        case Quantified():
            return replace(expr, body=substitute(expr.body, _outside(scope, expr.variables)))
        case Each():
            inner = _outside(scope, expr.variables)
            return replace(
                expr, condition=substitute(expr.condition, inner), body=substitute(expr.body, inner)
            )


def _outside(scope: Scope, bound: tuple[Variable, ...]) -> Scope:
    names = {variable.name for variable in bound}
    return {name: expr for name, expr in scope.items() if name not in names}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Universe:
    """The objects at hand, and what variables range over."""

    domain: Domain
    objects: Mapping[str, ObjectType]
    _members: dict[Type, tuple[Expr, ...]] = field(default_factory=dict, repr=False)

    def members(self, type_: Type) -> tuple[Expr, ...]:
        """The objects of a type, or the choices of a value type, as expressions."""
        if type_ not in self._members:
            if isinstance(type_, ObjectType):
                names = self.domain.hierarchy.members(type_, self.objects)
                self._members[type_] = tuple(Object(name, self.objects[name]) for name in names)
            else:
                self._members[type_] = tuple(Value(value, type_) for value in choices_of(type_))
        return self._members[type_]

    def instances(self, variables: tuple[Variable, ...]) -> Iterator[dict[str, Expr]]:
        """Every way to give the variables something to stand for."""
        names = [variable.name for variable in variables]
        for chosen in product(*(self.members(variable.type) for variable in variables)):
            yield dict(zip(names, chosen, strict=True))

    def unfolds(self, atom: Apply) -> bool:
        """Whether a derived atom can be replaced by its body, again and again, and come to an end.

        A recursive predicate whose arguments are computed may meet new ones for ever.
        """
        known = all(isinstance(argument, Object | Value) for argument in atom.args)
        return known or atom.predicate not in self.domain.recursive

    def body(self, atom: Apply) -> Expr:
        """The body of a derived predicate, with the arguments for its parameters."""
        predicate = self.domain.predicates[atom.predicate]
        assert predicate.body is not None
        names = (parameter.name for parameter in predicate.parameters)
        return substitute(predicate.body, dict(zip(names, atom.args, strict=True)))


@final
@dataclass(frozen=True, slots=True)
class Reads:
    """What an expression reads: ground state variables, and perhaps a value that is yet to be chosen."""

    variables: tuple[Fact, ...]
    chosen: bool


def reads(expr: Expr, universe: Universe) -> Reads:
    """Every state variable on which a ground expression may depend.

    Sets and quantifiers are written out over all objects; derived predicates
    are followed to what they read in turn. A variable that is still free is
    the value parameter of an action.
    """
    found: dict[Fact, None] = {}
    seen: set[Apply] = set()
    chosen = False
    agenda: list[Expr] = [expr]
    while agenda:
        node = agenda.pop()
        match node:
            case Variable():
                chosen = True
            case Apply():
                role = universe.domain.predicates[node.predicate].role
                if role in ("observed", "encoded"):
                    found[atom_of(node)] = None
                elif role == "derived" and node not in seen:
                    seen.add(node)
                    if universe.unfolds(node):
                        agenda.append(universe.body(node))
                    else:
                        chosen = True
                agenda.extend(reversed(node.args))
            case Quantified() | Each():
                for scope in reversed(list(universe.instances(node.variables))):
                    agenda.extend(substitute(child, scope) for child in reversed(children(node)))
            case _:
                agenda.extend(reversed(children(node)))
    return Reads(tuple(found), chosen)


def atom_of(expr: Apply) -> Fact:
    """The ground atom of a predicate of objects and values."""
    return (expr.predicate, *map(in_words, expr.args))


def in_words(expr: Expr) -> str:
    """An expression as the author might have written it."""
    match expr:
        case Variable() | Object():
            return expr.name
        case Value():
            return shown(expr.value)
        case Apply():
            return _list(expr.predicate, expr.args)
        case BlankCall():
            return _list(f"??{expr.blank}", expr.args)
        case Logic() | Arithmetic():
            return _list(expr.op, expr.args)
        case Equal():
            return _list("=", (expr.left, expr.right))
        case Compare():
            return _list(expr.op, (expr.left, expr.right))
        case Quantified() | Each():
            word = expr.op if isinstance(expr, Quantified) else "foreach"
            bound = " ".join(f"{v.name} - {v.type}" for v in expr.variables)
            return f"({word} ({bound}) {' '.join(map(in_words, children(expr)))})"


def _list(head: str, args: tuple[Expr, ...]) -> str:
    return f"({' '.join([head, *map(in_words, args)])})"
