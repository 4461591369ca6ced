"""Expressions with other expressions in the place of variables, and with derived predicates written out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Final

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
)

_MOST_WRITTEN: Final = 500


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each of its direct parts changed."""
    match expr:
        case Variable() | Object() | Value():
            return expr
        case Apply() | BlankCall() | Logic() | Arithmetic():
            return replace(expr, args=tuple(change(argument) for argument in expr.args))
        case Equal() | Compare():
            return replace(expr, left=change(expr.left), right=change(expr.right))
        case Quantified():
            return replace(expr, body=change(expr.body))
        case Each():
            return replace(expr, condition=change(expr.condition), body=change(expr.body))


def substitute(expr: Expr, by: Mapping[str, Expr]) -> Expr:
    """The expression with its free variables replaced; bound variables must not occur in ``by``."""
    match expr:
        case Variable():
            return by.get(expr.name, expr)
        case Quantified() | Each():
            names = {variable.name for variable in expr.variables}
            inner = {name: other for name, other in by.items() if name not in names}
            return rebuilt(expr, lambda part: substitute(part, inner))
        case _:
            return rebuilt(expr, lambda part: substitute(part, by))


def renamed(expr: Expr, fresh: Iterator[int], names: Mapping[str, Expr] | None = None) -> Expr:
    """The expression with new names for its bound variables, which no argument can hold."""
    known = {} if names is None else names
    match expr:
        case Variable():
            return known.get(expr.name, expr)
        case Quantified() | Each():
            new = tuple(replace(v, name=f"{v.name}@{next(fresh)}") for v in expr.variables)
            inner = {**known, **{v.name: f for v, f in zip(expr.variables, new, strict=True)}}
            return rebuilt(replace(expr, variables=new), lambda part: renamed(part, fresh, inner))
        case _:
            return rebuilt(expr, lambda part: renamed(part, fresh, known))


def called(atom: Apply, domain: Domain, fresh: Iterator[int]) -> Expr:
    """The body of a derived predicate with the arguments of an atom in the place of its parameters."""
    predicate = domain.predicates[atom.predicate]
    assert predicate.body is not None
    by = {p.name: a for p, a in zip(predicate.parameters, atom.args, strict=True)}
    return substitute(renamed(predicate.body, fresh), by)


def written_out(expr: Expr, domain: Domain) -> Expr:
    """The expression with derived predicates replaced by their bodies, as far as that ends soon.

    Evaluated, it asks blanks about the objects that it is about, and not about all.
    """
    fresh, left = count(), _MOST_WRITTEN

    def write(node: Expr) -> Expr:
        nonlocal left
        if isinstance(node, Apply) and node.predicate not in domain.recursive and left:
            predicate = domain.predicates[node.predicate]
            if predicate.role == "derived" and predicate.body is not None:
                left -= 1
                return write(called(node, domain, fresh))
        return rebuilt(node, write)

    return write(expr)
