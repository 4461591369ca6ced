"""What both searches are asked: the shared options, and what is wrong with those that were given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any, Final, Literal, TypeVar, get_args

from pdsketch.budget import DEFAULT_MEGABYTES, Budget, current
from pdsketch.lang import dataclass, did_you_mean, error
from pdsketch.search.heuristics import HeuristicSource
from pdsketch.search.result import SearchProgress, Trace

LatentSearch = Literal["astar", "wastar", "gbfs"]
ModelSearch = Literal["portfolio", LatentSearch, "abstract"]
Search = Literal[LatentSearch, "lazy-gbfs"]

MODEL_SEARCHES: Final[tuple[ModelSearch, ...]] = get_args(ModelSearch)
SEARCHES: Final[tuple[Search, ...]] = get_args(Search)


def model_searches_help() -> str:
    """The searches of models in a line."""
    first, *rest = MODEL_SEARCHES
    return ", ".join([f"{first} (default)", *rest])


DEFAULT_WEIGHT: Final = 5.0
"""Of h in weighted A*, as in LAMA's first weighted search (Richter & Westphal 2010)."""

Watch = Callable[[SearchProgress], None]
"""Called now and then while a search runs."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search, and how far.

    ``time_limit`` is in seconds, ``memory_limit`` in megabytes from now on, ``weight`` is that of h in
    ``wastar``.
    """

    search: Search | ModelSearch
    heuristic: str | HeuristicSource
    time_limit: float | None = None
    memory_limit: float = DEFAULT_MEGABYTES
    max_expansions: int | None = None
    weight: float = DEFAULT_WEIGHT
    watch: Watch | None = None
    trace: Trace | None = None

    def budget(self, outer: Budget | None = None) -> Budget:
        """The budget of a call, within an outer one: the current one unless another is given."""
        return (outer or current()).narrowed(self.time_limit, self.memory_limit)


Chosen = TypeVar("Chosen", bound=SearchOptions)


def options_of(kind: type[Chosen], given: Mapping[str, Any], planning: str) -> Chosen:
    """The options that were given; ``planning`` says what they are for where there is none of such a name."""
    known = [field.name for field in fields(kind)]
    for name in given:
        if name not in known:
            raise error(
                "unknown-option",
                f"planning {planning} has no option `{name}`",
                help=did_you_mean(name, known),
            )
    return kind(**given)


def check_search(name: object, known: Collection[str], whose: str) -> None:
    """Refuse a name that is none of the searches "for problems" or "for models"."""
    if name not in known:
        listed = ", ".join(f"`{other}`" for other in known)
        raise error(
            "unknown-search",
            f"there is no search `{name}` for {whose}; known are {listed}",
            help=did_you_mean(str(name), known),
        )


def check_values(given: Mapping[str, Any]) -> None:
    """Refuse limits that are no numbers, and costs that are neither true nor false."""
    for name in ("time_limit", "memory_limit", "max_expansions", "weight"):
        value = given.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise error("bad-limit", f"`{name}` is a number and not negative; {value!r} is given")
    costs = given.get("costs")
    if costs is not None and not isinstance(costs, bool):
        raise error(
            "bad-option",
            f"`costs` is True (actions cost what they say) or False (each costs 1); {costs!r:.40} is given",
            help="leave it out to go by the problem's metric, or by the model's domain",
        )
