"""The options of `plan`, `plan_many` and `Policy`, for type checkers and editors.

At run time they are the fields of `SearchOptions` and of the options of the two searches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from pdsketch.lang import Step
from pdsketch.search.heuristics import HeuristicSource
from pdsketch.search.options import ModelSearch, Search, Watch
from pdsketch.search.result import Trace

if TYPE_CHECKING:
    from pdsketch.tensor import Model, State

Generator = Callable[["Model", "State", int], Any]
"""``generator(model, state, round)`` returns values ``[n, *shape]``."""

Sampler = Callable[..., Any]
"""``sampler(model, state, *objects)`` returns values ``[n, *shape]`` for a parameter, given the objects."""

Sources = Literal["all", "generators"]
"""Where candidates come from: also every value of the type in the state, or only what is proposed."""


class SharedOptions(TypedDict, total=False):
    """What every search takes; None is the default, and of ``time_limit`` in `plan_many`: none.

    ``time_limit`` is in seconds, ``memory_limit`` in megabytes, ``max_expansions`` a number of nodes,
    ``weight`` that of h in ``wastar``. ``costs``: actions cost what they say, or 1 each; by default, what
    the problem's metric says, and of models, whether some action says what it costs. ``watch`` is called
    now and then with a `SearchProgress`, ``trace`` with the nodes that were met (`pdsketch.search.result`).
    """

    heuristic: str | HeuristicSource | None
    time_limit: float | None
    memory_limit: float | None
    max_expansions: int | None
    weight: float
    costs: bool | None
    watch: Watch | None
    trace: Trace | None


class _ModelOptions(SharedOptions, total=False):
    k: int | None
    max_depth: int | None
    snap: bool
    resolution: float | None
    generators: Mapping[str, Generator]
    samplers: Mapping[str, Sampler]
    candidates: Sources
    refused: frozenset[Step]
    confidence: float


class ModelOptions(_ModelOptions, total=False):
    """What planning with a model takes.

    ``k`` nodes are expanded together; None: as many as pay. ``max_depth`` bounds the length of plans.
    ``snap`` rounds floats to their codes after each step; ``resolution`` is how finely they are told apart.
    ``generators`` propose values for value parameters, by the name of their type; ``samplers`` for one of
    them, ``"move-to.?p"``, given the objects beside it. ``candidates="generators"``: only what is proposed,
    and not every value in the state. ``refused`` are not tried as a first step. ``confidence``: what the
    truth of goals, preconditions and gates must lie above (0.5).
    """

    search: ModelSearch | None


class ProblemOptions(_ModelOptions, total=False):
    """What planning for a problem takes.

    Problems with values are planned for with a model, and take its searches and all of its options. The
    others take ``search="lazy-gbfs"``, the shared options and ``heuristic_costs``: what the heuristic reads,
    the costs themselves or each plus one.
    """

    search: Search | ModelSearch | None
    heuristic_costs: Literal["own", "plus-one"]
