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

from pdsketch.nets.boolean_net import BooleanNet, Perceptron, add_group_lassos
from pdsketch.nets.features import Argument
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


class Network(Perceptron):
    """A linear function of the features of all arguments, and a perceptron beside it.

    ``gate``, of an effect that assigns numbers under no condition: whether there is
    a new value at all. Most variables stay as they are, and *when* is then the
    hard question: *what*, asked alone, is often linear (a step ahead), while a sum that must
    be exactly 0 wherever something is in the way is not.
    """

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__(signature, generator)
        residual = signature.residual is not None
        self.head = Head(WIDTH, signature.output, generator, residual=residual, bounded=signature.bounded)
        # What is seen in images differs from the first step on: else what reads it would find all alike.
        sees = not residual and any(one.spec.is_image for one in signature.inputs)
        width, outputs = sum(self.features.factors), self.head.layer.out_features
        self.direct = linear(width, outputs, generator, zero=not sees)
        # Of many numbers each moves less: together they must not outrun everything else.
        numbers = sum(one.spec.size for one in signature.inputs if not one.is_set)
        self.direct_scale = max(1.0, DIRECT_SCALE * min(1.0, FULL_SCALE_INPUTS / max(1, numbers)))
        gated = signature.gated and residual and signature.output.prim == "float"
        self.gate = BooleanNet(Signature(signature.inputs, Spec("bool")), generator) if gated else None

    @property
    def reading(self) -> list[Tensor]:
        """The weights of both layers that read the features."""
        return [self.first.weight, self.direct.weight]

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
        hidden = self.hidden(whole.reshape(-1, whole.shape[-1]))
        raw = raw + nn.functional.linear(hidden, self.head.layer.weight).reshape(raw.shape)
        before = self.signature.residual
        around = None if before is None else cast(Tensor, args[before])
        return self.head.value(raw, around)


@final
class Sparsity:
    """Makes a fit with few examples prefer functions of few factors of their input (the colour, and not the
    colour and the type together), and offsets small balls.

    The networks are looked for once; those of one signature share a few operations.
    """

    def __init__(self, module: nn.Module) -> None:
        parts = list(module.modules())
        self._offsets = [part for part in parts if isinstance(part, Offset)]
        alike: dict[tuple[type, Signature], list[Perceptron]] = {}
        for part in parts:
            if isinstance(part, Perceptron):
                alike.setdefault((type(part), part.signature), []).append(part)
        self._alike = list(alike.values())

    def add(self, weight: float) -> None:
        """Add to the gradients that of ``weight`` times the norms of all factors' weights."""
        for offset in self._offsets:
            offset.add_sparsity(weight)
        for networks in self._alike:
            add_group_lassos(networks, weight)


def expect(module: nn.Module | None, mean: Tensor, scale: Tensor) -> None:
    """Tell a default network what numbers it will have to return; others are left alone."""
    if isinstance(module, Network | Constant):
        module.head.expect(mean, scale)
