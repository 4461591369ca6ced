"""`pdsketch.explain`: why a goal is as true as a model says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch

from pdsketch.lang import Expr, GoalPart, error, formula_text, parse_goal, parts_of
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """How true a goal is, part by part, and what the answer rests on that no blank was trained near."""

    goal: str
    truth: float
    parts: tuple[GoalPart, ...]
    outside: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.truth:.3f}  {self.goal}"]
        for part in self.parts:
            lines.append(f"  {part.truth:.3f}  {part.text}")
            lines += [f"    {truth:.3f}  {' '.join(objects)}" for objects, truth in part.instances]
        return "\n".join([*lines, *self.outside])


@torch.no_grad()
def explain(model: Model, state: State, goal: str | Expr) -> Explanation:
    """How true a goal is in a state: the whole, its conjuncts, and for ``forall`` and ``exists`` each object.

    >>> print(pds.explain(model, state, "(forall (?l - lamp) (lit ?l))"))
    0.020  (forall (?l - lamp) (lit ?l))
      0.020  (forall (?l - lamp) (lit ?l))
        0.991  lamp0
        0.020  lamp1
    """
    if not isinstance(model, Model):
        raise error("bad-model", f"a Model is explained; a {type(model).__name__} was given")
    if not isinstance(state, State):
        raise error("bad-state", f"a State was wanted, and a {type(state).__name__} was given")
    known = dict(state.universe)
    checked = parse_goal(goal, model.domain, known) if isinstance(goal, str) else goal

    def truth(formula: Expr) -> float:
        return float(model.holds(state, formula))

    text = " ".join(goal.split()) if isinstance(goal, str) else formula_text(goal)
    parts = parts_of(checked, model.domain, known, truth)
    return Explanation(text, truth(checked), parts, model.outside(state, checked))
