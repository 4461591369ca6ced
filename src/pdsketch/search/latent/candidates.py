"""Values for the value parameters of actions: declared choices, those of state and goal, generators."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from pdsketch.lang.diagnostics import error
from pdsketch.lang.terms import Expr, Value, walk
from pdsketch.lang.types import ValueType
from pdsketch.search.keywords import Generator
from pdsketch.search.latent.instances import Candidates, value_types
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State
from pdsketch.tensor.states.values import every_choice


def candidates_of(
    model: Model,
    state: State,
    goal: Expr,
    generators: Mapping[str, Generator],
    number: int,
    before: Candidates | None,
) -> Candidates:
    """The candidates of round ``number``: those before, and what the generators propose now."""
    found = {}
    for type_ in value_types(model.domain):
        if before is None:
            pool = _with_constants(_given(model, state, type_), goal, type_)
        else:
            pool = before.of(type_)
        generator = None if type_.alias is None else generators.get(type_.alias)
        if generator is not None:
            pool = torch.cat([pool, _proposed(generator, model, state, number, type_).to(pool)])
        found[type_] = _distinct(pool)
    return Candidates(found)


def _given(model: Model, state: State, type_: ValueType) -> Tensor:
    """Declared choices, else every value of this type in the state."""
    if type_.choices is not None or type_.prim == "bool":
        return every_choice(type_, state.device)
    same = [
        p
        for p in model.domain.state_predicates
        if p.type == type_ and (type_.alias is None or p.type.alias == type_.alias)
    ]
    shape = _shape(type_, state, [p.name for p in same])
    pools = [state[p.name].reshape(-1, *shape) for p in same]
    if not pools:
        dtype = torch.float32 if type_.prim == "float32" else torch.int64
        return torch.zeros(0, *shape, dtype=dtype, device=state.device)
    return torch.cat(pools)


def _with_constants(pool: Tensor, goal: Expr, type_: ValueType) -> Tensor:
    """The values and those that stand in the goal and could be of the type."""
    if type_.choices is not None or type_.prim == "bool":
        return pool
    kinds = ("int64",) if type_.prim == "int64" else ("int64", "float32")
    own = [
        torch.as_tensor(node.value).to(pool).reshape(pool.shape[1:])
        for node in walk(goal)
        if isinstance(node, Value) and node.type.prim in kinds and _size(node) == pool.shape[1:].numel()
    ]
    return torch.cat([pool, torch.stack(own)]) if own else pool


def _size(node: Value) -> int:
    return torch.as_tensor(node.value).numel()


def _shape(type_: ValueType, state: State, names: list[str]) -> tuple[int, ...]:
    if type_.shape is not None:
        return type_.shape
    predicates = state.domain.predicates
    for name in names:
        return tuple(state[name].shape[len(predicates[name].parameters) :])
    return (0,)


def _proposed(generator: Generator, model: Model, state: State, number: int, type_: ValueType) -> Tensor:
    """What a generator returns, as a tensor, checked; it may have nothing to propose."""
    returned = generator(model, state, number)
    try:
        values = torch.as_tensor(returned)
    except (TypeError, ValueError, RuntimeError):
        found = type(returned).__name__
        raise error(
            "bad-generator", f"the generator of `{type_}` returned a {found}, and no array of numbers"
        ) from None
    wanted = type_.shape
    if wanted is not None and not values.numel():
        return values.new_zeros(0, *wanted)
    if wanted is not None and tuple(values.shape[1:]) != wanted:
        raise error(
            "shape-mismatch",
            f"the generator of `{type_}` returned {tuple(values.shape)}; {('n', *wanted)} was wanted",
        )
    if values.is_floating_point() and not bool(torch.isfinite(values).all()):
        raise error("not-finite", f"the generator of `{type_}` returned values that are not finite")
    return values.detach()


def _distinct(pool: Tensor) -> Tensor:
    """Each value once, in the order of first occurrence."""
    rows = {tuple(row): i for i, row in reversed(list(enumerate(pool.unsqueeze(-1).flatten(1).tolist())))}
    return pool[sorted(rows.values())]
