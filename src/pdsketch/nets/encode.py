"""One value of a given spec → a flat feature vector, split into the factors that it is made of."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pdsketch.nets.layers import WIDTH, convolution, linear
from pdsketch.nets.normalise import Normalise
from pdsketch.nets.signature import Spec

SMALLEST_IMAGE = 4
"""Convolutions halve an image until it is no larger than this; set by hand."""


class Flat(nn.Module):
    """Numbers and Booleans as they are, normalised; one-hot ints side by side.

    ``factors`` are the widths of the independent parts of the features: each
    int of a vector of ints is a factor of its own, a vector of floats is one.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.axes = len(spec.axes)
        self.normalise = None if spec.is_categorical else Normalise(spec.size)
        self.factors = (spec.choices or 1,) * spec.size if spec.is_categorical else (spec.size,)

    def forward(self, x: Tensor) -> Tensor:
        """``[..., *axes]`` → ``[..., features]``."""
        flat = x.flatten(-self.axes) if self.axes > 1 else x
        return flat if self.normalise is None else self.normalise(flat)


class Image(nn.Module):
    """A small convolutional network for ``[..., h, w, c]`` of any size."""

    def __init__(self, spec: Spec, generator: torch.Generator | None) -> None:
        super().__init__()
        height, width, channels = spec.shape
        self.normalise = Normalise(channels)
        layers: list[nn.Module] = []
        outputs = WIDTH // 4
        while not layers or max(height, width) > SMALLEST_IMAGE:
            layers += [convolution(channels, outputs, generator), nn.ReLU()]
            height, width, channels = (height + 1) // 2, (width + 1) // 2, outputs
            outputs = min(2 * outputs, WIDTH)
        self.convolutions = nn.Sequential(*layers)
        self.project = linear(height * width * channels, WIDTH, generator)
        self.factors = (WIDTH,)

    def forward(self, x: Tensor) -> Tensor:
        """``[..., h, w, c]`` → ``[..., features]``."""
        leading = x.shape[:-3]
        pixels = self.normalise(x).reshape(-1, *x.shape[-3:]).permute(0, 3, 1, 2)
        found = self.project(self.convolutions(pixels).flatten(1))
        # Normalised by example: else all units fell silent in fits whose effects predict features.
        features = torch.relu(nn.functional.layer_norm(found, found.shape[-1:]))
        return features.reshape(*leading, WIDTH)


def encoder(spec: Spec, generator: torch.Generator | None) -> Flat | Image:
    """The encoder for a value."""
    return Image(spec, generator) if spec.is_image else Flat(spec)


class Relation(nn.Module):
    """How two values of one type differ, so that what depends on the difference generalises over the values.

    Numbers: their difference. Ints with choices: for each int, the probability
    that the two are the same.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.axes = len(spec.axes)
        self.normalise = None if spec.is_categorical else Normalise(spec.size)
        self.factors = (1,) * spec.size if spec.is_categorical else (spec.size,)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Two values ``[..., *axes]`` → ``[..., features]``."""
        if self.normalise is None:
            same = (a * b).sum(-1, keepdim=self.axes == 1)
            return same.flatten(-(self.axes - 1)) if self.axes > 2 else same
        flat: Tensor = self.normalise((a - b).flatten(-self.axes) if self.axes > 1 else a - b)
        return flat
