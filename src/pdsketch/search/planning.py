"""`pdsketch.plan` and `pdsketch.validate`: one door for problems and for models.

A problem without values or blanks is ground and searched over packed states.
Everything else is searched through a `Model`, in the latent space. What either
needs is imported only then, for torch takes a while.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, get_args, overload

from pdsketch.budget import apart
from pdsketch.lang import (
    Data,
    Diagnostic,
    Domain,
    Error,
    Expr,
    Fact,
    Problem,
    Source,
    Step,
    Verdict,
    conjuncts,
    error,
    formula_text,
    read_plan,
    resolve,
    show_atom,
    validate as validate_exactly,
)
from pdsketch.progress import Ticker
from pdsketch.search.options import UNSET, problem_options
from pdsketch.search.result import Result
from pdsketch.task import classify

if TYPE_CHECKING:
    from pdsketch.search.options import ModelOptions, ProblemOptions
    from pdsketch.tensor import Model, State, StateBatch


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

    - Problems without values: ``search`` is ``lazy-gbfs`` (the default), ``gbfs``, ``wastar`` or ``astar``;
      ``heuristic`` is ``ff`` (the default), ``add``, ``max``, ``lmcut``, ``goalcount`` or ``blind``.
      ``state`` (ground atoms to values) and ``goal`` (text) stand in for the problem's own. There is no
      time limit unless one is given.
    - Models, and problems with values: ``search`` is ``portfolio`` (the default, the library's strategy),
      ``astar``, ``wastar``, ``gbfs`` or ``abstract``. The strategy plans by the model's rules over codes,
      with half of what may be spent, then in the model itself; ``result.stages`` says how that went. A
      ``heuristic`` that is named without a search means A* with it. It may also be a `HeuristicSource`, or
      ``NAME:…`` of another package. ``k``, 1 unless given, is how many nodes are expanded together. The time
      limit is 20 seconds unless given; None lifts it.

    ``time_limit`` is in seconds, ``memory_limit`` in megabytes that the search may take (2000 unless given),
    ``max_expansions`` a number of nodes; ``weight`` is that of h in ``wastar`` (5). ``costs``: actions cost
    what they say (True), or 1 each (False). More options are those of `pdsketch.search.options.PlanOptions`.
    A returned plan has been replayed.
    """
    with Ticker("planning") as tick:
        return _planned(target, state, goal, _given(options, tick))


def _planned(target: Any, state: Any, goal: Any, given: dict[str, Any]) -> Result:
    if isinstance(target, Problem):
        problem = _changed(target, state, goal, given.get("costs"))
        if classify(problem).classical:
            return _plan_classically(problem, given)
        target, state, goal = problem.domain, problem.state, problem.goal
        if given.get("costs") is None:
            given["costs"] = problem.metric == "cost"
    if state is None or goal is None:
        raise error(
            "missing-argument", "a model is planned with from a state and a goal: plan(model, state, goal)"
        )
    with apart():
        from pdsketch.search.strategy import plan_models
        from pdsketch.tensor import Model
    model = Model(target) if isinstance(target, Domain) else target
    return plan_models(model, [state], [goal], given)[0]


