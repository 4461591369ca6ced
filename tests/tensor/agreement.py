"""What it means that a tensor state is a state of the reference semantics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from tests.strategies import Sample
from tests.strategies.modules import modules_of
from torch import Tensor

from pdsketch.lang import semantics
from pdsketch.lang.diagnostics import Error
from pdsketch.lang.types import ObjectType
from pdsketch.tensor.compile import compare
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State
from pdsketch.tensor.states.values import unify


@contextmanager
def sharp_comparisons() -> Iterator[None]:
    """Floats a tolerance apart are a little equal when soft; here that would hide what is compared."""
    usual, compare.SHARPNESS = compare.SHARPNESS, 1e5
    try:
        yield
    finally:
        compare.SHARPNESS = usual


def sharp(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A blank with logits so large that its soft choice is a hard one."""
    return lambda *args: function(*args) * 100


def model_of(sample: Sample, **options: Any) -> Model:
    modules = modules_of(sample)
    for name, blank in sample.domain.blanks.items():
        if blank.returns.prim == "int64":
            modules[name] = sharp(modules[name])
    return Model(sample.domain, modules, **options)


def reference(attempt: Callable[[], Any]) -> Any:
    """What the reference says; None where it refuses (division by zero, assignments that disagree)."""
    try:
        return attempt()
    except Error:
        return None


def assert_same(state: State, facts: Mapping[tuple[Any, ...], Any], *, within: float = 1e-4) -> None:
    """Every value of the state is the one in the facts, and nothing is missing."""
    crisp = state.crisp()
    for predicate in state.domain.state_predicates:
        axes = [state.members(p.type) for p in predicate.parameters if isinstance(p.type, ObjectType)]
        tensor = crisp[predicate.name].detach()
        for place in product(*(range(len(axis)) for axis in axes)):
            fact = (predicate.name, *(axis[i] for axis, i in zip(axes, place, strict=True)))
            wanted = facts.get(fact, False) if predicate.type.is_bool else facts[fact]
            found = tensor[place]
            assert torch.allclose(found.double(), torch.tensor(wanted, dtype=torch.float64), atol=within), (
                f"{fact}: {found.tolist()} and not {wanted}"
            )


def steps_of(sample: Sample, most: int = 12) -> list[semantics.Step]:
    every = max(1, len(sample.steps) // most)
    return sample.steps[::every]


def variant(
    sample: Sample, keep: Sequence[str], order: Sequence[str]
) -> tuple[State, semantics.StaticContext, dict]:
    """The initial state with some of the problem's own objects, in another order."""
    constants = sample.domain.constants
    universe = dict(constants)
    universe.update({n: sample.problem.universe[n] for n in order if n not in constants and n in keep})
    facts = {f: v for f, v in sample.problem.init.items() if all(a in universe for a in f[1:])}
    objects: dict[str, list[str]] = {}
    for name, type_ in universe.items():
        if name not in constants:
            objects.setdefault(str(type_), []).append(name)
    listed = list(constants) + [n for names in objects.values() for n in names]
    universe = {n: universe[n] for n in listed}
    problem = replace(
        sample.problem,
        objects={t: tuple(ns) for t, ns in objects.items()},
        universe=universe,
        init=facts,
    )
    return problem.state, semantics.StaticContext(sample.domain, universe, sample.functions), facts


def assert_close(a: State, b: State, *, within: float = 1e-4) -> None:
    """Two states with the same objects hold the same values."""
    assert a.universe == b.universe
    assert a.values.keys() == b.values.keys()
    for name in a.values:
        x, y = a[name], b[name]
        if x.dtype != y.dtype:
            x, y = unify([x, y], a.domain.predicates[name].type)
        assert torch.allclose(x.double(), y.double(), atol=within), name
