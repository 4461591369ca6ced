"""The heuristics of models by name: one registry for planning, policies, the command line and reasons.

Those of ordinary problems are kernels, in `pdsketch.heuristics.registry`. What needs torch is imported when
a heuristic is made, so that names can be listed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pdsketch.extras import HEURISTICS, missing, not_installed, offered
from pdsketch.heuristics import NAMES, unknown_heuristic

if TYPE_CHECKING:
    from pdsketch.abstract import Abstraction, Compile, Values
    from pdsketch.lang import Expr, ObjectType
    from pdsketch.search.latent.heuristics import Searched, StateHeuristic
    from pdsketch.tensor import Model, StateBatch

Factory = Callable[["Searched"], "StateHeuristic"]
"""Makes a heuristic for the problems of a search."""


@runtime_checkable
class HeuristicSource(Protocol):
    """An object that is given instead of a name: a learned heuristic, say."""

    def for_search(self, searched: Searched) -> StateHeuristic:
        """The heuristic for the problems of a search."""


def over(compile_goal: Compile, heuristic: str = "ff", *, of_state: bool = False) -> Factory:
    """A heuristic of tasks, on what a compiler makes of each goal, and of the initial state if it asks."""

    def make(searched: Searched) -> StateHeuristic:
        from pdsketch.search.latent.heuristics import AbstractionHeuristic

        return AbstractionHeuristic(searched, compile_goal, heuristic, of_state=of_state)

    return make


def _optimistic(
    model: Model, objects: Mapping[str, ObjectType], goal: Expr, state: StateBatch, values: Values
) -> Abstraction:
    from pdsketch.abstract import compile_optimistic

    del state, values
    return compile_optimistic(model.domain, objects, goal)


def _and_or(
    model: Model, objects: Mapping[str, ObjectType], goal: Expr, state: StateBatch, values: Values
) -> Abstraction:
    from pdsketch.abstract import compile_and_or

    return compile_and_or(model, objects, goal, state, values)


def _blind(searched: Searched) -> StateHeuristic:
    from pdsketch.search.latent.heuristics import Blind

    return Blind(searched)


def _goal_count(searched: Searched) -> StateHeuristic:
    from pdsketch.search.latent.goal_count import GoalCount

    return GoalCount(searched)


def _goal_orders(searched: Searched) -> StateHeuristic:
    from pdsketch.search.latent.goal_count import GoalCount

    return GoalCount(searched, ordered=True)


MODEL_HEURISTICS: dict[str, Factory] = {
    "opt": over(_optimistic, "ff"),
    "ff": over(_optimistic, "ff"),
    "add": over(_optimistic, "add"),
    "max": over(_optimistic, "max"),
    "ao": over(_and_or, "ff", of_state=True),
    "ao-add": over(_and_or, "add", of_state=True),
    "ao-max": over(_and_or, "max", of_state=True),
    "goalcount": _goal_count,
    "goalorder": _goal_orders,
    "blind": _blind,
}
"""The default first."""


def given_heuristic(given: Any) -> Any:
    """What was given; of a text ``NAME:REST``, what another package's ``NAME`` makes of the rest.

    These are the entry points of the group ``pdsketch.heuristics``: ``gnn:FOLDER`` is a network of
    `pdsketch_paper`, once that is installed.
    """
    name, colon, rest = given.partition(":") if isinstance(given, str) else ("", "", "")
    if not colon:
        return given
    if name in offered(HEURISTICS):
        return offered(HEURISTICS)[name].load()(rest)
    if name in missing(HEURISTICS):
        raise not_installed(f"the heuristic `{name}`")
    known = [*MODEL_HEURISTICS, *(f"{other}:…" for other in offered(HEURISTICS))]
    raise unknown_heuristic(given, known, "models")


def find_model_heuristic(name: object) -> Factory:
    """The heuristic of that name, or that an object makes; an `Error` that lists them if there is none."""
    if isinstance(name, HeuristicSource):
        return name.for_search
    if not isinstance(name, str) or name not in MODEL_HEURISTICS:
        raise unknown_heuristic(name, MODEL_HEURISTICS, "models")
    return MODEL_HEURISTICS[name]


def heuristics_help() -> str:
    """All heuristics in a line, for the command line."""
    return f"{_listed(NAMES)}; with a model: {model_heuristics_help()}"


def model_heuristics_help() -> str:
    """The heuristics of models in a line."""
    return f"{_listed(MODEL_HEURISTICS)}; NAME:… of another package, such as gnn:DIR"


def _listed(names: Iterable[str]) -> str:
    first, *rest = names
    return ", ".join([f"{first} (default)", *rest])
