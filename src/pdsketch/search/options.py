"""The options of planning: what they are, for problems and for models, and what is wrong with those given.

`PlanOptions` declares each of them; its defaults are those of models, and `PROBLEM` has those of problems.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, final, get_args

from pdsketch.budget import DEFAULT_MEGABYTES, Budget, current
from pdsketch.heuristics import NAMES, unknown_heuristic
from pdsketch.lang import Domain, ValueType, dataclass, did_you_mean, error
from pdsketch.options import Check, at_least, checked, not_negative, number, one_of, option
from pdsketch.search.heuristics import HeuristicSource, find_model_heuristic, given_heuristic
from pdsketch.search.result import SearchProgress, Trace

if TYPE_CHECKING:
    from pdsketch.search.memory import Memory
    from pdsketch.tensor import Model, State

LatentSearch = Literal["astar", "wastar", "gbfs"]
ModelSearch = Literal["portfolio", LatentSearch, "abstract"]
Search = Literal[LatentSearch, "lazy-gbfs"]

MODEL_SEARCHES: Final[tuple[ModelSearch, ...]] = get_args(ModelSearch)
SEARCHES: Final[tuple[Search, ...]] = get_args(Search)

Watch = Callable[[SearchProgress], None]
"""Called now and then while a search runs."""

Generator = Callable[["Model", "State", int], Any]
"""``generator(model, state, round)`` returns values ``[n, *shape]``."""

Sampler = Callable[..., Any]
"""``sampler(model, state, *objects)`` returns values ``[n, *shape]`` for a parameter, given the objects."""

Sources = Literal["all", "generators"]
"""Where candidates come from: also every value of the type in the state, or only what is proposed."""

HeuristicCosts = Literal["own", "plus-one"]
"""What the heuristic of a problem reads: the costs themselves, or each plus one."""

UNSET: Final = ("search", "heuristic", "memory_limit", "k")
"""Options for which None means that nothing was given."""


def _is_margin(value: Any) -> bool:
    numbers = [*value.values()] if isinstance(value, Mapping) else [value]
    return all(isinstance(n, int | float) and not isinstance(n, bool) and 0 <= n < inf for n in numbers)


_LIMIT: Final = not_negative("bad-limit")


@final
@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How to plan, and how far; the defaults are those of planning with a model."""

    search: Search | ModelSearch = option("portfolio", "`portfolio`, `astar`, `wastar`, `gbfs` or `abstract`")
    heuristic: str | HeuristicSource | None = option(
        None, "what guides the search; unless given, the portfolio's own, and `opt` in other searches"
    )
    k: int = option(
        1, "how many nodes are expanded together; 1 is textbook search", at_least(1, "bad-limit"), of="model"
    )
    weight: float = option(5.0, "w of `wastar`, which orders nodes by g + w·h", _LIMIT)
    time_limit: float | None = option(
        20.0, "seconds by the clock; of problems without values, none unless given", _LIMIT
    )
    memory_limit: float = option(DEFAULT_MEGABYTES, "megabytes that planning may take", _LIMIT)
    max_expansions: int | None = option(None, "nodes to expand for one problem", replace(_LIMIT, read=int))
    max_depth: int | None = option(None, "actions in a plan, at most", at_least(0, "bad-limit"), of="model")
    snap: bool = option(False, "round floats to their codes after each step", of="model")
    resolution: float | None = option(
        None,
        "floats that agree in steps of this size are the same to the search; else the codes of `fit`",
        number("above 0", lambda size: size > 0, "bad-limit"),
        of="model",
    )
    confidence: float = option(
        0.5,
        "what the truth of goals, preconditions and gates must lie above; less where there is no such plan",
        number("from 0.5 on and below 1", lambda truth: 0.5 <= truth < 1),
        of="model",
    )
    margin: float | Mapping[str, float] | None = option(
        None,
        "how far numbers may come out from what is predicted with the plan still good: one, or by predicate; "
        "None: as `fit` measured",
        Check("a number that is not negative, or numbers by predicate", _is_margin, float, code="bad-limit"),
        of="model",
    )
    threads: int | None = option(
        None,
        "how many problems are searched at a time in abstractions; None: as many as there are processors",
        at_least(1, "bad-limit"),
        of="model",
    )
    candidates: Sources = option(
        "all", "`generators`: values of the state are not tried for parameters", one_of(Sources), of="model"
    )
    generators: Mapping[str, Generator] = option(
        dict, 'values for parameters of a type, in rounds: `{"pose": fn}`', of="model"
    )
    samplers: Mapping[str, Sampler] = option(
        dict, 'values for a parameter, given the objects beside it: `{"move-to.?p": fn}`', of="model"
    )
    memories: Sequence[Memory | None] = option(
        tuple, "what acting has shown, of each problem: `Policy` keeps it", of="model"
    )
    costs: bool | None = option(
        None, "whether actions cost what they say, or 1 each; unless given, as the problem or the domain says"
    )
    heuristic_costs: HeuristicCosts = option(
        "own", "`plus-one`: the heuristic counts free actions, too", one_of(HeuristicCosts), of="problem"
    )
    watch: Watch | None = option(None, "a function that gets a `SearchProgress` about once a second")
    trace: Trace | None = option(None, "a function that gets the nodes of the search while it runs")

    def budget(self, outer: Budget | None = None) -> Budget:
        """The budget of a call, within an outer one: the current one unless another is given."""
        return (outer or current()).narrowed(self.time_limit, self.memory_limit)


