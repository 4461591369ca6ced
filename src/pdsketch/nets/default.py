"""The default network of a blank, made from its signature alone.

Every argument becomes features (`features`), arguments of one type also their
difference, sets are pooled; then two hidden layers and, for values, a direct
linear path beside them, so that what is simple is learned from few examples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.features import Argument, Features
from pdsketch.nets.forms import BlankForm
from pdsketch.nets.layers import WIDTH, linear
from pdsketch.nets.normalise import Normalise
from pdsketch.nets.signature import Signature, Spec


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


class Perceptron(nn.Module):
    """Two hidden layers. ``form``: the simple function that answers in its place; ``rivals``: others that
    explain as much, and differ where nothing was seen.
    """

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__()
        self.signature = signature
        self.form: BlankForm | None = None
        self.rivals: tuple[BlankForm, ...] = ()
        self.features = Features(signature, generator)
        self.first = linear(self.features.width, WIDTH, generator)
        self.second = linear(WIDTH, WIDTH, generator)

    def hidden(self, features: Tensor) -> Tensor:
        """What the last layer gets."""
        return torch.relu(self.second(torch.relu(self.first(features))))


class BooleanNet(Perceptron):
    """At first as true as false."""

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__(signature, generator)
        self.last = linear(WIDTH, 1, generator, zero=True)

    def forward(self, *args: Argument) -> Tensor:
        """The truth ``[..., 1]``."""
        if self.form is not None:
            return cast(Tensor, self.form(*args))
        features = self.features
        singles = features.values(args)
        parts = [*features.alone(singles), *features.between(singles)]
        whole = features.whole(parts, args, features.elements(args))
        return torch.sigmoid(cast(Tensor, self.last(self.hidden(whole))))


def is_free(network: BooleanNet) -> bool:
    """Whether a network speaks for itself, and nobody watches or records what it is given."""
    if network.form is not None or network._forward_hooks or network._forward_pre_hooks:
        return False
    return not any(part.recording for part in network.modules() if isinstance(part, Normalise))


FULL_SCALE_INPUTS = 8
"""Of more numbers than this, each coefficient of the linear part is scaled down, so that their sum is not."""

DIRECT_SCALE = 5.0
"""A learnable constant, and the linear part, are multiplied by this, so that AdamW moves them further
than a perceptron's weights. Set by hand."""


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
        outputs = self.head.layer.out_features
        self.direct = linear(self.features.width, outputs, generator, zero=not sees)
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
        hidden = self.hidden(whole.reshape(-1, whole.shape[-1]))
        raw = raw + nn.functional.linear(hidden, self.head.layer.weight).reshape(raw.shape)
        before = self.signature.residual
        around = None if before is None else cast(Tensor, args[before])
        return self.head.value(raw, around)


# -- the last layer

KEEP_PROBABILITY = 0.98
"""How likely a residual head keeps a Boolean or an int before it has learned anything. Set by hand, not
swept: most variables stay as they are."""

LOG_FLOOR = 1e-6
"""Added to probabilities before their logarithm, so that it is finite at 0. Set by hand."""


class Head(nn.Module):
    """From hidden features to a value; ``before`` is the value around which a residual head starts.

    A residual head has zero weights at first. Numbers: ``x + scale · 0``, exactly the identity. Booleans and
    ints: a choice between *keep* and each value, where *keep* starts at `KEEP_PROBABILITY`; a sum of logits
    would pass no gradient where the old value is certain, and the old value of an observed Boolean always is.

    It makes ``features`` numbers into a value of ``spec``; ``generator`` draws the weights. A ``residual``
    head begins by keeping the value that is there; ``bounded`` numbers stay between −2 and 2. ``out_mean``
    and ``out_scale`` are those of the numbers to be predicted, where data told them (`expect`); a residual
    ignores the mean.
    """

    def __init__(
        self,
        features: int,
        spec: Spec,
        generator: torch.Generator | None,
        *,
        residual: bool,
        bounded: bool = False,
    ) -> None:
        super().__init__()
        self.bounded = bounded
        if spec.prim == "int" and spec.choices is None:
            raise ValueError("no default network returns an int without choices")
        self.spec = spec
        self.residual = residual
        # Booleans and ints choose between their values and, in a residual, keeping the old one.
        values = 2 if spec.prim == "bool" else (spec.choices or 1)
        self.options = values + 1 if residual and spec.prim != "float" else values
        per_value = 1 if spec.prim == "float" or (spec.prim == "bool" and not residual) else self.options
        self.layer = linear(features, spec.size * per_value, generator, zero=residual)
        if residual and spec.prim != "float":
            bias = self.layer.bias.detach().view(spec.size, self.options)
            bias[:, -1] = math.log(KEEP_PROBABILITY / (1.0 - KEEP_PROBABILITY) * values)
        if spec.prim == "float":
            self.register_buffer("out_mean", torch.zeros(spec.size))
            self.register_buffer("out_scale", torch.ones(spec.size))
            self.register_buffer("told", torch.zeros((), dtype=torch.bool))

    def expect(self, mean: Tensor, scale: Tensor) -> None:
        """Say, once, what numbers to expect, so that the weights may stay near one."""
        if self.spec.prim == "float" and not bool(self.told):
            cast(Tensor, self.out_mean).copy_(mean.flatten())
            cast(Tensor, self.out_scale).copy_(scale.flatten())
            cast(Tensor, self.told).fill_(True)

    def value(self, raw: Tensor, before: Tensor | None) -> Tensor:
        """The value from the last layer's numbers ``[..., n]``."""
        spec = self.spec
        leading = raw.shape[:-1]
        if spec.prim == "float":
            scaled = raw * cast(Tensor, self.out_scale)
            if before is None:
                found = (scaled + cast(Tensor, self.out_mean)).reshape(*leading, *spec.axes)
            else:
                found = before + scaled.reshape(*leading, *spec.axes)
            return squashed(found) if self.bounded else found
        if before is None:
            return torch.sigmoid(raw) if spec.prim == "bool" else raw.reshape(*leading, *spec.axes)
        odds = raw.reshape(*leading, *spec.shape, self.options)
        choice = torch.softmax(odds, dim=-1)
        if spec.prim == "bool":
            truth = before.reshape(*leading, *spec.shape) * choice[..., -1] + choice[..., 1]
            truth = truth.clamp(max=1.0)  # two parts of a softmax may add up to a little more
            return truth.reshape(*leading, *spec.axes)
        return torch.log(before * choice[..., -1:] + choice[..., :-1] + LOG_FLOOR)


def squashed(x: Tensor) -> Tensor:
    """The identity between −1 and 1, and never beyond ±2: however often it is applied, nothing runs away."""
    inside = x.clamp(-1.0, 1.0)
    return inside + torch.tanh(x - inside)


def expect(module: nn.Module | None, mean: Tensor, scale: Tensor) -> None:
    """Tell a default network what numbers it will have to return; others are left alone."""
    if isinstance(module, Network | Constant):
        module.head.expect(mean, scale)
