"""What functions of users propose for the value parameters of actions, checked: they may fail in any way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, final

import torch
from torch import Tensor

from pdsketch.lang import Action, Domain, Error, ValueType, Variable, choices_of, error
from pdsketch.search.latent.instances import as_data
from pdsketch.search.latent.options import LIMITS, generators_of, samplers_of, status_of
from pdsketch.search.options import Generator, Sampler
from pdsketch.tensor import Model, State


@contextmanager
def proposing(what: str) -> Iterator[None]:
    """Within, a failure is an `Error` that says whose it is; that of a limit stays what it is."""
    try:
        yield
    except Error:
        raise
    except Exception as why:
        if isinstance(why, LIMITS) and status_of(why) is not None:
            raise
        raise error(
            "bad-generator",
            f"{what} failed: {type(why).__name__}: {why!s:.200}",
            help="it returns values, [n, *shape], and none ([]) where it has nothing to propose",
        ) from why


def checked_values(returned: Any, type_: ValueType, what: str) -> Tensor:
    """What a function returned as values of a type, ``[n, *shape]``; it may have nothing to propose."""
    if returned is None:
        raise error(
            "bad-generator",
            f"{what} returned None, and no array of numbers",
            help="return an empty list where there is nothing to propose",
        )
    try:
        values = torch.as_tensor(returned)
    except (TypeError, ValueError, RuntimeError):
        found = type(returned).__name__
        raise error("bad-generator", f"{what} returned a {found}, and no array of numbers") from None
    wanted = type_.shape
    if wanted is not None and not values.numel():
        return values.new_zeros(0, *wanted)
    if wanted is not None and (values.dim() == 0 or tuple(values.shape[1:]) != wanted):
        raise error(
            "shape-mismatch",
            f"{what} returned {tuple(values.shape)}; {('n', *wanted)} was wanted",
            help="one row for each value, also where there is but one",
        )
    if values.is_floating_point() and not bool(torch.isfinite(values).all()):
        raise error("not-finite", f"{what} returned values that are not finite")
    return values.detach()


@final
class Proposals:
    """What ``samplers`` of parameters and ``generators`` of types propose in a domain."""

    def __init__(
        self, domain: Domain, samplers: Mapping[str, Sampler], generators: Mapping[str, Generator]
    ) -> None:
        self.samplers = samplers_of(domain, samplers)
        self.generators = generators_of(domain, generators)

    def generated(self, type_: ValueType, model: Model | None, state: State, number: int) -> Tensor | None:
        """What the generator of ``type_`` proposes in round ``number``; None: it has none.

        ``model`` and ``state`` are what it is given.
        """
        generator = None if type_.alias is None else self.generators.get(type_.alias)
        if generator is None:
            return None
        what = f"the generator of `{type_}`"
        with proposing(what):
            returned = generator(model, state, number)  # type: ignore[arg-type]
        return checked_values(returned, type_, what)

    def sampled(
        self, name: str, type_: ValueType, model: Model | None, state: State, objects: Sequence[str]
    ) -> Tensor:
        """What the sampler ``name``, ``ACTION.?PARAMETER``, proposes for the ``objects`` of the action.

        ``model`` and ``state`` are what it is given; values are of ``type_``.
        """
        what = f"the sampler of `{name}` for {', '.join(objects) or 'no objects'}"
        with proposing(what):
            returned = self.samplers[name](model, state, *objects)
        return checked_values(returned, type_, what)

    def knows(self, action: Action, parameter: Variable) -> bool:
        """Whether there are values for a parameter, without a model: choices, or what is proposed."""
        type_ = parameter.type
        return (
            not isinstance(type_, ValueType)
            or _is_listed(type_)
            or f"{action.name}.{parameter.name}" in self.samplers
            or type_.alias in self.generators
        )

    def of(self, action: Action, parameter: Variable, state: State, objects: Sequence[str]) -> Sequence[Any]:
        """Values for a ``parameter`` of an ``action`` with ``objects`` in a ``state``, as steps have them."""
        type_, name = parameter.type, f"{action.name}.{parameter.name}"
        assert isinstance(type_, ValueType)
        if name in self.samplers:
            return [as_data(value) for value in self.sampled(name, type_, None, state, objects)]
        if _is_listed(type_):
            return choices_of(type_)
        generated = self.generated(type_, None, state, 0)
        return [] if generated is None else [as_data(value) for value in generated]


def _is_listed(type_: ValueType) -> bool:
    return type_.shape is not None and (type_.choices is not None or type_.prim == "bool")
