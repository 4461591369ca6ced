"""Relations of a goal in which no candidate value stands, or not at once: what was never proposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from pdsketch.lang import Apply, BlankCall, Expr, Logic, ValueType, located, unfold_all, walk
from pdsketch.search.latent.instances import Candidates
from pdsketch.search.latent.margin import CRISP_TRUTH
from pdsketch.search.latent.relations import can_sample, input_types, name_of, pairs_in, same_type
from pdsketch.tensor import Model, State

_MOST_PAIRS: Final = 1 << 16
"""Pairs of values that are looked at; of more, an even part of each side."""


def never_proposed(model: Model, state: State, goal: Expr, candidates: Candidates) -> list[str]:
    """What to say of the goal's relations of values that no candidate makes true, beside any other value.

    Asked of ``model`` is whether any of the ``candidates``, for its value arguments, makes a relation of
    ``goal`` true in ``state``. Where each can be true, so of those that are wanted of the same two things at
    once.
    """
    said: dict[str, str] = {}
    for call in pairs_in(model, [goal]):
        if name_of(call) not in said and _never(model, state, [call], candidates):
            said[name_of(call)] = _sentence(model, [call], candidates)
    if said:
        return [*said.values()]
    together = [calls for calls in _wanted_together(model, goal) if _never(model, state, calls, candidates)]
    return [_sentence(model, calls, candidates) for calls in together]


def _wanted_together(model: Model, goal: Expr) -> list[list[BlankCall | Apply]]:
    """The relations of the same two things among the parts of a conjunction; none where not all is wanted."""
    plain = unfold_all(goal, model.domain)
    if any(isinstance(node, Logic) and node.op != "and" for node in walk(plain)):
        return []
    groups: dict[tuple[Expr, ...], list[BlankCall | Apply]] = {}
    for call in pairs_in(model, [plain]):
        groups.setdefault(call.args, []).append(call)
    return [calls for calls in groups.values() if len(calls) > 1]


def _never(model: Model, state: State, calls: Sequence[BlankCall | Apply], candidates: Candidates) -> bool:
    """Whether relations of the same two things are never true at once, with values that were proposed."""
    types = input_types(model, calls[0])
    proposed = [_candidates(candidates, type_) for type_ in types]
    if all(values is None for values in proposed):
        return False
    sides = [_known(model, state, t, values) for t, values in zip(types, proposed, strict=True)]
    return not _may_hold(model, calls, *sides)


def _sentence(model: Model, calls: Sequence[BlankCall | Apply], candidates: Candidates) -> str:
    types = input_types(model, calls[0])
    counted = [(len(v), str(t)) for t in types if (v := _candidates(candidates, t)) is not None]
    count, type_ = max(counted)
    values = f"none of the {count} values" if count > 1 else f"no value of {count}"
    if len(calls) > 1:
        named = " and ".join(f"`{name_of(call)}`" for call in calls)
        return f"{values} that were proposed for `{type_}` makes {named} true at once{located(calls[0].span)}"
    (call,) = calls
    name = name_of(call)
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


def _may_hold(model: Model, calls: Sequence[BlankCall | Apply], first: Tensor, second: Tensor) -> bool:
    """Whether relations hold of some pair; also where it cannot be seen."""
    modules = [model.blanks.calls.get(name_of(call)) for call in calls]
    if None in modules or not len(first) or not len(second):
        return True
    if len(first) * len(second) > _MOST_PAIRS:
        most = int(_MOST_PAIRS**0.5)
        first, second = (v[torch.linspace(0, len(v) - 1, min(len(v), most)).long()] for v in (first, second))
    a, b = (v if v.dim() > 1 else v.unsqueeze(-1) for v in (first.float(), second.float()))
    pairs = a[:, None].expand(-1, len(b), *a.shape[1:]), b[None].expand(len(a), *b.shape)
    held = torch.ones(len(a), len(b), dtype=torch.bool, device=a.device)
    for module in modules:
        assert module is not None
        held &= (module(*pairs) > CRISP_TRUTH).reshape(held.shape)  # modules may keep a last axis of one
    return bool(held.any())
