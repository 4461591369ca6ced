"""How to plan with a model: the options that only the model can check, and the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from pdsketch.budget import UNLIMITED, Budget, LimitError, OutOfMemoryError, current, taken
from pdsketch.lang import Domain, ValueType, did_you_mean, error
from pdsketch.search.options import Generator, PlanOptions, Sampler, model_options
from pdsketch.search.result import Status
from pdsketch.tensor import Model, out_of_memory


def options_for(model: Model, given: Mapping[str, Any]) -> PlanOptions:
    """The options that were given, checked."""
    options = model_options(**given)
    generators = generators_of(model.domain, options.generators)
    return replace(options, generators=generators, samplers=samplers_of(model.domain, options.samplers))


def generators_of(domain: Domain, given: Mapping[str, Generator]) -> dict[str, Generator]:
    """The generators by the name of their type, in lower case as the domain has it."""
    if not isinstance(given, Mapping):
        found = type(given).__name__
        raise error("bad-generator", f"`generators` maps value types to functions, and is a {found}")
    named = {str(name).lower(): generator for name, generator in given.items()}
    for name, generator in named.items():
        if name not in domain.value_types:
            raise error(
                "unknown-type",
                f"a generator is given for `{name}`, and the domain has no such value type",
                help=did_you_mean(name, domain.value_types),
            )
        if not callable(generator):
            found = type(generator).__name__
            raise error("bad-generator", f"the generator of `{name}` is a {found}, and no function")
    return named


def samplers_of(domain: Domain, given: Mapping[str, Sampler]) -> dict[str, Sampler]:
    """The samplers by action and parameter, ``move-to.?p``, in lower case as the domain has them."""
    if not isinstance(given, Mapping):
        found = type(given).__name__
        raise error("bad-generator", f"`samplers` maps parameters of actions to functions, and is a {found}")
    known = [
        f"{action.name}.{parameter.name}"
        for action in domain.actions.values()
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


def budget_of(model: Model, options: PlanOptions) -> Budget:
    """The budget of a call; where the model is on a GPU, its memory counts, too."""
    outer, device = current(), model.device
    if outer is UNLIMITED and device.type == "cuda":
        outer = Budget(meter=lambda: taken() + torch.cuda.memory_allocated(device), device="cuda")
    return options.budget(outer)


# What ends a call for want of time or memory, whoever noticed it.

LIMITS = (LimitError, MemoryError, RuntimeError)
"""The errors among which those of limits are; `status_of` tells them from the others."""


def status_of(failure: BaseException) -> Status | None:
    """The status of a call that an error ended, if it was a limit that was reached."""
    if isinstance(failure, LimitError):
        return failure.status
    return OutOfMemoryError.status if out_of_memory(failure) else None


@contextmanager
def suppress_limits() -> Iterator[None]:
    """Within, a limit that is reached ends the block and nothing else."""
    try:
        yield
    except LIMITS as limit:
        if status_of(limit) is None:
            raise
