"""How to plan with a model: options, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

from pdsketch.budget import DEFAULT_MEGABYTES
from pdsketch.lang.diagnostics import did_you_mean, error
from pdsketch.search.latent.candidates import Generator
from pdsketch.search.latent.engine import Progress, Search
from pdsketch.search.latent.guide import find_guide
from pdsketch.search.result import Step
from pdsketch.tensor.model import Model

SEARCHES: Final[tuple[Search, ...]] = ("astar", "wastar", "gbfs")


@final
@dataclass(frozen=True, slots=True)
class Options:
    """How to plan with a model.

    ``k`` nodes are expanded together; 1 is textbook search. ``max_depth`` bounds
    the length of plans. ``snap`` rounds floats to their codes after each step.
    Two states are one when their floats' codes agree, or with ``resolution`` when
    they agree in steps of that size.
    ``generators`` propose values for value parameters, by the name of their
    type. ``costs``: let actions cost what they say; by default, where some
    action says so. ``refused`` are not tried as a first step.
    """

    search: Search = "astar"
    heuristic: str = "opt"
    time_limit: float | None = 20.0
    memory_limit: float = DEFAULT_MEGABYTES
    max_expansions: int | None = None
    max_depth: int | None = None
    k: int = 1
    weight: float = 5.0
    snap: bool = False
    resolution: float | None = None
    costs: bool | None = None
    generators: Mapping[str, Generator] = field(default_factory=dict)
    refused: frozenset[Step] = frozenset()
    watch: Callable[[Progress], None] | None = None


def options_of(model: Model, given: Mapping[str, Any]) -> Options:
    """The options that were given, checked."""
    known = Options.__dataclass_fields__
    for name in given:
        if name not in known:
            raise error(
                "unknown-option",
                f"planning with a model has no option `{name}`",
                help=did_you_mean(name, known),
            )
    options = Options(**given)
    if options.search not in SEARCHES:
        raise error(
            "unknown-search",
            f"there is no search `{options.search}` for models",
            help=did_you_mean(str(options.search), SEARCHES) or f"choose one of {', '.join(SEARCHES)}",
        )
    find_guide(options.heuristic)
    for name in ("k", "max_depth"):
        value = getattr(options, name)
        if value is not None and (not isinstance(value, int) or value < (name == "k")):
            raise error(
                "bad-limit", f"`{name}` is a whole number, {int(name == 'k')} or more; {value!r} is given"
            )
    step: Any = options.resolution
    if step is not None and (not isinstance(step, int | float) or not step > 0):
        raise error("bad-limit", f"`resolution` is a number above 0; {step!r} is given")
    return replace(options, generators=_generators(model, options.generators))


def _generators(model: Model, given: Mapping[str, Generator]) -> dict[str, Generator]:
    """The generators by the name of their type, in lower case as the domain has it."""
    if not isinstance(given, Mapping):
        found = type(given).__name__
        raise error("bad-generator", f"`generators` maps value types to functions, and is a {found}")
    named = {str(name).lower(): generator for name, generator in given.items()}
    for name, generator in named.items():
        if name not in model.domain.value_types:
            raise error(
                "unknown-type",
                f"a generator is given for `{name}`, and the domain has no such value type",
                help=did_you_mean(name, model.domain.value_types),
            )
        if not callable(generator):
            found = type(generator).__name__
            raise error("bad-generator", f"the generator of `{name}` is a {found}, and no function")
    return named
