"""`pdsketch.plan`: one door for problems and for models.

A problem without values or blanks is ground and searched over packed states
(here). Everything else is searched through a `Model`, in the latent space, by
``pdsketch.search.latent``, which is imported only then, for it needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pdsketch.budget import apart
from pdsketch.lang.diagnostics import did_you_mean, error
from pdsketch.lang.domain import Domain, Problem
from pdsketch.search.result import Result
from pdsketch.task.fragment import unsupported

_LATENT = "pdsketch.search.latent.plan"


def plan(
    target: Any,
    state: Any = None,
    goal: Any = None,
    *,
    search: str | None = None,
    heuristic: str | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    max_expansions: int | None = None,
    **options: Any,
) -> Result:
    """Find a plan: for a `Problem` as it stands, or for a `Model`, a state and a goal.

    - Problems: ``search`` is ``astar``, ``wastar``, ``gbfs`` or ``lazy-gbfs`` (the
      default); ``heuristic`` is ``blind``, ``goalcount``, ``max``, ``add`` or ``ff``
      (the default). ``state`` (ground atoms to values) and ``goal`` (text) stand in
      for the problem's own. There is no time limit unless one is given.
    - Models, and problems with values: ``astar`` and ``opt`` are the defaults, and
      20 seconds; see `pdsketch.search.latent` for more options.

    ``time_limit`` is in seconds, ``memory_limit`` in megabytes that the search
    may take (2000 unless given), ``max_expansions`` a number of nodes; ``weight`` is
    that of h in ``wastar``. A returned plan has been replayed.
    """
    limits = {
        "search": search,
        "heuristic": heuristic,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "max_expansions": max_expansions,
    }
    _check_limits({**limits, **options})
    if isinstance(target, Problem):
        problem = _changed(target, state, goal)
        if not needs_model(problem):
            return _packed(problem, {**_given(limits), **options})
        model = _imported("pdsketch.tensor.model").Model(problem.domain)
        options = {"costs": problem.metric == "cost", **options}
        return _latent("plan_model")(model, problem.state, problem.goal, **_given(limits), **options)  # type: ignore[no-any-return]
    if isinstance(target, Domain):
        target = _imported("pdsketch.tensor.model").Model(target)
    if state is None or goal is None:
        raise error(
            "missing-argument", "a model is planned with from a state and a goal: plan(model, state, goal)"
        )
    return _latent("plan_model")(target, state, goal, **_given(limits), **options)  # type: ignore[no-any-return]


def plan_many(model: Any, states: Sequence[Any], goals: Sequence[Any] | str, **options: Any) -> list[Result]:
    """Plan for many states at once, in shared batches; ``goals`` is one goal for all, or one for each.

    The options are those of `plan` with a model; ``time_limit=None`` lifts the limit of 20 seconds.
    """
    _check_limits(options)
    unset = [name for name in ("search", "heuristic", "memory_limit") if options.get(name, "") is None]
    options = {name: value for name, value in options.items() if name not in unset}
    return _latent("plan_models")(model, states, goals, **options)  # type: ignore[no-any-return]


def needs_model(problem: Problem) -> bool:
    """Whether a problem is searched through a `Model`: it has blanks, or more than grounding covers.

    Numbers that no action changes (distances, costs) are left to grounding.
    """
    roles = {predicate.role for predicate in problem.domain.predicates.values()}
    return bool(problem.domain.blanks or roles & {"external", "encoded", "raw"} or unsupported(problem))


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _packed(problem: Problem, options: dict[str, Any]) -> Result:
    """Plan for an ordinary problem."""
    # numba takes a while to import: only when it is needed.
    planning = _imported("pdsketch.search.packed.problem")

    known = (
        "search",
        "heuristic",
        "weight",
        "memory_limit",
        "max_expansions",
        "costs",
        "time_limit",
        "watch",
    )
    for name in options:
        if name not in known:
            raise error(
                "unknown-option",
                f"planning for a problem has no option `{name}`",
                help=did_you_mean(name, known),
            )
    own = {name: options.pop(name, None) for name in ("time_limit", "memory_limit", "watch")}
    return planning.plan_problem(problem, planning.Options(**options), **own)  # type: ignore[no-any-return]


def _check_limits(limits: Mapping[str, Any]) -> None:
    for name in ("time_limit", "memory_limit", "max_expansions", "weight"):
        value = limits.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise error("bad-limit", f"`{name}` is a number and not negative; {value!r} is given")


def _changed(problem: Problem, state: Any, goal: Any) -> Problem:
    """The problem from another state or with another goal."""
    if goal is not None:
        if isinstance(goal, str):
            goal = import_module("pdsketch.lang.load").parse_goal(goal, problem)
        problem = replace(problem, goal=goal)
    if state is not None:
        if not isinstance(state, Mapping):
            raise error("bad-state", "a problem's state is a mapping from ground atoms to values")
        problem = replace(problem, init=dict(state))
    return problem


def _latent(name: str) -> Callable[..., Any]:
    """A function of the latent search, if that is there."""
    if find_spec(_LATENT) is None:
        raise error("not-yet", "searching in the latent space of a model is not built yet")
    return getattr(_imported(_LATENT), name)  # type: ignore[no-any-return]


def _imported(module: str) -> Any:
    """A module; the time and the memory that its import takes are not the call's."""
    with apart():
        return import_module(module)
