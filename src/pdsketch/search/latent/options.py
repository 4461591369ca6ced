"""How to plan with a model: options, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final, get_args

import torch

from pdsketch.budget import UNLIMITED, Budget, current, taken
from pdsketch.lang import Step, ValueType, did_you_mean, error
from pdsketch.search.heuristics import HeuristicSource, find_model_heuristic
from pdsketch.search.keywords import Generator, Sampler, Sources
from pdsketch.search.latent.margin import CRISP_TRUTH
from pdsketch.search.options import MODEL_SEARCHES, ModelSearch, SearchOptions, check_search, options_of
from pdsketch.tensor import Model


@final
@dataclass(frozen=True, slots=True)
class LatentOptions(SearchOptions):
    """How to plan with a model.

    ``k`` nodes are expanded together; 1 is textbook search, None as many as pay. ``max_depth`` bounds
    the length of plans. ``snap`` rounds floats to their codes after each step.
    Two states are one when their floats' codes agree, or with ``resolution`` when
    they agree in steps of that size.
    ``generators`` propose values for value parameters, by the name of their type, ``samplers`` for one
    parameter, given its action's objects; ``candidates="generators"`` leaves out the values of the state.
    ``costs``: let actions cost what they say; by default, where some action says so. ``refused`` are not
    tried as a first step. The truth of goals, preconditions and gates must lie above ``confidence``; where no
    such plan is found, above less. ``threads`` are how many problems are searched at a time in abstractions;
    None: as many as there are processors. Results do not depend on it.
    """

    search: ModelSearch = "portfolio"
    heuristic: str | HeuristicSource = "opt"
    time_limit: float | None = 20.0
    max_depth: int | None = None
    k: int | None = None
    snap: bool = False
    resolution: float | None = None
    costs: bool | None = None
    generators: Mapping[str, Generator] = field(default_factory=dict)
    samplers: Mapping[str, Sampler] = field(default_factory=dict)
    candidates: Sources = "all"
    refused: frozenset[Step] = frozenset()
    confidence: float = CRISP_TRUTH
    threads: int | None = None


def checked_options(model: Model, given: Mapping[str, Any]) -> LatentOptions:
    """The options that were given, checked."""
    options = options_of(LatentOptions, _completed(given), "with a model")
    check_search(options.search, MODEL_SEARCHES, "models and problems with values")
    find_model_heuristic(options.heuristic)
    for name, least in (("k", 1), ("max_depth", 0), ("threads", 1)):
        value = getattr(options, name)
        if value is not None and (not isinstance(value, int) or value < least):
            raise error("bad-limit", f"`{name}` is a whole number, {least} or more; {value!r} is given")
    step: Any = options.resolution
    if step is not None and (not isinstance(step, int | float) or not step > 0):
        raise error("bad-limit", f"`resolution` is a number above 0; {step!r} is given")
    sure: Any = options.confidence
    if isinstance(sure, bool) or not isinstance(sure, int | float) or not 0.5 <= sure < 1:
        raise error(
            "bad-option",
            f"`confidence` is a number from 0.5 on and below 1; {sure!r:.40} is given",
        )
    if options.candidates not in get_args(Sources):
        raise error(
            "bad-option",
            f"`candidates` is `all` or `generators`, and {options.candidates!r:.40} is given",
            help=did_you_mean(str(options.candidates), get_args(Sources)),
        )
    return replace(
        options,
        generators=_generators(model, options.generators),
        samplers=_samplers(model, options.samplers),
    )


def _completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, and the search: A* where a heuristic or k is named without one."""
    options = dict(given)
    if options.get("k", 0) is None:
        del options["k"]
    if "search" not in options:
        options["search"] = "astar" if "heuristic" in options or "k" in options else "portfolio"
    if options["search"] != "portfolio":
        options.setdefault("k", 1)
    elif "heuristic" in options:
        raise error(
            "bad-option",
            f"the portfolio has heuristics of its own, and {options['heuristic']!r:.40} is named",
            help="name one of the other searches, or no heuristic",
        )
    return options


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


def _samplers(model: Model, given: Mapping[str, Sampler]) -> dict[str, Sampler]:
    """The samplers by action and parameter, ``move-to.?p``, in lower case as the domain has them."""
    if not isinstance(given, Mapping):
        found = type(given).__name__
        raise error("bad-generator", f"`samplers` maps parameters of actions to functions, and is a {found}")
    known = [
        f"{action.name}.{parameter.name}"
        for action in model.domain.actions.values()
        for parameter in action.parameters
        if isinstance(parameter.type, ValueType)
    ]
    named = {}
    for name, sampler in given.items():
        action, dot, parameter = str(name).lower().partition(".")
        full = f"{action}{dot}{parameter if parameter.startswith('?') else f'?{parameter}'}"
        if full not in known:
            listed = f"it has {', '.join(known)}" if known else "its actions take no values"
            raise error(
                "unknown-parameter",
                f"a sampler is given for `{name!s:.60}`, and the domain has no such value parameter",
                help=did_you_mean(full, known) or listed,
            )
        if not callable(sampler):
            found = type(sampler).__name__
            raise error("bad-generator", f"the sampler of `{name}` is a {found}, and no function")
        named[full] = sampler
    return named


def budget_of(model: Model, options: LatentOptions) -> Budget:
    """The budget of a call; where the model is on a GPU, its memory counts, too."""
    outer, device = current(), model.device
    if outer is UNLIMITED and device.type == "cuda":
        outer = Budget(meter=lambda: taken() + torch.cuda.memory_allocated(device))
    return options.budget(outer)
