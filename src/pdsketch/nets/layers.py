"""Layers whose first weights come from a generator that the caller owns."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

WIDTH = 64
"""The width of hidden layers: small for one CPU core, wide enough for grids and attributes. Set by hand; a
first layer of 128 was no better for PDS-Base."""


class Affine(nn.Linear):
    """A linear layer without first weights of its own."""

    def reset_parameters(self) -> None:
        """`linear` fills them."""


class Convolution(nn.Conv2d):
    """A convolution without first weights of its own."""

    def reset_parameters(self) -> None:
        """`convolution` fills them."""


def linear(
    inputs: int, outputs: int, generator: torch.Generator | None, *, zero: bool = False, bias: bool = True
) -> nn.Linear:
    """A linear layer, uniform in ±1/√inputs as PyTorch's own, or all ``zero``.

    It takes ``inputs`` numbers to ``outputs``, with a ``bias`` or without; ``generator`` draws the weights
    (None: torch's own).
    """
    layer = Affine(inputs, outputs, bias=bias, device=_place())
    bound = 0.0 if zero else 1.0 / math.sqrt(max(1, inputs))
    _fill(layer.weight, bound, generator)
    if bias:
        _fill(layer.bias, bound, generator)
    return layer


def convolution(inputs: int, outputs: int, generator: torch.Generator | None) -> nn.Conv2d:
    """A 3×3 convolution that halves height and width."""
    layer = Convolution(inputs, outputs, 3, stride=2, padding=1, device=_place())
    _fill(layer.weight, math.sqrt(6.0 / (9 * inputs)), generator)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def _place() -> str:
    """Where layers are made: in memory, or nowhere where only their shapes are asked for."""
    return "meta" if torch.get_default_device().type == "meta" else "cpu"


def _fill(weight: Tensor, bound: float, generator: torch.Generator | None) -> None:
    with torch.no_grad():
        weight.uniform_(-bound, bound, generator=generator) if bound else weight.zero_()
