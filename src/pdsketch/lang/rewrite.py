"""Terms made from terms: substitution, new names for bound variables, objects lifted into variables.

Every rewriter is `map_children` and one rule; a new kind of node is one more case there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Final, final

from pdsketch.lang.domain import Domain
from pdsketch.lang.records import dataclass
from pdsketch.lang.terms import (
    Apply,
    Arithmetic,
    BlankCall,
    Compare,
    Component,
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

_MOST_UNFOLDED: Final = 500


def map_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each of its direct parts changed; itself if none of them is."""
    match expr:
        case Variable() | Object() | Value():
            return expr
        case Apply() | BlankCall() | Logic() | Arithmetic():
            args = tuple([change(argument) for argument in expr.args])
            same = all(new is old for new, old in zip(args, expr.args, strict=True))
            return expr if same else replace(expr, args=args)
        case Equal() | Compare():
            left, right = change(expr.left), change(expr.right)
            same = left is expr.left and right is expr.right
            return expr if same else replace(expr, left=left, right=right)
        case Component():
            vector = change(expr.vector)
            return expr if vector is expr.vector else replace(expr, vector=vector)
        case Quantified():
            body = change(expr.body)
            return expr if body is expr.body else replace(expr, body=body)
        case Each():
            condition, body = change(expr.condition), change(expr.body)
            same = condition is expr.condition and body is expr.body
            return expr if same else replace(expr, condition=condition, body=body)


def conjuncts(expr: Expr) -> list[Expr]:
    """The parts of a conjunction, nested ones too, in their order."""
    if isinstance(expr, Logic) and expr.op == "and":
        return [part for argument in expr.args for part in conjuncts(argument)]
    return [expr]


def substitute(expr: Expr, by: Mapping[str, Expr]) -> Expr:
    """The expression with its free variables replaced; bound variables must not occur in ``by``."""
    match expr:
        case Variable():
            return by.get(expr.name, expr)
        case Quantified() | Each():
            names = {variable.name for variable in expr.variables}
            inner = {name: other for name, other in by.items() if name not in names}
            return map_children(expr, lambda part: substitute(part, inner))
        case _:
            return map_children(expr, lambda part: substitute(part, by))


def rename_bound(expr: Expr, name: Callable[[Variable], str]) -> Expr:
    """The expression with other names for its bound variables, asked for in the order of their binding."""

    def rename(node: Expr, known: Mapping[str, Variable]) -> Expr:
        match node:
            case Variable():
                return known.get(node.name, node)
            case Quantified() | Each():
                new = tuple(replace(variable, name=name(variable)) for variable in node.variables)
                inner = {**known, **{v.name: n for v, n in zip(node.variables, new, strict=True)}}
                return map_children(replace(node, variables=new), lambda part: rename(part, inner))
            case _:
                return map_children(node, lambda part: rename(part, known))

    return rename(expr, {})


def unfold(atom: Apply, domain: Domain, fresh: count[int]) -> Expr:
    """The body of a derived predicate with the arguments of an atom in the place of its parameters.

    Its bound variables get fresh names, which no argument can hold.
    """
    predicate = domain.predicates[atom.predicate]
    assert predicate.body is not None
    by = {p.name: a for p, a in zip(predicate.parameters, atom.args, strict=True)}
    return substitute(rename_bound(predicate.body, lambda v: f"{v.name}@{next(fresh)}"), by)


def unfold_all(expr: Expr, domain: Domain) -> Expr:
    """The expression with derived predicates replaced by their bodies, as far as that ends soon.

    Evaluated, it asks blanks about the objects that it is about, and not about all.
    """
    fresh, left = count(), _MOST_UNFOLDED

    def rewrite(node: Expr) -> Expr:
        nonlocal left
        if isinstance(node, Apply) and node.predicate not in domain.recursive and left:
            predicate = domain.predicates[node.predicate]
            if predicate.role == "derived" and predicate.body is not None:
                left -= 1
                return rewrite(unfold(node, domain, fresh))
        return map_children(node, rewrite)

    return rewrite(expr)


@final
@dataclass(frozen=True, slots=True)
class Form:
    """Expressions that differ in their objects alone, so that they can be evaluated together.

    The expression number ``places[i]`` is ``expr`` with the objects ``rows[i]`` for
    ``variables``.
    """

    expr: Expr
    variables: tuple[Variable, ...]
    rows: tuple[tuple[str, ...], ...]
    places: tuple[int, ...]


def lift_objects(expressions: Iterable[Expr], domain: Domain) -> tuple[Form, ...]:
    """The expressions with variables in the place of objects; each is in one form."""
    found: dict[tuple[Expr, tuple[Variable, ...]], list[tuple[tuple[str, ...], int]]] = {}
    lifted: dict[Expr, tuple[tuple[Expr, tuple[Variable, ...]], tuple[str, ...]]] = {}
    for place, expr in enumerate(expressions):
        if expr not in lifted:
            variables = _variables(expr, domain)
            lifted[expr] = ((_lift(expr, variables), tuple(variables.values())), tuple(variables))
        key, names = lifted[expr]
        found.setdefault(key, []).append((names, place))
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


def _lift(expr: Expr, variables: Mapping[str, Variable]) -> Expr:
    if isinstance(expr, Object):
        return variables[expr.name]
    return map_children(expr, lambda part: _lift(part, variables))
