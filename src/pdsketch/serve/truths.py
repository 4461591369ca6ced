"""How true a goal is in a state, part by part and object by object, as the page shows it."""

from __future__ import annotations

from typing import Any

from pdsketch.lang import Expr, parts_of
from pdsketch.serve.subjects import Subject


def truths(subject: Subject, state: Any, goal: Expr) -> dict[str, Any]:
    """The truth of the goal, of its conjuncts, and of each instance of those that begin with a quantifier."""
    parts = parts_of(goal, subject.domain, subject.universe, lambda part: subject.truth(state, part))
    return {
        "truth": subject.truth(state, goal),
        "conjuncts": [
            {
                "text": part.text,
                "truth": part.truth,
                "instances": [{"objects": " ".join(objects), "truth": t} for objects, t in part.instances],
            }
            for part in parts
        ],
    }
