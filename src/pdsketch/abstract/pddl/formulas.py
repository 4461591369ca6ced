"""Formulas, effects and goals as an author would write them, in names and forms that any planner reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import final

from pdsketch.abstract.andor.symbolic import conjoined, disjoined, negated
from pdsketch.abstract.written import simplified
from pdsketch.lang import (
    BOOL,
    FALSE,
    TRUE,
    Action,
    Apply,
    Domain,
    Equal,
    Expr,
    Hierarchy,
    Logic,
    Names,
    Object,
    ObjectType,
    Predicate,
    Quantified,
    Update,
    UpdateOp,
    Variable,
    conjuncts,
    free_variables,
    legal,
    map_children,
    substitute,
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
        """What an update adds or deletes in the new names; nothing where it never does."""
        variables, inner = self.bind(update.variables, scope)
        condition = self.formula(update.condition, inner)
        target = self.formula(update.target, inner)
        assert isinstance(target, Apply)
        if condition != FALSE:
            yield Update(update.op, target, None, variables, condition)


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


def _disjuncts(expr: Expr) -> Sequence[Expr]:
    return expr.args if isinstance(expr, Logic) and expr.op == "or" else (expr,)


def renamed(
    domain: Domain,
    renaming: Renaming,
    actions: Mapping[str, str],
    wishes: Mapping[str, Sequence[str]],
) -> Domain:
    """The ``domain`` in other names, by a ``renaming``.

    The parameters of ``actions`` have the names that ``wishes`` say, if any.
    """
    predicates, found = {}, {}
    for predicate in domain.predicates.values():
        parameters, scope = renaming.bind(predicate.parameters, {})
        name, own = renaming.predicates[predicate.name], replace(predicate, parameters=parameters)
        if predicate.body is not None:
            body = renaming.formula(predicate.body, scope)
            # One that never holds has no body, and no fact.
            own = (
                replace(own, role="observed", body=None)
                if body == FALSE
                else replace(own, body=written(body))
            )
        predicates[name] = replace(own, name=name)
    for action in domain.actions.values():
        parameters, scope = renaming.bind(action.parameters, {}, wishes.get(action.name, ()))
        found[actions[action.name]] = replace(
            action,
            name=actions[action.name],
            parameters=parameters,
            precondition=written(renaming.formula(action.precondition, scope)),
            effects=tuple(new for update in action.effects for new in renaming.updates(update, scope)),
            cost=None if action.cost is None else renaming.formula(action.cost, scope),
        )
    return replace(
        domain,
        name=legal(domain.name),
        hierarchy=Hierarchy(
            {
                renaming.types[name]: tuple(renaming.types[parent] for parent in parents)
                for name, parents in domain.hierarchy.parents.items()
            }
        ),
        constants={renaming.objects[n]: renaming.type(t) for n, t in domain.constants.items()},
        predicates=predicates,
        actions=found,
    )


# Effects as an author would write them.


def plain_effects(action: Action) -> Iterator[Update]:
    """The effects where the precondition holds, assignments of truths as what they add and delete.

    A delete that asks for nothing but what it deletes is plain.
    """
    known: dict[Expr, bool] = {}
    for part in conjuncts(action.precondition):
        if isinstance(part, Apply):
            known[part] = True
        elif isinstance(part, Logic) and part.op == "not" and isinstance(part.args[0], Apply):
            known[part.args[0]] = False
    for update in action.effects:
        bound = {v.name for v in update.variables}
        here = {a: truth for a, truth in known.items() if bound.isdisjoint(free_variables(a))}
        if update.op == "assign" and any(_meet(update, other) for other in action.effects):
            yield from _writes(update, here)
        elif update.op == "assign":
            yield from _changes(update, here)
        elif update.op == "delete" and update.condition == update.target:
            yield replace(update, condition=TRUE)
        elif update.condition != FALSE:
            yield update


def _meet(update: Update, other: Update) -> bool:
    """Whether another effect may write the same atom, where parameters stand for different objects.

    Where two parameters stand for one, an effect that keeps what there was is none.
    """
    free = {v.name for v in (*update.variables, *other.variables)}
    if update is other:
        return not {v.name for v in update.variables} <= {*free_variables(update.target)}
    if other.op == "add" or other.target.predicate != update.target.predicate:
        return False
    pairs = zip(update.target.args, other.target.args, strict=True)
    return all(a == b or any(isinstance(x, Variable) and x.name in free for x in (a, b)) for a, b in pairs)


def _writes(update: Update, known: Mapping[Expr, bool]) -> Iterator[Update]:
    """The assignment of a truth beside others of the same atom: of truths, true wins, as adding does."""
    assert update.value is not None
    ways: list[tuple[UpdateOp, Expr]] = [("delete", negated(update.value)), ("add", update.value)]
    for op, value in ways:
        condition = simplified(conjoined([update.condition, value]), known)
        if condition != FALSE:
            yield replace(update, op=op, value=None, condition=condition)


def _changes(update: Update, known: Mapping[Expr, bool]) -> Iterator[Update]:
    """What the assignment of a truth adds, and what it deletes; where it keeps what there was, neither."""
    assert update.value is not None
    target, when = update.target, update.condition
    after = disjoined([conjoined([when, update.value]), conjoined([negated(when), target])])
    sets = TRUE if known.get(target) is True else simplified(after, {**known, target: False})
    stays = FALSE if known.get(target) is False else simplified(after, {**known, target: True})
    added, deleted = sets, simplified(negated(stays), known)
    if known.get(target) is True:
        added = FALSE
    elif known.get(target) is False:
        deleted = FALSE
    elif simplified(conjoined([sets, deleted]), known) != FALSE:  # it turns the truth
        added, deleted = conjoined([negated(target), sets]), conjoined([target, deleted])
    ways: list[tuple[UpdateOp, Expr]] = [("delete", deleted), ("add", added)]
    for op, condition in ways:
        if condition != FALSE:
            yield replace(update, op=op, value=None, condition=condition)


# Conditional effects that range over no more than what they write.
#
# ``forall`` over the old pose, the direction and the new pose, when the three belong together, is one effect
# for each triple; planners that ground it have many, and those that must say when a deleted fact is not added
# multiply them out. Here the new pose is a derived predicate, and the effect ranges over new poses alone.


def narrowed_effects(domain: Domain, names: Names) -> Domain:
    """The domain with effects over the variables of their targets alone.

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
    return replace(domain, predicates={**domain.predicates, **made}, actions=actions)


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


# Goals about all objects, object by object: many planners take ``forall`` in a goal for the negation of
# something derived, of which their heuristics see nothing.


def by_object(goal: Expr, members: Callable[[ObjectType], Iterable[str]]) -> Expr:
    """The goal with its ``forall`` written out."""
    parts = list[Expr]()
    for part in conjuncts(goal):
        if not isinstance(part, Quantified) or part.op == "exists":
            parts.append(part)
            continue
        types = [v.type for v in part.variables if isinstance(v.type, ObjectType)]
        for row in product(*([Object(name, t) for name in members(t)] for t in types)):
            values = {v.name: value for v, value in zip(part.variables, row, strict=True)}
            parts += conjuncts(substitute(part.body, values))
    return conjoined(parts)


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