# begin: _PlanOptions, written by `make options`
class _PlanOptions(TypedDict, total=False):
    """What is common to both kinds of planning."""

    heuristic: str | HeuristicSource | None
    k: int | None
    weight: float
    time_limit: float | None
    memory_limit: float | None
    max_expansions: int | None
    max_depth: int | None
    snap: bool
    resolution: float | None
    confidence: float
    margin: float | Mapping[str, float] | None
    threads: int | None
    candidates: Sources
    generators: Mapping[str, Generator]
    samplers: Mapping[str, Sampler]
    memories: Sequence[Memory | None]
    costs: bool | None
    watch: Watch | None
    trace: Trace | None


# end: _PlanOptions


class ModelOptions(_PlanOptions, total=False):
    """The options of planning with a model, for type checkers and editors; see `PlanOptions`."""

    search: ModelSearch | None


class ProblemOptions(_PlanOptions, total=False):
    """The same of problems. Those with values are planned for with a model, and take its options.

    The others take the options that are not of models alone.
    """

    search: Search | ModelSearch | None
    heuristic_costs: HeuristicCosts


PROBLEM: Final[Mapping[str, Any]] = {"search": "lazy-gbfs", "heuristic": "ff", "time_limit": None}
"""What differs by default in planning for a problem without values; the two names stand for themselves."""


def problem_options(**given: Any) -> PlanOptions:
    """The options of planning for a problem without values, checked."""
    options = checked(PlanOptions, {**PROBLEM, **given}, "planning for a problem", of="problem")
    _check_search(options.search, SEARCHES, "problems")
    if options.heuristic not in NAMES:
        raise unknown_heuristic(options.heuristic, NAMES, "problems")
    return options


def model_options(**given: Any) -> PlanOptions:
    """The options of planning with a model, checked: A* where a heuristic is named without a search."""
    named = {"search": "astar"} if given.get("heuristic") is not None else {}
    options = checked(PlanOptions, {**named, **given}, "planning with a model", of="model")
    _check_search(options.search, MODEL_SEARCHES, "models and problems with values")
    if options.heuristic is None:
        return options if options.search == "portfolio" else replace(options, heuristic="opt")
    options = replace(options, heuristic=given_heuristic(options.heuristic))
    find_model_heuristic(options.heuristic)
    return options


def options_for(domain: Domain, given: Mapping[str, Any]) -> PlanOptions:
    """The same, checked against a model's domain, too."""
    options = model_options(**given)
    generators = generators_of(domain, options.generators)
    return replace(options, generators=generators, samplers=samplers_of(domain, options.samplers))


def generators_of(domain: Domain, given: Mapping[str, Generator]) -> dict[str, Generator]:
    """The generators by the name of their type, in lower case as the domain has it."""
    named = _functions(given, "generator", "value types")
    for name in named:
        if name not in domain.value_types:
            raise error(
                "unknown-type",
                f"a generator is given for `{name}`, and the domain has no such value type",
                help=did_you_mean(name, domain.value_types),
            )
    return named


def samplers_of(domain: Domain, given: Mapping[str, Sampler]) -> dict[str, Sampler]:
    """The samplers by action and parameter, ``move-to.?p``, in lower case as the domain has them."""
    known = [
        f"{action.name}.{parameter.name}"
        for action in domain.actions.values()
        for parameter in action.parameters
        if isinstance(parameter.type, ValueType)
    ]
    named = {}
    for name, sampler in _functions(given, "sampler", "parameters of actions").items():
        action, dot, parameter = name.partition(".")
        full = f"{action}{dot}{parameter if parameter.startswith('?') else f'?{parameter}'}"
        if full not in known:
            listed = f"it has {', '.join(known)}" if known else "its actions take no values"
            raise error(
                "unknown-parameter",
                f"a sampler is given for `{name:.60}`, and the domain has no such value parameter",
                help=did_you_mean(full, known) or listed,
            )
        named[full] = sampler
    return named


def _functions(given: Mapping[str, Any], what: str, places: str) -> dict[str, Any]:
    """Functions by their names, in lower case; ``what`` they are, and of which ``places``."""
    if not isinstance(given, Mapping):
        found = type(given).__name__
        raise error("bad-generator", f"`{what}s` maps {places} to functions, and is a {found}")
    for name, function in given.items():
        if not callable(function):
            found = type(function).__name__
            raise error("bad-generator", f"the {what} of `{name}` is a {found}, and no function")
    return {str(name).lower(): function for name, function in given.items()}


def _check_search(name: object, known: Collection[str], whose: str) -> None:
    """Refuse a name that is none of the searches "for problems" or "for models"."""
    if name not in known:
        listed = ", ".join(f"`{other}`" for other in known)
        raise error(
            "unknown-search",
            f"there is no search `{name}` for {whose}; known are {listed}",
            help=did_you_mean(str(name), known),
        )


def model_searches_help() -> str:
    """The searches of models in a line."""
    first, *rest = MODEL_SEARCHES
    return ", ".join([f"{first} (default)", *rest])
