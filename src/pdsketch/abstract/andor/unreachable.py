"""Why the AO task sees no way to a goal, in the sketch's own terms.

The goal is taken apart, and each part is tried alone. Of one that even the relaxed task cannot reach, it is
said what it reads, which actions write that, and by which blanks: one of these would have to be different.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product
from typing import Final

from pdsketch.lang import (
    Apply,
    Domain,
    Expr,
    Logic,
    Object,
    ObjectType,
    Quantified,
    Value,
    Variable,
    conjuncts,
    effect_expressions,
    located,
    quote,
    shown,
    substitute,
)

MOST_PARTS: Final = 4
"""Parts of the goal that are explained."""

MOST_TRIED: Final = 256
"""Parts of the goal that are tried."""


def unreachable_parts(
    domain: Domain, objects: Mapping[str, ObjectType], goal: Expr, reachable: Callable[[Expr], bool]
) -> list[str]:
    """The parts of a goal that cannot be reached, each with what stands in the way.

    ``goal`` is over the ``objects`` (names to types) of ``domain``; ``reachable`` says of a closed formula
    whether the model's relaxation makes it true.
    """
    parts = islice(_parts(domain, objects, goal), MOST_TRIED)
    lost = list(islice((part for part in parts if not reachable(part)), MOST_PARTS))
    if not lost and not reachable(goal):
        return [f"in the model, no actions make all parts of {quote(goal.span, 'the goal')} true together"]
    found = []
    for part in lost:
        found.append(f"in the model, no actions make `{_words(part)}` true{located(part.span)}")
        found += _obstacles(domain, part)
    return list(dict.fromkeys(found))


def _parts(domain: Domain, objects: Mapping[str, ObjectType], expr: Expr) -> Iterator[Expr]:
    """The conjuncts of a goal; one for all objects is one for each of them."""
    for part in conjuncts(expr):
        over_objects = isinstance(part, Quantified) and all(
            isinstance(v.type, ObjectType) for v in part.variables
        )
        if not isinstance(part, Quantified) or part.op != "forall" or not over_objects:
            yield part
            continue
        names = [v.name for v in part.variables]
        members = [
            [Object(name, objects[name]) for name in domain.hierarchy.members(v.type, objects)]
            for v in part.variables
            if isinstance(v.type, ObjectType)
        ]
        for row in product(*members):
            yield from _parts(domain, objects, substitute(part.body, dict(zip(names, row, strict=True))))


def _obstacles(domain: Domain, part: Expr) -> Iterator[str]:
    """What a part of the goal rests on: state variables that no action writes, or the actions that do."""
    analysis = domain.analysis
    reads = [p.name for p in domain.state_predicates if p.name in analysis.reads(part)]
    for name in reads:
        writers = [action for action in domain.actions.values() if name in analysis.writes(action.name)]
        if not writers:
            yield f"no action writes `{name}`{located(domain.predicates[name].span)}"
        for action in writers:
            own = [update for update in action.effects if update.target.predicate == name]
            expressions = [action.precondition, *effect_expressions(own)]
            blanks = dict.fromkeys(blank for expr in expressions for blank in analysis.blanks(expr))
            by = f" by {', '.join(f'`{blank}`' for blank in blanks)}" if blanks else ""
            place = located((own[0].span if own else None) or action.span)
            yield f"`{action.name}` writes `{name}`{by}, and never so that it holds{place}"
    deciding = analysis.blanks(part)
    if deciding:
        listed = ", ".join(f"`{blank}`" for blank in deciding)
        spans = domain.blanks[deciding[0]].spans
        yield f"it is {listed} that decides it{located(spans[0] if spans else None)}"


def _words(expr: Expr) -> str:
    """An expression as the author would write it."""
    match expr:
        case Variable() | Object():
            return expr.name
        case Value():
            return shown(expr.value)
        case Apply():
            return f"({' '.join([expr.predicate, *map(_words, expr.args)])})"
        case Logic():
            return f"({' '.join([expr.op, *map(_words, expr.args)])})"
        case _:
            return quote(expr.span, "the goal").strip("`")
