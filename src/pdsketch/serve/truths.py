"""How true a goal is in a state, part by part and object by object."""

from __future__ import annotations

from itertools import islice, product
from typing import Any, Final

from pdsketch.lang.rewrite import conjuncts, substitute
from pdsketch.lang.terms import Expr, Object, Quantified
from pdsketch.lang.types import ObjectType
from pdsketch.lang.unparse import formula_text
from pdsketch.serve.subjects import Subject

MOST_INSTANCES: Final = 200
"""Of one quantified part: what a page can show."""


def truths(subject: Subject, state: Any, goal: Expr) -> dict[str, Any]:
    """The truth of the goal, of its conjuncts, and of each instance of those that begin with a quantifier."""
    parts = [
        {
            "text": " ".join(part.span.text.split()) if part.span is not None else formula_text(part),
            "truth": subject.truth(state, part),
            "instances": _instances(subject, state, part),
        }
        for part in conjuncts(goal)
    ]
    return {"truth": subject.truth(state, goal), "conjuncts": parts}


def _instances(subject: Subject, state: Any, part: Expr) -> list[dict[str, Any]]:
    if not isinstance(part, Quantified):
        return []
    types = [v.type for v in part.variables if isinstance(v.type, ObjectType)]
    if len(types) < len(part.variables):
        return []
    members = [subject.domain.hierarchy.members(type_, subject.universe) for type_ in types]
    found = []
    for objects in islice(product(*members), MOST_INSTANCES):
        named = zip(part.variables, objects, strict=True)
        by: dict[str, Expr] = {
            variable.name: Object(name, subject.universe[name]) for variable, name in named
        }
        truth = subject.truth(state, substitute(part.body, by))
        found.append({"objects": " ".join(objects), "truth": truth})
    return found