@overload
def validate(
    target: Problem,
    plan: Sequence[Step] | str,
    state: Mapping[Fact, Data] | None = None,
    goal: str | Expr | None = None,
) -> Verdict: ...
@overload
def validate(
    target: Model | Domain, plan: Sequence[Step] | str, state: State, goal: str | Expr
) -> Verdict: ...
def validate(target: Any, plan: Any, state: Any = None, goal: Any = None) -> Verdict:
    """Say whether a plan leads to the goal, what it costs, and if it does not, which step fails and why.

    For a ``target`` that is a `Problem`, the exact semantics replays the plan; ``state`` and ``goal`` stand
    in for the problem's own. For a `Model`, from a ``state`` to a ``goal``, the model does: the truth of
    each precondition and of the goal must be above 0.5, and each step costs 1. ``plan`` is a list of steps,
    as `plan` returns it, or the text of a plan file. A plan that is not valid is no error; text that holds
    no steps is one.
    """
    if isinstance(target, Problem):
        problem = _changed(target, state, goal, None)
        return validate_exactly(problem, _steps(plan, problem.universe))
    if state is None or goal is None:
        raise error(
            "missing-argument", "a model replays from a state to a goal: validate(model, plan, state, goal)"
        )
    with apart():
        from pdsketch.tensor import Model
    model = Model(target) if isinstance(target, Domain) else target
    if not isinstance(model, Model):
        found = type(target).__name__
        raise error("bad-model", f"a plan is validated for a Problem or a Model, and a {found} was given")
    return _by_model(model, plan, state, goal)


def _steps(plan: Any, objects: Mapping[str, Any]) -> list[Step]:
    """The steps of a plan that is given as such, or as text."""
    if isinstance(plan, str):
        return read_plan(Source("<plan>", plan), objects)
    if not isinstance(plan, Sequence):
        raise error("bad-plan", f"a plan is a list of steps, or text, and a {type(plan).__name__} was given")
    return list(plan)


def _by_model(model: Model, plan: Any, state: State, goal: str | Expr) -> Verdict:
    """The verdict of a model."""
    with apart():
        import torch

        from pdsketch.search.strategy import checked_goals, checked_states
    (state,) = checked_states(model, [state])
    (wanted,) = checked_goals(model, [state], [goal])
    cost = 0.0
    with torch.no_grad():
        for index, written in enumerate(_steps(plan, state.universe)):
            try:
                step = resolve(model.domain, state.universe, written)
                truth = float(model.applicable(state, step, crisp=True))
                state = model.step(state, step, crisp=True) if truth > 0.5 else state
            except Error as refused:
                return Verdict(False, cost, index, replace(refused.diagnostics[0], span=None))
            if truth <= 0.5:
                said = (
                    f"step {index + 1}, {show_atom(step)}: the model says that its precondition does not hold"
                )
                return Verdict(False, cost, index, Diagnostic("not-applicable", said))
            cost += 1
        for part in conjuncts(wanted):
            if float(model.holds(state, part, crisp=True)) <= 0.5:
                words = formula_text(part) if part.span is None else " ".join(part.span.text.split())
                said = f"the model says that the goal does not hold: `{words}` is false"
                return Verdict(False, cost, None, Diagnostic("goal-not-reached", said, part.span))
    return Verdict(True, cost)


def plan_many(
    model: Model,
    states: Sequence[State] | StateBatch,
    goals: Sequence[str | Expr] | str | Expr,
    **options: Unpack[ModelOptions],
) -> list[Result]:
    """Plan for many states at once, in shared batches; ``goals`` is one goal for all, or one for each.

    The options are those of `plan` with a model.
    """
    with apart():
        from pdsketch.search.strategy import plan_models
    with Ticker("planning") as tick:
        return plan_models(model, states, goals, _given(options, tick))


def _given(options: Mapping[str, Any], tick: Ticker) -> dict[str, Any]:
    """The options without those for which None means that nothing was given; ``tick`` hears of the search."""
    given = {name: value for name, value in options.items() if value is not None or name not in UNSET}
    if tick.visible and given.get("watch") is None:
        given["watch"] = lambda progress: tick(str(progress))
    return given


def _plan_classically(problem: Problem, given: Mapping[str, Any]) -> Result:
    with apart():
        from pdsketch.search.packed.problem import plan_problem
    return plan_problem(problem, problem_options(**given))


def _changed(problem: Problem, state: Any, goal: Any, costs: bool | None) -> Problem:
    """The problem from another state, with another goal, or with other costs."""
    if goal is not None:
        if isinstance(goal, str):
            from pdsketch.lang import parse_goal

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
