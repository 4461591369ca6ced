"""Checked expressions become formulas in negation normal form.

Bound variables get names of their own, so that nothing is captured when
quantifiers are moved; `Vocabulary` remembers the type of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import final

from pdsketch.lang import (
    BOOL,
    Apply,
    Compare,
    Equal,
    Expr,
    Logic,
    Object,
    ObjectType,
    Problem,
    Quantified,
    Value,
    Variable,
    dataclass,
    free_variables,
)
from pdsketch.task.formula import FALSE, TRUE, Atom, Every, Formula, Same, Some, Term, Test, both, either

Scope = Mapping[str, Term | Value]
"""What the author's variables stand for: a unique variable, an object, or a number."""


@final
@dataclass(slots=False)
class Vocabulary:
    """The names of a problem: its objects by number, and the type of every unique variable."""

    problem: Problem
    types: dict[str, ObjectType] = field(default_factory=dict)
    _members: dict[ObjectType, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def objects(self) -> dict[str, int]:
        """The number of each object."""
        return {name: i for i, name in enumerate(self.problem.universe)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each object."""
        return tuple(self.problem.universe)

    @cached_property
    def _by_type(self) -> dict[ObjectType, list[int]]:
        grouped: dict[ObjectType, list[int]] = {}
        for i, own in enumerate(self.problem.universe.values()):
            grouped.setdefault(own, []).append(i)
        return grouped

    def members(self, type_: ObjectType) -> tuple[int, ...]:
        """The objects of a type, in order."""
        if type_ not in self._members:
            fits = self.problem.domain.hierarchy.is_subtype
            found = [i for own, objects in self._by_type.items() if fits(own, type_) for i in objects]
            self._members[type_] = tuple(sorted(found))
        return self._members[type_]

    def fresh(self, variable: Variable) -> str:
        """A name for a bound variable that nothing else has."""
        assert isinstance(variable.type, ObjectType)
        name = f"{variable.name}~{len(self.types)}"
        self.types[name] = variable.type
        return name

    def bind(
        self, variables: Sequence[Variable], scope: Scope
    ) -> tuple[tuple[str, ...], dict[str, Term | Value]]:
        """Fresh names for object variables, and the scope in which they stand for the author's."""
        names = tuple(self.fresh(v) for v in variables)
        return names, {**scope, **{v.name: n for v, n in zip(variables, names, strict=True)}}


def normalize(expr: Expr, scope: Scope, words: Vocabulary, positive: bool = True) -> Formula:
    """The formula of a Boolean expression, or of its negation (where not ``positive``).

    ``scope`` is what the variables of ``expr`` stand for, ``words`` gives objects their numbers and new
    variables their names.
    """
    match expr:
        case Value():
            return TRUE if bool(expr.value) == positive else FALSE
        case Apply():
            return Atom(expr.predicate, tuple(_term(a, scope, words) for a in expr.args), positive)
        case Logic(op="not"):
            return normalize(expr.args[0], scope, words, not positive)
        case Logic(op="implies"):
            left, right = expr.args
            parts = [normalize(left, scope, words, not positive), normalize(right, scope, words, positive)]
            return either(parts) if positive else both(parts)
        case Logic():
            join = both if (expr.op == "and") == positive else either
            return join([normalize(a, scope, words, positive) for a in expr.args])
        case Quantified():
            return _quantified(expr, scope, words, positive)
        case Equal() if expr.left.type == BOOL:
            return _equivalence(expr, scope, words, positive)
        case Equal() if isinstance(expr.left.type, ObjectType):
            left_term, right_term = _term(expr.left, scope, words), _term(expr.right, scope, words)
            if isinstance(left_term, int) and isinstance(right_term, int):
                return TRUE if (left_term == right_term) == positive else FALSE
            if left_term == right_term:
                return TRUE if positive else FALSE
            return Same(left_term, right_term, positive)
        case Equal() | Compare():
            return Test(expr, _closed(expr, scope), positive)
        case _:
            raise AssertionError(f"{type(expr).__name__} is outside the classical fragment")


def _term(expr: Expr, scope: Scope, words: Vocabulary) -> Term:
    match expr:
        case Object():
            return words.objects[expr.name]
        case Variable():
            term = scope[expr.name]
            assert not isinstance(term, Value)
            return term
        case _:
            raise AssertionError(f"{type(expr).__name__} is no object")


def _closed(expr: Expr, scope: Scope) -> dict[str, Term | Value]:
    free = free_variables(expr)
    return {name: term for name, term in scope.items() if name in free}


def _equivalence(expr: Equal, scope: Scope, words: Vocabulary, positive: bool) -> Formula:
    """Two Booleans are equal if both hold or neither does."""
    return either(
        both(
            [normalize(expr.left, scope, words, sign), normalize(expr.right, scope, words, sign == positive)]
        )
        for sign in (True, False)
    )


def _quantified(expr: Quantified, scope: Scope, words: Vocabulary, positive: bool) -> Formula:
    """A quantifier over objects stays; one over the choices of an int type is written out."""
    universal = (expr.op == "forall") == positive
    choices = [v for v in expr.variables if not isinstance(v.type, ObjectType)]
    if choices:
        return _written_out(expr, scope, words, positive)
    names, inner = words.bind(expr.variables, scope)
    body = normalize(expr.body, inner, words, positive)
    if not names or body == (TRUE if universal else FALSE):
        return body
    return Every(names, body) if universal else Some(names, body)


def _written_out(expr: Quantified, scope: Scope, words: Vocabulary, positive: bool) -> Formula:
    universal = (expr.op == "forall") == positive
    variable, *others = sorted(expr.variables, key=lambda v: isinstance(v.type, ObjectType))
    assert not isinstance(variable.type, ObjectType)
    values = (False, True) if variable.type.is_bool else range(variable.type.choices or 0)
    rest: Expr = Quantified(expr.op, tuple(others), expr.body, expr.span) if others else expr.body
    parts = [
        normalize(rest, {**scope, variable.name: Value(v, variable.type)}, words, positive) for v in values
    ]
    return both(parts) if universal else either(parts)
