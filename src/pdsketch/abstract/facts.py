"""Ground expressions gathered by their form, so that a form is evaluated once for all of its objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import final

from pdsketch.lang.domain import Domain
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
    walk,
)
from pdsketch.lang.types import ObjectType


@final
@dataclass(frozen=True, slots=True)
class Form:
    """Expressions that differ in their objects alone.

    The expression number ``places[i]`` is ``expr`` with the objects ``rows[i]`` for
    ``variables``.
    """

    expr: Expr
    variables: tuple[Variable, ...]
    rows: tuple[tuple[str, ...], ...]
    places: tuple[int, ...]


def by_form(expressions: Iterable[Expr], domain: Domain) -> tuple[Form, ...]:
    """All expressions, each in one form."""
    found: dict[tuple[Expr, tuple[Variable, ...]], list[tuple[tuple[str, ...], int]]] = {}
    for place, expr in enumerate(expressions):
        variables = _variables(expr, domain)
        lifted = _lift(expr, variables)
        key = (lifted, tuple(variables.values()))
        found.setdefault(key, []).append((tuple(variables), place))
    return tuple(
        Form(expr, variables, tuple(row for row, _ in members), tuple(place for _, place in members))
        for (expr, variables), members in found.items()
    )


def _variables(expr: Expr, domain: Domain) -> dict[str, Variable]:
    """A variable for each object, in the order of their first occurrence.

    Its type is the one that the predicates ask for where they agree, so that
    objects of different subtypes fall into one form.
    """
    asked: dict[str, set[ObjectType]] = {}
    own: dict[str, ObjectType] = {}
    for node in walk(expr):
        if isinstance(node, Object):
            own.setdefault(node.name, node.type)
        elif isinstance(node, Apply):
            parameters = domain.predicates[node.predicate].parameters
            for parameter, argument in zip(parameters, node.args, strict=True):
                if isinstance(argument, Object) and isinstance(parameter.type, ObjectType):
                    asked.setdefault(argument.name, set()).add(parameter.type)
    types = {name: asked.get(name, set()) for name in own}
    return {
        # No author can write such a name, so that nothing captures it.
        name: Variable(f"?{i}@", next(iter(types[name])) if len(types[name]) == 1 else own[name])
        for i, name in enumerate(own)
    }


def _lift(expr: Expr, variables: dict[str, Variable]) -> Expr:
    match expr:
        case Object():
            return variables[expr.name]
        case Variable() | Value():
            return expr
        case Apply() | BlankCall() | Logic() | Arithmetic():
            return replace(expr, args=tuple(_lift(a, variables) for a in expr.args))
        case Equal() | Compare():
            return replace(expr, left=_lift(expr.left, variables), right=_lift(expr.right, variables))
        case Quantified():
            return replace(expr, body=_lift(expr.body, variables))
        case Each():
            condition, body = _lift(expr.condition, variables), _lift(expr.body, variables)
            return replace(expr, condition=condition, body=body)
