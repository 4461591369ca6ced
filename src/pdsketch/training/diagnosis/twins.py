"""Predicates that are blanks and stand only side by side: nothing tells which of them is false."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations

from pdsketch.lang import (
    Apply,
    BlankCall,
    Domain,
    Expr,
    Logic,
    Predicate,
    Variable,
    children,
    effect_expressions,
    names_in,
    walk,
)
from pdsketch.training.training_set import TrainingSet

Inputs = frozenset[Hashable]


def twins(training: TrainingSet) -> list[tuple[str, str]]:
    """Pairs of Boolean predicates that are one blank each and that the data cannot tell apart.

    They stand in the same conjunctions of the same goals, nothing else reads
    either, and wherever they stand together they read a value in common; over
    different values, what one of them learns is not the other's to explain.
    """
    domain = training.domain
    elsewhere = _read_outside_goals(domain)
    blank = [
        p
        for p in domain.predicates.values()
        if p.role == "derived"
        and p.type.is_bool
        and isinstance(p.body, BlankCall)
        and p.name not in elsewhere
    ]
    places = {p.name: _places(training, p) for p in blank}
    return [
        (p.name, q.name)
        for p, q in combinations(blank, 2)
        if places[p.name] and _side_by_side(places[p.name], places[q.name])
    ]


def _read_outside_goals(domain: Domain) -> set[str]:
    """The predicates that actions and bodies of other predicates name."""
    expressions = [p.body for p in domain.predicates.values() if p.body is not None]
    for action in domain.actions.values():
        expressions += [action.precondition, *effect_expressions(action.effects)]
    return set().union(*map(names_in, expressions))


def _places(training: TrainingSet, predicate: Predicate) -> dict[Hashable, list[Inputs]]:
    """The conjunctions in goals in which a predicate stands, and what it reads in each.

    A place outside any conjunction is one of its own.
    """
    found: dict[Hashable, list[Inputs]] = {}
    for at, goal in enumerate(training.goals):
        # The negation gives the goal itself a parent.
        for number, node in enumerate(walk(Logic("not", (goal,)))):
            for part in children(node):
                if not (isinstance(part, Apply) and part.predicate == predicate.name):
                    continue
                if isinstance(node, Logic) and node.op == "and":
                    found.setdefault((at, number), []).append(_inputs(predicate, part))
                else:
                    found[at, predicate.name] = []
    return found


def _inputs(predicate: Predicate, call: Apply) -> Inputs:
    """The values that a predicate reads where it is called with these arguments."""
    assert isinstance(predicate.body, BlankCall)
    bound = {p.name: argument for p, argument in zip(predicate.parameters, call.args, strict=True)}
    return frozenset(_bound(argument, bound) for argument in predicate.body.args)


def _bound(expr: Expr, bound: Mapping[str, Expr]) -> Hashable:
    match expr:
        case Variable():
            return bound.get(expr.name, expr)
        case Apply():
            return (expr.predicate, tuple(_bound(argument, bound) for argument in expr.args))
        case _:
            return expr


def _side_by_side(first: Mapping[Hashable, list[Inputs]], second: Mapping[Hashable, list[Inputs]]) -> bool:
    return first.keys() == second.keys() and all(
        any(a & b for a in first[place] for b in second[place]) for place in first
    )
