"""How values are held in tensors, soft and crisp, and how one form becomes the other.

========================  ==========================  ==================================
type                      crisp                       soft
========================  ==========================  ==================================
``bool``                  Boolean                     float32 in [0, 1]
``int64[choices=n]``      int64                       int64, or probabilities ``[..., n]``
``int64``                 int64                       int64, or float32
``float32``, vectors      float32                     float32
========================  ==========================  ==================================

Observed ints stay int64 in soft mode too ("hard") until something soft is
mixed into them; the dtype says which form a tensor has.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from pdsketch.lang import ValueType
from pdsketch.tensor.states import saturating


def is_categorical(type_: ValueType) -> bool:
    """Whether the type is an int with choices, or a vector of them."""
    return type_.prim == "int64" and type_.choices is not None


def one_hot(tensor: Tensor, choices: int) -> Tensor:
    """Hard ints → one-hot floats with a further last axis; probabilities stay as they are."""
    if tensor.is_floating_point():
        return tensor
    return torch.nn.functional.embedding(tensor, _identity(choices, tensor.device))


@cache
def _identity(choices: int, device: torch.device) -> Tensor:
    """The unit vectors; to look them up is several times faster than `one_hot`, and waits for no GPU."""
    with torch.inference_mode(False):
        return torch.eye(choices, device=device)


def numbers(tensor: Tensor, type_: ValueType) -> Tensor:
    """A value as numbers of its own shape: the mean of an int's probabilities."""
    if is_categorical(type_) and tensor.is_floating_point():
        assert type_.choices is not None
        return tensor @ torch.arange(type_.choices, dtype=tensor.dtype, device=tensor.device)
    return tensor


def presented(tensor: Tensor, type_: ValueType, leading: int) -> Tensor:
    """A value as a module sees it."""
    if is_categorical(type_):
        return one_hot(tensor, type_.choices or 0)
    if tensor.dtype != torch.float32:
        tensor = tensor.to(torch.float32)
    return tensor.unsqueeze(-1) if tensor.dim() == leading else tensor


def soften(tensor: Tensor, type_: ValueType) -> Tensor:
    """A value in the form that soft evaluation reads."""
    return tensor.to(torch.float32) if tensor.dtype == torch.bool else tensor


def harden(tensor: Tensor, type_: ValueType) -> Tensor:
    """A value in its crisp form: truth above 0.5, the likeliest choice, the nearest int."""
    if type_.prim == "float32" or not tensor.is_floating_point():
        return tensor
    if type_.prim == "bool":
        return tensor > 0.5
    if is_categorical(type_):
        return tensor.argmax(-1)
    return saturating.rounded(tensor)


def fully_soft(tensor: Tensor, type_: ValueType) -> Tensor:
    """A value as floats that may be mixed: truth values, probabilities, numbers."""
    if is_categorical(type_):
        assert type_.choices is not None
        return one_hot(tensor, type_.choices)
    return tensor if tensor.is_floating_point() else tensor.to(torch.float32)


def convert(tensor: Tensor, given: ValueType, wanted: ValueType) -> Tensor:
    """A value of one type as a value of another that it may be assigned to.

    Soft numbers become probabilities by interpolation between the two nearest
    choices, which is exact on whole numbers. A number outside of the choices
    becomes the nearest one: where all ground actions are applied at once, those
    that cannot be executed must not stop the others.
    """
    if wanted.prim == "float32":
        found = numbers(tensor, given)
        return found if found.is_floating_point() else found.to(torch.float32)
    if wanted.prim != "int64" or given.prim == "bool":
        return tensor
    if not is_categorical(wanted):
        return numbers(tensor, given)
    if is_categorical(given):
        return _other_choices(tensor, given.choices or 0, wanted.choices or 0)
    inside = tensor.clamp(0, (wanted.choices or 1) - 1)
    if not tensor.is_floating_point():
        return inside
    places = torch.arange(wanted.choices or 0, dtype=tensor.dtype, device=tensor.device)
    return (1 - (inside.unsqueeze(-1) - places).abs()).clamp(min=0)


def _other_choices(tensor: Tensor, given: int, wanted: int) -> Tensor:
    """Probabilities over more choices; what falls outside fewer goes to the last."""
    if given == wanted:
        return tensor
    if not tensor.is_floating_point():
        return tensor.clamp(max=wanted - 1)
    if given < wanted:
        return torch.nn.functional.pad(tensor, (0, wanted - given))
    inside = tensor[..., :wanted].clone()
    inside[..., -1] += tensor[..., wanted:].sum(-1)
    return inside


def unify(tensors: list[Tensor], type_: ValueType) -> list[Tensor]:
    """Several values of one type in one form: soft if any is."""
    if type_.prim == "float32" or len({t.dtype for t in tensors}) == 1:
        return tensors
    return [fully_soft(t, type_) for t in tensors]


def every_choice(type_: ValueType, device: torch.device) -> Tensor:
    """Every value of a type with choices, ``[n, *shape]``: what a quantifier over it ranges over."""
    shape = type_.shape or ()
    options = 2 if type_.prim == "bool" else (type_.choices or 0)
    with torch.inference_mode(False):
        scalars = torch.arange(options, device=device)
        size = int(torch.Size(shape).numel())
        if size != 1:
            scalars = torch.cartesian_prod(*[scalars] * size) if size else scalars.new_zeros(1, 0)
        values = scalars.reshape(-1, *shape)
        return values.to(torch.bool) if type_.prim == "bool" else values


def is_sound(tensor: Tensor, type_: ValueType) -> Tensor | None:
    """Where a predicted value is finite, and in the range of its type; None: everywhere."""
    if tensor.is_floating_point():
        return torch.isfinite(tensor)
    beyond = saturating.has_left(tensor, type_)
    return None if beyond is None else ~beyond
