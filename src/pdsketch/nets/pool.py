"""A weighted set → features that depend neither on the order of its elements nor on how many there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.encode import Relation, encoder
from pdsketch.nets.layers import WIDTH, linear
from pdsketch.nets.signature import Spec

KINDS_COUNTED = 4
"""How many kinds of elements are counted; set by hand, not swept."""


class Pool(nn.Module):
    """Each element goes through one network, with the single arguments beside it; then the maximum.

    A maximum means the same for 8 elements and for 14; a sum or a mean does not. What must be counted is
    counted apart: a few kinds of elements, each a matter of yes or no, so that elements of no such kind do
    not add up to anything.

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
        related = [width for relation in self.relations for width in cast(Relation, relation).factors]
        self.element_factors = [*self.encode.factors, *related]
        self.width = sum(self.element_factors)
        self.element = linear(self.width, WIDTH, generator)
        self.context = linear(context, WIDTH, generator, bias=False) if context else None
        self.middle = linear(WIDTH, WIDTH, generator)
        self.second = linear(WIDTH, WIDTH, generator)
        self.kinds = linear(WIDTH, KINDS_COUNTED, generator)
        self.factors = (WIDTH, KINDS_COUNTED)

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
        most = found.amax(-2) if found.shape[-2] else found.sum(-2)
        kinds = torch.sigmoid(self.kinds(hidden)).reshape(*leading, KINDS_COUNTED) * weights.unsqueeze(-1)
        return torch.cat([most, kinds.sum(-2)], dim=-1)
