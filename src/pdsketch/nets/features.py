"""Arguments → features: each alone, those of one type compared, sets pooled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.layers import WIDTH, convolution, linear
from pdsketch.nets.normalise import Normalise
from pdsketch.nets.signature import Input, Signature, Spec

Argument = Tensor | tuple[Tensor, Tensor]

# -- one value

SMALLEST_IMAGE = 4
"""Convolutions halve an image until it is no larger than this; set by hand."""


class Flat(nn.Module):
    """Numbers and Booleans as they are, normalised; one-hot ints side by side: ``width`` features."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.axes = len(spec.axes)
        self.normalise = None if spec.is_categorical else Normalise(spec.size)
        self.width = (spec.choices or 1) * spec.size if spec.is_categorical else spec.size

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
        self.width = WIDTH

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
        self.width = spec.size

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Two values ``[..., *axes]`` → ``[..., features]``."""
        if self.normalise is None:
            same = (a * b).sum(-1, keepdim=self.axes == 1)
            return same.flatten(-(self.axes - 1)) if self.axes > 2 else same
        flat: Tensor = self.normalise((a - b).flatten(-self.axes) if self.axes > 1 else a - b)
        return flat


# -- a set of values


class Pool(nn.Module):
    """Each element goes through one network, with the single arguments beside it; then the maximum.

    A maximum means the same for 8 elements and for 14; a sum or a mean does not. What must be counted is
    counted by forms (`forms.CountForm`).

    ``spec`` is the type of an element, ``context`` the width of the single arguments' features (0: there are
    none); ``generator`` draws the weights. ``kin`` are the single arguments of the elements' own type: each
    element comes with its difference from them. An element of weight 0 leaves no trace; an empty set gives
    zeros.
    """

    def __init__(
        self, spec: Spec, kin: tuple[int, ...], context: int, generator: torch.Generator | None
    ) -> None:
        super().__init__()
        self.axes = len(spec.axes)
        self.kin = kin
        self.encode = encoder(spec, generator)
        self.relations = nn.ModuleList([Relation(spec) for _ in kin])
        each = self.encode.width + sum(spec.size for _ in kin)
        self.element = linear(each, WIDTH, generator)
        self.context = linear(context, WIDTH, generator, bias=False) if context else None
        self.middle = linear(WIDTH, WIDTH, generator)
        self.second = linear(WIDTH, WIDTH, generator)
        self.width = WIDTH

    def elements(self, values: Tensor, singles: Mapping[int, Tensor]) -> Tensor:
        """The features of each element, ``[..., n, *axes]`` → ``[..., n, width]``."""
        parts = [self.encode(values)]
        for i, relation in zip(self.kin, self.relations, strict=True):
            parts.append(relation(values, singles[i].unsqueeze(-1 - self.axes)))
        return torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]

    def forward(self, elements: Tensor, weights: Tensor, context: Tensor | None) -> Tensor:
        """``[..., n, width]`` and ``[..., n]`` → ``[..., features]``.

        ``elements`` are the features of each, ``weights`` how far it is in the set, ``context`` the features
        of the single arguments, ``[..., width]``.
        """
        leading = elements.shape[:-1]
        hidden = self.element(elements.reshape(-1, elements.shape[-1]))
        if self.context is not None and context is not None:
            beside = self.context(context).unsqueeze(-2)
            hidden = (hidden.reshape(*leading, WIDTH) + beside).reshape(-1, WIDTH)
        hidden = torch.relu(self.middle(torch.relu(hidden)))
        found = torch.relu(self.second(hidden)).reshape(*leading, WIDTH) * weights.unsqueeze(-1)
        return found.amax(-2) if found.shape[-2] else found.sum(-2)


# -- all arguments


class Features(nn.Module):
    """All arguments as one vector of ``width`` numbers."""

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__()
        inputs = signature.inputs
        self.singles = [i for i, one in enumerate(inputs) if not one.is_set]
        self.pairs = [(i, j) for i, j in combinations(self.singles, 2) if _kindred(inputs[i], inputs[j])]
        self.encoders = nn.ModuleDict({str(i): encoder(inputs[i].spec, generator) for i in self.singles})
        self.relations = nn.ModuleList([Relation(inputs[i].spec) for i, _ in self.pairs])
        context = _width([*self.encoders.values(), *self.relations])
        self.pools = nn.ModuleDict()
        for i, one in enumerate(inputs):
            if one.is_set:
                kin = tuple(s for s in self.singles if _kindred(one, inputs[s]))
                self.pools[str(i)] = Pool(one.spec, kin, context, generator)
        self.width = context + _width(self.pools.values())

    def values(self, args: Sequence[Argument]) -> dict[int, Tensor]:
        """The arguments that are no sets, by their place."""
        return {i: cast(Tensor, args[i]) for i in self.singles}

    def alone(self, singles: dict[int, Tensor]) -> list[Tensor]:
        """Each single argument."""
        return [self.encoders[str(i)](x) for i, x in singles.items()]

    def between(self, singles: dict[int, Tensor]) -> list[Tensor]:
        """How the arguments of one type differ."""
        both = zip(self.pairs, self.relations, strict=True)
        return [relation(singles[i], singles[j]) for (i, j), relation in both]

    def elements(self, args: Sequence[Argument]) -> dict[int, Tensor]:
        """The features of each element of each set, ``[..., n, features]``, by the set's place."""
        singles = self.values(args)
        found = {}
        for name, pool in self.pools.items():
            values, _ = args[int(name)]
            found[int(name)] = cast(Pool, pool).elements(values, singles)
        return found

    def whole(
        self, parts: Sequence[Tensor], args: Sequence[Argument], elements: Mapping[int, Tensor]
    ) -> Tensor:
        """The parts and the pooled sets beside them.

        ``parts`` are the features of single arguments and of pairs, ``[..., width]``; ``elements`` those of
        each element of the sets among ``args``, by place.
        """
        context = torch.cat(list(parts), dim=-1) if parts else None
        pooled = []
        for name, pool in self.pools.items():
            _, weights = args[int(name)]
            pooled.append(pool(elements[int(name)], weights, context))
        return torch.cat([*parts, *pooled], dim=-1)


def _width(parts: Iterable[object]) -> int:
    """The width of some encoders, relations or pools together."""
    return sum(cast("Flat | Image | Relation | Pool", part).width for part in parts)


def _kindred(a: Input, b: Input) -> bool:
    """Whether the difference of two arguments means something."""
    return a.type_id is not None and a.type_id == b.type_id and a.spec == b.spec and not a.spec.is_image
