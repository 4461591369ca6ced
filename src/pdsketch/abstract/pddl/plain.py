"""The export of a model whose state is truths: lifted, in the author's names, as an author would write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pdsketch.abstract.andor.symbolic import conjoined, disjoined, negated
from pdsketch.abstract.pddl.formulas import Renaming, written
from pdsketch.abstract.written import simplified, written_out
from pdsketch.lang import (
    BOOL,
    FALSE,
    TRUE,
    Action,
    Apply,
    BlankCall,
    Domain,
    Equal,
    Expr,
    Hierarchy,
    Logic,
    Object,
    ObjectType,
    Predicate,
    Quantified,
    Update,
    UpdateOp,
    Variable,
    conjuncts,
    effect_expressions,
    free_variables,
    legal,
    map_children,
    names_in,
    walk,
)
from pdsketch.tensor import Model


def plain_domain(model: Model, *, costs: bool) -> tuple[Domain, dict[str, str]] | None:
    """The model as a domain of truths without blanks; which derived predicates are left out of it, and why.

    None: its actions have values, or networks that cannot be written down. ``costs``: actions cost what the
    sketch says.
    """
    own = _without_equal_truths(written_out(model))
    kept = {name: p for name, p in own.predicates.items() if p.type.is_bool and p.role != "external"}
    left_out: dict[str, str] = {}
    for _ in own.predicates:
        for name, predicate in [*kept.items()]:
            why = None if predicate.is_state or predicate.body is None else obstacle(predicate.body, kept)
            if why is not None:
                left_out[name] = why
                del kept[name]
    asked = [
        expr
        for action in own.actions.values()
        for expr in (
            action.precondition,
            *(u.target for u in action.effects),
            *effect_expressions(action.effects),
        )
    ]
    if any(obstacle(expr, kept) is not None for expr in asked):
        return None
    actions = {
        action.name: replace(
            action,
            effects=tuple(_effects(action)),
            cost=action.cost if costs else None,
        )
        for action in own.actions.values()
    }
    prices = {
        name for action in actions.values() if action.cost is not None for name in names_in(action.cost)
    }
    wanted = {
        **kept,
        **{n: p for n, p in own.predicates.items() if n in prices or (p.role == "cost" and costs)},
    }
    predicates = {n: _declared(p) for n, p in own.predicates.items() if n in wanted and p.role != "raw"}
    return replace(own, predicates=predicates, actions=actions, value_types={}, blanks={}), left_out


def _declared(predicate: Predicate) -> Predicate:
    """A predicate; what an encoder computes once is given with a state here."""
    return replace(predicate, role="observed", body=None) if predicate.role == "encoded" else predicate


def obstacle(expr: Expr, kept: Mapping[str, Predicate]) -> str | None:
    """Why a formula is not one over ``kept`` predicates of objects, in words; None: it is."""
    for node in walk(expr):
        match node:
            case BlankCall():
                return f"`{node.blank}` is a network that reads more than can be written down"
            case Apply() if node.predicate not in kept:
                return f"it asks for `{node.predicate}`"
            case Quantified() if not all(isinstance(v.type, ObjectType) for v in node.variables):
                return "it ranges over values"
            case Equal() if node.left.type != BOOL and not isinstance(node.left.type, ObjectType):
                return "it compares values"
            case Variable() | Object() | Apply() | Logic() | Quantified() | Equal():
                pass
            case _:
                if node not in (TRUE, FALSE):
                    return "it computes with values"
    return None


def _effects(action: Action) -> Iterator[Update]:
    """The effects where the precondition holds, assignments of truths as what they add and delete."""
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


def _without_equal_truths(domain: Domain) -> Domain:
    """The domain where that two truths are equal is said by connectives, as in PDDL."""

    def rewritten(expr: Expr) -> Expr:
        expr = map_children(expr, rewritten)
        if not isinstance(expr, Equal) or expr.left.type != BOOL:
            return expr
        one, other = expr.left, expr.right
        return disjoined([conjoined([one, other]), conjoined([negated(one), negated(other)])])

    predicates = {
        name: p if p.body is None else replace(p, body=rewritten(p.body))
        for name, p in domain.predicates.items()
    }
    actions = {
        name: replace(
            action,
            precondition=rewritten(action.precondition),
            effects=tuple(
                replace(
                    u, condition=rewritten(u.condition), value=None if u.value is None else rewritten(u.value)
                )
                for u in action.effects
            ),
        )
        for name, action in domain.actions.items()
    }
    return replace(domain, predicates=predicates, actions=actions)


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
