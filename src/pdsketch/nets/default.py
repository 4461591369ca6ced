"""The default network of a blank, made from its signature alone.

Every argument becomes features (`encode`), arguments of one type also their
difference, sets are pooled; then two hidden layers and, for values, a direct
linear path beside them, so that what is simple is learned from few examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import cast, final

import torch
from torch import Tensor, nn

from pdsketch.nets.boolean_net import BooleanNet, add_group_lassos
from pdsketch.nets.features import NORM_FLOOR, Argument, Features, membership
from pdsketch.nets.forms import BlankForm
from pdsketch.nets.heads import Head
from pdsketch.nets.layers import WIDTH, linear
from pdsketch.nets.offset import Offset
from pdsketch.nets.signature import Signature, Spec

FULL_SCALE_INPUTS = 8
"""Of more numbers than this, each coefficient of the linear part is scaled down, so that their sum is not."""

DIRECT_SCALE = 5.0
"""A learnable constant, and the linear part, are multiplied by this, so that AdamW moves them further
than a perceptron's weights. Set by hand."""


def make(signature: Signature, generator: torch.Generator | None = None) -> nn.Module:
    """A fresh network for the signature; its weights depend on the generator alone.

    A signature without inputs gives a learnable constant. Raises ValueError for
    an int without choices as the result, since there is nothing to learn it by.
    """
    if not signature.inputs:
        return Constant(signature)
    if signature.output == Spec("bool") and signature.residual is None:
        return BooleanNet(signature, generator)
    return Network(signature, generator)


@lru_cache(maxsize=256)
def outline(signature: Signature) -> Mapping[str, tuple[torch.dtype, tuple[int, ...]]]:
    """The dtype and shape of each weight of a network for the signature, which is not made."""
    with torch.device("meta"):
        weights = make(signature).state_dict()
    return {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in weights.items()}


def least_weights(signature: Signature) -> int:
    """Fewer weights than this no network for the signature has: one for each number in and out."""
    inputs = [prod(one.spec.axes) for one in signature.inputs if not one.spec.is_image]
    return max([signature.output.size, *inputs])


class Constant(nn.Module):
    """A value without arguments: one learnable tensor behind the usual head."""

    def __init__(self, signature: Signature) -> None:
        super().__init__()
        self.signature = signature
        self.form: BlankForm | None = None
        self.rivals: tuple[BlankForm, ...] = ()
        head = Head(1, signature.output, None, residual=False)
        self.raw = nn.Parameter(torch.zeros(head.layer.out_features))
        head.layer = nn.Identity()  # type: ignore[assignment]
        self.head = head

    def forward(self) -> Tensor:
        """The value's own axes alone."""
        if self.form is not None:
            return cast(Tensor, self.form())
        return self.head.value(self.raw * DIRECT_SCALE, None)


class Network(nn.Module):
    """A linear function of the features of all arguments, and a multilayer perceptron beside it.

    ``form``: the simple function that answers in its place.

    `add_sparsity` makes a fit with few examples prefer functions of few factors
    of its input (the colour, and not the colour and the type together).

    ``gate``, of an effect that assigns numbers under no condition: whether there is
    a new value at all. Most variables stay as they are, and *when* is then the
    hard question: *what*, asked alone, is often linear (a step ahead), while a sum that must
    be exactly 0 wherever something is in the way is not.
    """

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__()
        self.signature = signature
        self.form: BlankForm | None = None
        self.rivals: tuple[BlankForm, ...] = ()
        self.features = Features(signature, generator)
        self.register_buffer("member", membership(self.features.factors), persistent=False)
        width = sum(self.features.factors)
        self.first = linear(width, WIDTH, generator)
        self.second = linear(WIDTH, WIDTH, generator)
        residual = signature.residual is not None
        self.head = Head(WIDTH, signature.output, generator, residual=residual, bounded=signature.bounded)
        # What is seen in images differs from the first step on: else what reads it would find all alike.
        sees = not residual and any(one.spec.is_image for one in signature.inputs)
        self.direct = linear(width, self.head.layer.out_features, generator, zero=not sees)
        # Of many numbers each moves less: together they must not outrun everything else.
        numbers = sum(one.spec.size for one in signature.inputs if not one.is_set)
        self.direct_scale = max(1.0, DIRECT_SCALE * min(1.0, FULL_SCALE_INPUTS / max(1, numbers)))
        gated = signature.gated and residual and signature.output.prim == "float"
        self.gate = BooleanNet(Signature(signature.inputs, Spec("bool")), generator) if gated else None

    def forward(self, *args: Argument) -> Tensor:
        """The result for arguments as `Signature` lays them out."""
        if self.form is not None:
            return cast(Tensor, self.form(*args))
        features = self.features
        singles = features.values(args)
        parts = [*features.alone(singles), *features.between(singles)]
        elements = features.elements(args)
        leading = parts[0].shape[:-1] if parts else next(iter(elements.values())).shape[:-2]
        raw: Tensor = self.head.layer.bias
        if parts:
            alone = torch.cat(parts, -1)
            weight = self.direct.weight[:, : alone.shape[-1]]
            raw = raw + self.direct_scale * nn.functional.linear(alone, weight, self.direct.bias)
        else:
            raw = raw.expand(*leading, -1)
        whole = features.whole(parts, args, elements)
        # Two axes: a layer's result is then no view, and its ReLU can take its place.
        flat = whole.reshape(-1, whole.shape[-1])
        hidden = torch.relu_(self.second(torch.relu_(self.first(flat))))
        raw = raw + nn.functional.linear(hidden, self.head.layer.weight).reshape(raw.shape)
        before = self.signature.residual
        around = None if before is None else cast(Tensor, args[before])
        return self.head.value(raw, around)

    @torch.no_grad()
    def add_sparsity(self, weight: float) -> None:
        """Add to the gradients that of ``weight · Σ norm`` over the factors' weights.

        Nothing is added where nothing was learned: a network that no example
        reached stays as it is.
        """
        first, direct = self.first.weight, self.direct.weight
        if first.grad is None or direct.grad is None:
            return
        member = cast(Tensor, self.member)
        squares = first.square().sum(0) + direct.square().sum(0)
        shrink = weight * (member @ (squares @ member + NORM_FLOOR).rsqrt())
        first.grad.addcmul_(first, shrink)
        direct.grad.addcmul_(direct, shrink)


@final
class Sparsity:
    """Makes default networks within a module prefer functions of few input factors, and offsets small balls.

    The networks are looked for once; Boolean networks of one signature share a few operations.
    """

    def __init__(self, module: nn.Module) -> None:
        parts = list(module.modules())
        self._networks = [part for part in parts if isinstance(part, Network | Offset)]
        alike: dict[Signature, list[BooleanNet]] = {}
        for part in parts:
            if isinstance(part, BooleanNet):
                alike.setdefault(part.signature, []).append(part)
        self._boolean_nets = list(alike.values())

    def add(self, weight: float) -> None:
        """Add the price to the gradients."""
        for network in self._networks:
            network.add_sparsity(weight)
        for networks in self._boolean_nets:
            add_group_lassos(networks, weight)


def expect(module: nn.Module | None, mean: Tensor, scale: Tensor) -> None:
    """Tell a default network what numbers it will have to return; others are left alone."""
    if isinstance(module, Network | Constant):
        module.head.expect(mean, scale)
