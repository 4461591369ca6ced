"""What a checked domain promises to the rooms behind it, as assertions."""

from __future__ import annotations

from pdsketch.lang.domain import Domain, Problem
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
    children,
)
from pdsketch.lang.types import BOOL, ObjectType, Type, ValueType


def verify_domain(domain: Domain) -> None:
    """Assert everything that `Domain` and the terms promise."""
    order = [name for component in domain.components for name in component]
    assert sorted(order) == sorted(p.name for p in domain.predicates.values() if p.body is not None)
    for predicate in domain.predicates.values():
        assert (predicate.body is not None) == (predicate.role in ("derived", "encoded"))
        if predicate.body is not None:
            scope = {v.name: v for v in predicate.parameters}
            assert fits(predicate.body.type, predicate.type)
            verify(predicate.body, scope, domain, {})
    for action in domain.actions.values():
        scope = {v.name: v for v in action.parameters}
        assert action.precondition.type == BOOL
        verify(action.precondition, scope, domain, {})
        if action.cost is not None:
            verify(action.cost, scope, domain, {})
        for update in action.effects:
            inner = bind(update.variables, scope)
            target = domain.predicates[update.target.predicate]
            assert target.role in ("observed", "encoded")
            assert (update.value is None) == (update.op in ("add", "delete"))
            assert all(isinstance(arg, Variable | Object | Value) for arg in update.target.args)
            assert update.condition.type == BOOL
            verify(update.target, inner, domain, {})
            verify(update.condition, inner, domain, {})
            if update.value is not None:
                assert isinstance(update.value.type, ValueType)
                verify(update.value, inner, domain, {})


def verify_problem(problem: Problem) -> None:
    """Assert everything that `Problem` promises."""
    domain = problem.domain
    assert list(problem.universe)[: len(domain.constants)] == list(domain.constants)
    for (name, *objects), _ in problem.init.items():
        predicate = domain.predicates[name]
        assert predicate.role in ("observed", "raw", "encoded")
        for parameter, obj in zip(predicate.parameters, objects, strict=True):
            assert isinstance(parameter.type, ObjectType)
            assert domain.hierarchy.is_subtype(problem.universe[obj], parameter.type)
    verify(problem.goal, {}, domain, dict(problem.universe))


def bind(variables: tuple[Variable, ...], scope: dict[str, Variable]) -> dict[str, Variable]:
    """No variable is bound twice along a path."""
    for variable in variables:
        assert variable.name not in scope
        assert variable.type != ObjectType(())
    return {**scope, **{v.name: v for v in variables}}


def fits(have: Type, want: Type) -> bool:
    """Whether a value of one type may stand for another: the same kind and known dimensions."""
    if isinstance(have, ObjectType) or isinstance(want, ObjectType):
        return False
    is_kind = have.prim == want.prim or (have.prim, want.prim) == ("int64", "float32")
    return is_kind and (have.shape == want.shape or None in (have.shape, want.shape))


def verify(expr: Expr, scope: dict[str, Variable], domain: Domain, objects: dict[str, ObjectType]) -> None:
    """Names are bound, arities and types fit, and sets stand only where blanks take them."""
    inner = scope
    match expr:
        case Variable():
            assert scope[expr.name].type == expr.type
        case Object():
            assert {**domain.constants, **objects}[expr.name] == expr.type
        case Apply():
            predicate = domain.predicates[expr.predicate]
            assert expr.type == predicate.type
            for arg, parameter in zip(expr.args, predicate.parameters, strict=True):
                if isinstance(parameter.type, ObjectType):
                    assert isinstance(arg.type, ObjectType)
                    assert domain.hierarchy.is_subtype(arg.type, parameter.type)
                else:
                    assert fits(arg.type, parameter.type)
        case BlankCall():
            blank = domain.blanks[expr.blank]
            assert [i.type for i in blank.inputs] == [a.type for a in expr.args]
            assert [i.over is not None for i in blank.inputs] == [isinstance(a, Each) for a in expr.args]
            assert blank.returns == expr.type
        case Quantified() | Each():
            inner = bind(expr.variables, scope)
            for variable in expr.variables:
                assert isinstance(variable.type, ObjectType) or variable.type.choices
        case Equal():
            both = isinstance(expr.left.type, ObjectType), isinstance(expr.right.type, ObjectType)
            assert (
                both == (True, True)
                or fits(expr.left.type, expr.right.type)
                or fits(expr.right.type, expr.left.type)
            )
        case Compare():
            assert all(isinstance(p.type, ValueType) and p.type.is_number for p in children(expr))
        case Logic():
            assert all(part.type == BOOL for part in expr.args)
        case Component():
            assert isinstance(expr.vector.type, ValueType)
            shape = expr.vector.type.shape
            assert shape is None or (len(shape) == 1 and expr.place < shape[0])
            assert expr.type.shape == ()
        case Arithmetic() | Value():
            assert expr.type.prim != "bool" or isinstance(expr, Value)
    for child in children(expr):
        assert not isinstance(child, Each) or isinstance(expr, BlankCall)
        verify(child, inner, domain, objects)
