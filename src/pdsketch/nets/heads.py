"""From hidden features to a value of the output spec: plain, or starting as "no change".

A residual head has zero weights at first. Numbers: ``x + scale · 0``, exactly
the identity. Booleans and ints: a choice between *keep* and each value, where
*keep* starts at `KEEP_PROBABILITY`; a sum of logits would pass no gradient where the old
value is certain, and the old value of an observed Boolean always is.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.layers import linear
from pdsketch.nets.signature import Spec

KEEP_PROBABILITY = 0.98
"""How likely a residual head keeps a Boolean or an int before it has learned anything. Set by hand, not
swept: most variables stay as they are."""

LOG_FLOOR = 1e-6
"""Added to probabilities before their logarithm, so that it is finite at 0. Set by hand."""


class Head(nn.Module):
    """The last layer and what its numbers mean; ``before`` is the value around which a residual head starts.

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
