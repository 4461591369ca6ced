"""What the page is about: a problem by its reference semantics, or a model with a state.

Both answer the same questions: what is so in a state, how true a formula is there,
what a step leads to, and what a plan is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, final

from pdsketch.lang import (
    Data,
    Domain,
    Expr,
    Fact,
    ObjectType,
    Problem,
    StaticContext,
    Step,
    applicable,
    apply,
    evaluate,
)
from pdsketch.search import MODEL_SEARCHES, SEARCHES, Result, plan

if TYPE_CHECKING:
    from pdsketch.tensor import Model, State

_TO_EXPLAIN: Final = 2.0
"""Seconds that the reason for a dead end may take: a reader waits for it."""


class Subject(Protocol):
    """A domain with objects and an initial state; states are whatever it makes them."""

    domain: Domain
    universe: Mapping[str, ObjectType]
    searches: tuple[str, ...]
    start: Any

    def encoded(self, state: Any) -> Any:
        """An observed state with the variables that are computed from observations."""

    def facts(self, state: Any) -> Mapping[Fact, Data]:
        """The ground atoms of a state; Booleans that are false are left out."""

    def truth(self, state: Any, formula: Expr) -> float:
        """How true a closed formula is."""

    def step(self, state: Any, step: Step) -> Any:
        """The state that is predicted after a step."""

    def applicable(self, state: Any, step: Step) -> float:
        """How true the precondition of a step is."""

    def plan(self, goal: Expr, options: Mapping[str, Any]) -> Result:
        """Plan from the initial state."""

    def steps(self, goal: Expr) -> Sequence[Step]:
        """The ground actions of a search that has no node for successors that were met before; else none."""

    def why_dead(self, state: Any, goal: Expr) -> Sequence[str]:
        """Why there is no way from a state to a goal, as far as that can be told."""


@final
class ProblemSubject:
    """A problem without values or blanks."""

    searches: tuple[str, ...] = SEARCHES

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.domain = problem.domain
        self.universe = problem.universe
        self.start: Mapping[Fact, Data] = dict(problem.init)
        self._context = StaticContext.of(problem)

    def encoded(self, state: Mapping[Fact, Data]) -> Mapping[Fact, Data]:
        """See `Subject`."""
        return state

    def facts(self, state: Mapping[Fact, Data]) -> Mapping[Fact, Data]:
        """See `Subject`."""
        return {fact: value for fact, value in state.items() if value is not False}

    def truth(self, state: Mapping[Fact, Data], formula: Expr) -> float:
        """See `Subject`."""
        return float(evaluate(self._context, state, formula))

    def step(self, state: Mapping[Fact, Data], step: Step) -> Mapping[Fact, Data]:
        """See `Subject`."""
        return apply(self._context, state, step)

    def applicable(self, state: Mapping[Fact, Data], step: Step) -> float:
        """See `Subject`."""
        return float(applicable(self._context, state, step))

    def plan(self, goal: Expr, options: Mapping[str, Any]) -> Result:
        """See `Subject`."""
        return plan(self.problem, goal=goal, **options)

    def steps(self, goal: Expr) -> Sequence[Step]:
        """See `Subject`."""
        from pdsketch.task import ground

        return ground(replace(self.problem, goal=goal)).operators

    def why_dead(self, state: Mapping[Fact, Data], goal: Expr) -> Sequence[str]:
        """See `Subject`."""
        asked = replace(self.problem, init=dict(state), goal=goal)
        found = plan(asked, max_expansions=1, time_limit=_TO_EXPLAIN)
        return found.reasons if found.status == "unsolvable" else ()


@final
class ModelSubject:
    """A model, trained or not, and a state."""

    searches: tuple[str, ...] = MODEL_SEARCHES

    def __init__(self, model: Model, state: State) -> None:
        self.model = model
        self.domain = model.domain
        self.universe = state.universe
        self._observed = state
        self.start = self.encoded(state)

    def encoded(self, state: State) -> State:
        """See `Subject`."""
        import torch

        with torch.no_grad():
            return self.model.encode(state, crisp=True)

    def facts(self, state: State) -> Mapping[Fact, Data]:
        """See `Subject`."""
        from pdsketch.tensor import facts_of

        return dict(facts_of(state.crisp()))

    def truth(self, state: State, formula: Expr) -> float:
        """See `Subject`."""
        import torch

        with torch.no_grad():
            return float(self.model.holds(state, formula))

    def step(self, state: State, step: Step) -> State:
        """See `Subject`."""
        import torch

        with torch.no_grad():
            return self.model.step(state, step, crisp=True)

    def applicable(self, state: State, step: Step) -> float:
        """See `Subject`."""
        import torch

        with torch.no_grad():
            return float(self.model.applicable(state, step))

    def plan(self, goal: Expr, options: Mapping[str, Any]) -> Result:
        """See `Subject`."""
        import warnings

        from pdsketch.search import UntrainedWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UntrainedWarning)
            return plan(self.model, self._observed, goal, **options)

    def steps(self, goal: Expr) -> Sequence[Step]:
        """See `Subject`."""
        return ()

    def why_dead(self, state: State, goal: Expr) -> Sequence[str]:
        """See `Subject`."""
        return ()


def subject_of(problem: Problem, model: Model | None = None) -> Subject:
    """The problem itself where it is classical, else through a model: the one given, or a fresh one."""
    from pdsketch.task import classify

    if model is None:
        if classify(problem).classical:
            return ProblemSubject(problem)
        from pdsketch.tensor import Model

        model = Model(problem.domain, seed=0)
    return ModelSubject(model, problem.state)
