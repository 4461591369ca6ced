"""One random case: a sample, what there is to know about it, and how a difference is told."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any
from zlib import crc32

from tests.agree.graph import Facts, Graph, explore
from tests.strategies.sample import Sample

from pdsketch.lang.diagnostics import Error
from pdsketch.lang.load import parse_goal
from pdsketch.lang.semantics import EvaluationContext
from pdsketch.lang.terms import Expr
from pdsketch.task.fragment import classify


class DifferError(Exception):
    """Two engines answer one question differently."""

    def __init__(self, engine: str, question: str, wanted: Any, found: Any) -> None:
        super().__init__(f"{engine}, {question}: the reference says {wanted}, and this says {found}")
        self.engine = engine


@dataclass(frozen=True, eq=False)
class Case:
    """A sample of a kind. All that a check chooses hangs on the sample's text, so that it can be repeated."""

    kind: str
    sample: Sample
    limit: int

    @cached_property
    def graph(self) -> Graph:
        """The states of the problem, at most ``limit`` of them expanded."""
        return explore(self.sample, self.limit)

    @cached_property
    def chance(self) -> Random:
        """Choices that the check makes; they do not hang on the layout of the text."""
        text = self.sample.domain_text + self.sample.problem_text
        return Random(crc32("".join(text.split()).encode()))

    @cached_property
    def moments(self) -> list[EvaluationContext]:
        """The expanded states, to be asked."""
        return [
            EvaluationContext(self.sample.world, facts) for facts in self.graph.states[: self.graph.expanded]
        ]

    @cached_property
    def formulas(self) -> list[tuple[str, Expr]]:
        """The goal and the other formulas, each with its text."""
        found = [(text, parse_goal(text, self.sample.problem)) for text in self.sample.formulas]
        return [("the goal", self.sample.problem.goal), *found]

    @cached_property
    def has_values(self) -> bool:
        """Whether some values are numbers or vectors, so that soft comparisons are only nearly crisp."""
        return any(not p.type.is_bool for p in self.sample.domain.predicates.values())

    @cached_property
    def has_model_values(self) -> bool:
        """Whether planning needs a `Model`: values change, or something is blank."""
        return not classify(self.sample.problem).classical

    def again(self) -> Case:
        """The case with all its choices still to be made."""
        fresh = replace(self)
        fresh.__dict__["graph"] = self.graph
        return fresh

    def state(self, facts: Facts) -> Any:
        """A tensor state of the problem with these facts."""
        return replace(self.sample.problem, init=facts).state


def said(ask: Callable[[], Any]) -> Any:
    """What the reference says; None where it refuses (division by zero, assignments that disagree)."""
    try:
        return ask()
    except Error:
        return None


def near(a: float | None, b: float | None) -> bool:
    """Whether two costs are one, sums in different orders allowed for."""
    if a is None or b is None:
        return a is b
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
