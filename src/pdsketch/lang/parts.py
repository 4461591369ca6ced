"""A goal part by part: its conjuncts, and the instances of those that begin with a quantifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Final, final

from pdsketch.lang.domain import Domain
from pdsketch.lang.rewrite import conjuncts, substitute
from pdsketch.lang.terms import Expr, Object, Quantified
from pdsketch.lang.types import ObjectType
from pdsketch.lang.unparse import formula_text

MOST_INSTANCES: Final = 200
"""Of one quantified part: more than anybody reads."""


@final
@dataclass(frozen=True, slots=True)
class GoalPart:
    """A conjunct, how true it is, and if it is quantified, how true its body is for which objects."""

    text: str
    truth: float
    instances: tuple[tuple[tuple[str, ...], float], ...] = ()


def parts_of(
    goal: Expr, domain: Domain, universe: Mapping[str, ObjectType], truth: Callable[[Expr], float]
) -> tuple[GoalPart, ...]:
    """The parts of a goal; ``truth`` gives the truth of a closed formula.

    ``goal`` is taken apart at its conjunctions; a part that is quantified also has an instance for each
    object of ``universe`` (names to types) that its variables may stand for in ``domain``.
    """
    found = []
    for part in conjuncts(goal):
        text = " ".join(part.span.text.split()) if part.span is not None else formula_text(part)
        bodies = _instances(part, domain, universe)
        found.append(GoalPart(text, truth(part), tuple((objects, truth(body)) for objects, body in bodies)))
    return tuple(found)


def _instances(
    part: Expr, domain: Domain, universe: Mapping[str, ObjectType]
) -> list[tuple[tuple[str, ...], Expr]]:
    """The body of a quantifier over objects for the first `MOST_INSTANCES` ways to choose them."""
    if not isinstance(part, Quantified):
        return []
    types = [v.type for v in part.variables if isinstance(v.type, ObjectType)]
    if len(types) < len(part.variables):
        return []
    members = [domain.hierarchy.members(type_, universe) for type_ in types]
    found = []
    for objects in islice(product(*members), MOST_INSTANCES):
        named = zip(part.variables, objects, strict=True)
        by: dict[str, Expr] = {v.name: Object(name, universe[name]) for v, name in named}
        found.append((objects, substitute(part.body, by)))
    return found
