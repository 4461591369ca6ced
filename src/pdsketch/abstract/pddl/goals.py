"""Goals about all objects, object by object.

Many planners take ``forall`` in a goal for the negation of something derived, of which their heuristics see
nothing. Here what is to hold of each object is a derived predicate, and the goal names the objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import prod
from typing import Final

from pdsketch.abstract.andor.symbolic import conjoined
from pdsketch.lang import BOOL, Apply, Expr, Names, Object, ObjectType, Predicate, Quantified, conjuncts

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
