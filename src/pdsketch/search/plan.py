"""`pdsketch.plan`: one door for problems and for models.

A problem without values or blanks is ground and searched over packed states.
Everything else is searched through a `Model`, in the latent space. What either
needs is imported only then, for torch takes a while.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, get_args, overload

from pdsketch.budget import apart
from pdsketch.lang.diagnostics import error
from pdsketch.lang.domain import Data, Domain, Fact, Problem
from pdsketch.lang.terms import Expr
from pdsketch.search.options import check_values, options_of
from pdsketch.search.result import Result
from pdsketch.task.fragment import classify

if TYPE_CHECKING:
    from pdsketch.search.keywords import ModelOptions, ProblemOptions
    from pdsketch.tensor.model import Model
    from pdsketch.tensor.states.state import State, StateBatch


@overload
def plan(
    target: Problem,
    state: Mapping[Fact, Data] | None = None,
    goal: str | Expr | None = None,
    **options: Unpack[ProblemOptions],
) -> Result: ...
@overload
def plan(
    target: Model | Domain, state: State, goal: str | Expr, **options: Unpack[ModelOptions]
) -> Result: ...
def plan(target: Any, state: Any = None, goal: Any = None, **options: Any) -> Result:
    """Find a plan: for a `Problem` as it stands, or for a `Model`, a state and a goal.

    - Problems: ``search`` is ``astar``, ``wastar``, ``gbfs`` or ``lazy-gbfs`` (the
      default); ``heuristic`` is ``blind``, ``goalcount``, ``max``, ``lmcut``, ``add`` or
      ``ff`` (the default). ``state`` (ground atoms to values) and ``goal`` (text) stand in
      for the problem's own. There is no time limit unless one is given.
    - Models, and problems with values: ``astar`` and ``opt`` are the defaults, and
      20 seconds; more options are those of `pdsketch.search.keywords.ModelOptions`.
      ``heuristic`` may also be a learned one: ``train_baseline("gnn", …)``.

    ``time_limit`` is in seconds, ``memory_limit`` in megabytes that the search
    may take (2000 unless given), ``max_expansions`` a number of nodes; ``weight`` is
    that of h in ``wastar``. ``costs``: actions cost what they say (True), or 1 each
    (False). A returned plan has been replayed.
    """
    check_values(options)
    given = _given(options, ("search", "heuristic", "time_limit", "memory_limit"))
    if isinstance(target, Problem):
        problem = _changed(target, state, goal, given.pop("costs", None))
        if classify(problem).classical:
            return _plan_classically(problem, given)
        target, state, goal = problem.domain, problem.state, problem.goal
        given["costs"] = problem.metric == "cost"
    if state is None or goal is None:
        raise error(
            "missing-argument", "a model is planned with from a state and a goal: plan(model, state, goal)"
        )
    with apart():
        from pdsketch.search.models import plan_models
        from pdsketch.tensor.model import Model
    model = Model(target) if isinstance(target, Domain) else target
    return plan_models(model, [state], [goal], given)[0]


def plan_many(
    model: Model,
    states: Sequence[State] | StateBatch,
    goals: Sequence[str | Expr] | str | Expr,
    **options: Unpack[ModelOptions],
) -> list[Result]:
    """Plan for many states at once, in shared batches; ``goals`` is one goal for all, or one for each.

    The options are those of `plan` with a model; ``time_limit=None`` lifts the limit of 20 seconds.
    """
    check_values(options)
    with apart():
        from pdsketch.search.models import plan_models
    return plan_models(model, states, goals, _given(options, ("search", "heuristic", "memory_limit")))


def _given(options: Mapping[str, Any], unset: Sequence[str]) -> dict[str, Any]:
    """The options without those for which None means that nothing was given."""
    return {name: value for name, value in options.items() if value is not None or name not in unset}


def _plan_classically(problem: Problem, given: Mapping[str, Any]) -> Result:
    with apart():
        from pdsketch.search.packed.engine import PackedOptions
        from pdsketch.search.packed.problem import plan_problem
    return plan_problem(problem, options_of(PackedOptions, given, "for a problem"))


def _changed(problem: Problem, state: Any, goal: Any, costs: bool | None) -> Problem:
    """The problem from another state, with another goal, or with other costs."""
    if goal is not None:
        if isinstance(goal, str):
            from pdsketch.lang.load import parse_goal

            goal = parse_goal(goal, problem)
        elif not isinstance(goal, get_args(Expr)):
            raise error("bad-goal", f"a goal is a formula, as text or checked; {goal!r:.40} is given")
        problem = replace(problem, goal=goal)
    if state is not None:
        if not isinstance(state, Mapping):
            raise error("bad-state", "a problem's state is a mapping from ground atoms to values")
        problem = replace(problem, init=dict(state))
    if costs is not None:
        problem = replace(problem, metric="cost" if costs else "unit")
    return problem
