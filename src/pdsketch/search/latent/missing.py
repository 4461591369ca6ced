"""Relations of a goal in which no candidate value stands to anything: what was never proposed."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from pdsketch.lang.source import located
from pdsketch.lang.terms import Apply, BlankCall, Expr
from pdsketch.lang.types import ValueType
from pdsketch.search.latent.instances import Candidates
from pdsketch.search.latent.margin import CRISP_TRUTH
from pdsketch.search.latent.relations import can_sample, input_types, name_of, pairs_in, same_type
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State

_MOST_PAIRS: Final = 1 << 16
"""Pairs of values that are looked at; of more, an even part of each side."""


def never_proposed(model: Model, state: State, goal: Expr, candidates: Candidates) -> list[str]:
    """What to say of the goal's relations of values that no candidate makes true, beside any other value."""
    said = {}
    for call in pairs_in(model, [goal]):
        types = input_types(model, call)
        proposed = [_candidates(candidates, type_) for type_ in types]
        if name_of(call) in said or all(values is None for values in proposed):
            continue
        sides = [_known(model, state, t, values) for t, values in zip(types, proposed, strict=True)]
        if not _may_hold(model, call, *sides):
            count, type_ = max(
                (len(v), str(t)) for v, t in zip(proposed, types, strict=True) if v is not None
            )
            said[name_of(call)] = _sentence(model, call, count, type_)
    return [*said.values()]


def _sentence(model: Model, call: BlankCall | Apply, count: int, type_: str) -> str:
    name = name_of(call)
    values = f"none of the {count} values" if count > 1 else f"no value of {count}"
    fix = (
        "the module proposes values for which it is not true itself"
        if can_sample(model.blanks.calls.get(name))
        else f'give generators={{"{type_}": fn}}, or a module that proposes values, as pds.nets.Offset does'
    )
    return f"{values} that were proposed for `{type_}` makes `{name}` true{located(call.span)}: {fix}"


def _candidates(candidates: Candidates, type_: ValueType) -> Tensor | None:
    """The candidates of a type; None where no action takes values of it."""
    own = [values for other, values in candidates.values.items() if same_type(other, type_)]
    return torch.cat(own) if own and type_.choices is None and type_.prim == "float32" else None


def _known(model: Model, state: State, type_: ValueType, proposed: Tensor | None) -> Tensor:
    """The candidates of a type and its values in the state."""
    own = [] if proposed is None else [proposed]
    for predicate in model.domain.state_predicates:
        if same_type(predicate.type, type_) and type_.shape is not None:
            own.append(state[predicate.name].reshape(-1, *type_.shape))
    return torch.cat(own) if own else torch.zeros(0)


def _may_hold(model: Model, call: BlankCall | Apply, first: Tensor, second: Tensor) -> bool:
    """Whether a relation holds of some pair; also where it cannot be seen."""
    module = model.blanks.calls.get(name_of(call))
    if module is None or not len(first) or not len(second):
        return True
    if len(first) * len(second) > _MOST_PAIRS:
        most = int(_MOST_PAIRS**0.5)
        first, second = (v[torch.linspace(0, len(v) - 1, min(len(v), most)).long()] for v in (first, second))
    a, b = (v if v.dim() > 1 else v.unsqueeze(-1) for v in (first.float(), second.float()))
    pairs = a[:, None].expand(-1, len(b), *a.shape[1:]), b[None].expand(len(a), *b.shape)
    truth: Tensor = module(*pairs)
    return bool((truth > CRISP_TRUTH).any())
