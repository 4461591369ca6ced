"""Formulas, effects and goals over codes, in names and forms that any planner reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Final, final

from pdsketch.abstract.andor.symbolic import conjoined, disjoined, negated
from pdsketch.lang import (
    BOOL,
    FALSE,
    TRUE,
    Apply,
    Domain,
    Equal,
    Expr,
    Logic,
    Names,
    Object,
    ObjectType,
    Predicate,
    Quantified,
    Update,
    Variable,
    conjuncts,
    free_variables,
    map_children,
    walk,
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


# Conditional effects that range over no more than what they write.
#
# ``forall`` over the old pose, the direction and the new pose, when the three belong together, is one effect
# for each triple; planners that ground it have many, and those that must say when a deleted fact is not added
# multiply them out. Here the new pose is a derived predicate, and the effect ranges over new poses alone.


def narrowed_effects(domain: Domain, names: Names, more: Mapping[str, Predicate]) -> Domain:
    """The domain with effects over the variables of their targets alone, and with ``more`` predicates.

    What effects ask for beyond what they write becomes derived predicates, each condition once, with names
    of ``names``.
    """
    known: dict[Expr, Predicate] = {}
    actions = {
        action.name: replace(
            action, effects=tuple(_narrowed(update, action.name, names, known) for update in action.effects)
        )
        for action in domain.actions.values()
    }
    made = {predicate.name: predicate for predicate in known.values()}
    return replace(domain, predicates={**domain.predicates, **made, **more}, actions=actions)


def _narrowed(update: Update, action: str, names: Names, known: dict[Expr, Predicate]) -> Update:
    written = free_variables(update.target)
    hidden = [v for v in update.variables if v.name not in written]
    parts = conjuncts(update.condition)
    deep = [part for part in parts if not {v.name for v in hidden}.isdisjoint(free_variables(part))]
    if not deep:
        return update
    body = nested(hidden, deep)
    if body not in known:
        inside = [node for part in (update.target, *deep) for node in walk(part)]
        seen = {node.name: node for node in inside if isinstance(node, Variable)}
        parameters = tuple(v for name, v in seen.items() if name in free_variables(body))
        word = "" if update.op == "add" else "leaves-"
        name = names.give(f"{action}-{word}{update.target.predicate}")
        known[body] = Predicate(name, parameters, BOOL, "derived", body)
    atom = Apply(known[body].name, known[body].parameters, BOOL)
    condition = conjoined([*(part for part in parts if part not in deep), atom])
    kept = tuple(v for v in update.variables if v.name in written)
    return Update(update.op, update.target, None, kept, condition)


# Goals about all objects, object by object.
#
# Many planners take ``forall`` in a goal for the negation of something derived, of which their heuristics see
# nothing. Here what is to hold of each object is a derived predicate, and the goal names the objects.

MOST: Final = 500
"""A part of a goal about more tuples of objects stays as it is. Set by hand."""


def by_object(
    goal: Expr, members: Callable[[ObjectType], Iterable[str]], names: Names
) -> tuple[Expr, dict[str, Predicate]]:
    """The goal with its ``forall`` written out, and the derived predicates that it needs for that."""
    parts, made = list[Expr](), dict[str, Predicate]()
    for part in conjuncts(goal):
        types = [v.type for v in part.variables] if isinstance(part, Quantified) else []
        ranges = [[Object(n, t) for n in members(t)] for t in types if isinstance(t, ObjectType)]
        if not isinstance(part, Quantified) or part.op == "exists" or prod(map(len, ranges)) > MOST:
            parts.append(part)
            continue
        name = names.give("goal")
        made[name] = Predicate(name, part.variables, BOOL, "derived", part.body)
        parts += [Apply(name, row, BOOL) for row in product(*ranges)]
    return conjoined(parts), made


# What a domain asks of a planner, as its ``:requirements`` say it.

_ORDER = (
    ":strips",
    ":typing",
    ":equality",
    ":negative-preconditions",
    ":disjunctive-preconditions",
    ":existential-preconditions",
    ":universal-preconditions",
    ":conditional-effects",
    ":derived-predicates",
    ":action-costs",
)


def with_requirements(domain: Domain) -> Domain:
    """A domain of Booleans with the requirements that it needs, and no others."""
    needed = {":strips", ":typing"}
    for predicate in domain.predicates.values():
        if predicate.body is not None:
            needed |= {":derived-predicates", *_of_formula(predicate.body)}
        if predicate.role == "cost":
            needed.add(":action-costs")
    for action in domain.actions.values():
        needed.update(_of_formula(action.precondition))
        for update in action.effects:
            needed.update(_of_formula(update.condition))
            if update.condition != TRUE or update.variables:
                needed.add(":conditional-effects")
    return replace(domain, requirements=tuple(word for word in _ORDER if word in needed))


def _of_formula(formula: Expr) -> Iterator[str]:
    for node in walk(formula):
        match node:
            case Logic(op="not"):
                yield ":negative-preconditions"
            case Logic(op="or" | "implies"):
                yield ":disjunctive-preconditions"
            case Quantified():
                kind = "existential" if node.op == "exists" else "universal"
                yield f":{kind}-preconditions"
            case Equal():
                yield ":equality"
            case _:
                pass
