"""Formulas over codes in names that any planner reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from pdsketch.abstract.andor.symbolic import conjoined, disjoined, negated
from pdsketch.lang import (
    BOOL,
    FALSE,
    TRUE,
    Apply,
    Expr,
    Logic,
    Names,
    Object,
    ObjectType,
    Quantified,
    Update,
    Variable,
    conjuncts,
    free_variables,
    map_children,
)

Scope = Mapping[str, Variable]
"""The variables in reach by the names that they have in the abstraction."""


def written(expr: Expr) -> Expr:
    """A formula as PDDL writes it: truth is the empty conjunction."""
    if expr in (TRUE, FALSE):
        return Logic("and" if expr == TRUE else "or", ())
    return expr


@final
@dataclass(frozen=True, slots=True)
class Renaming:
    """Names for types (``sorts`` are those of codes), predicates and objects."""

    types: Mapping[str, str]
    sorts: frozenset[str]
    predicates: Mapping[str, str]
    objects: Mapping[str, str]

    def type(self, type_: ObjectType) -> ObjectType:
        """A type by its new name."""
        return ObjectType(tuple(self.types.get(name, name) for name in type_.names))

    def bind(
        self, variables: Iterable[Variable], scope: Scope, wishes: Sequence[str] = ()
    ) -> tuple[tuple[Variable, ...], Scope]:
        """Variables with names that nothing in reach has; one over codes is called by its type."""
        names = Names(v.name[1:] for v in scope.values())
        found, inner = list[Variable](), dict(scope)
        for i, variable in enumerate(variables):
            assert isinstance(variable.type, ObjectType)
            is_code = variable.type.names[0] in self.sorts
            own = variable.type.names[0] if is_code else variable.name.partition("@")[0]
            new = Variable(f"?{names.give(wishes[i] if wishes else own)}", self.type(variable.type))
            found.append(new)
            inner[variable.name] = new
        return tuple(found), inner

    def formula(self, expr: Expr, scope: Scope) -> Expr:
        """A formula in the new names, nested conjunctions and disjunctions made one."""
        match expr:
            case Variable():
                return scope[expr.name]
            case Object():
                return Object(self.objects[expr.name], self.type(expr.type))
            case Apply():
                args = tuple(self.formula(a, scope) for a in expr.args)
                return Apply(self.predicates[expr.predicate], args, BOOL)
            case Logic(op="and"):
                return conjoined(c for a in expr.args for c in conjuncts(self.formula(a, scope)))
            case Logic(op="or"):
                parts = [self.formula(a, scope) for a in expr.args]
                return disjoined(d for p in parts for d in _disjuncts(p))
            case Logic(op="not"):
                return negated(self.formula(expr.args[0], scope))
            case Quantified():
                variables, inner = self.bind(expr.variables, scope)
                body = self.formula(expr.body, inner)
                if expr.op == "exists":
                    return nested(variables, conjuncts(body))
                return Quantified(expr.op, variables, written(body))
            case _:
                return map_children(expr, lambda part: self.formula(part, scope))

    def updates(self, update: Update, scope: Scope) -> Iterable[Update]:
        """An update in the new names; the assignment of a truth value adds where it is true, else deletes."""
        variables, inner = self.bind(update.variables, scope)
        condition = self.formula(update.condition, inner)
        target = self.formula(update.target, inner)
        assert isinstance(target, Apply)
        ways = [(update.op, condition)]
        if update.op == "assign":
            assert update.value is not None
            value = self.formula(update.value, inner)
            ways = [("add", _both(condition, value)), ("delete", _both(condition, negated(value)))]
        for op, when in ways:
            if when != FALSE:
                yield Update(op, target, None, variables, when)


def nested(variables: Sequence[Variable], parts: Sequence[Expr]) -> Expr:
    """Some values of the variables make all parts true; each variable bound as far inside as it can be.

    Whoever tries all values of the variables, one after the other, then has few to try.
    """
    names = {variable.name for variable in variables}
    here = [part for part in parts if names.isdisjoint(free_variables(part))]
    rest = [part for part in parts if part not in here]
    if len(variables) < 2:
        return conjoined([*here, Quantified("exists", tuple(variables), written(conjoined(rest)))])
    alone = {
        name for part in rest if len(own := names.intersection(free_variables(part))) == 1 for name in own
    }
    first = next((v for v in variables if v.name in alone), variables[0])
    inner = nested([v for v in variables if v is not first], rest)
    bound = Quantified("exists", (first,), inner)
    return conjoined([*here, bound])


def _both(first: Expr, second: Expr) -> Expr:
    return conjoined([*conjuncts(first), *conjuncts(second)])


def _disjuncts(expr: Expr) -> Sequence[Expr]:
    return expr.args if isinstance(expr, Logic) and expr.op == "or" else (expr,)
