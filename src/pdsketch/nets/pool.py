"""A weighted set → features that do not depend on the order of its elements."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from pdsketch.nets.encode import Relation, encoder
from pdsketch.nets.layers import NARROW, WIDTH, linear
from pdsketch.nets.signature import Spec


class Pool(nn.Module):
    """Each element goes through one network, with the single arguments beside it; then sum, mean and maximum.

    ``kin`` are the single arguments of the elements' own type: each element
    comes with its difference from them. An element of weight 0 leaves no trace;
    an empty set gives zeros.
    """

    def __init__(
        self, spec: Spec, kin: tuple[int, ...], context: int, generator: torch.Generator | None
    ) -> None:
        super().__init__()
        self.axes = len(spec.axes)
        self.kin = kin
        self.encode = encoder(spec, generator)
        self.relations = nn.ModuleList([Relation(spec) for _ in kin])
        own = sum(self.encode.factors) + sum(sum(r.factors) for r in self.relations)  # type: ignore[misc, arg-type]
        self.element = linear(own, WIDTH, generator)
        self.context = linear(context, WIDTH, generator) if context else None
        self.second = linear(WIDTH, NARROW, generator)
        self.factors = (3 * NARROW + 1,)

    def forward(
        self, values: Tensor, weights: Tensor, context: Tensor | None, singles: Mapping[int, Tensor]
    ) -> Tensor:
        """``[..., n, *axes]`` and ``[..., n]`` → ``[..., features]``."""
        parts = [self.encode(values)]
        for i, relation in zip(self.kin, self.relations, strict=True):
            parts.append(relation(values, singles[i].unsqueeze(-1 - self.axes)))
        features = torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]
        leading = features.shape[:-1]
        hidden = self.element(features.reshape(-1, features.shape[-1]))
        if self.context is not None and context is not None:
            beside = self.context(context).unsqueeze(-2)
            hidden = (hidden.reshape(*leading, WIDTH) + beside).reshape(-1, WIDTH)
        elements = torch.relu_(self.second(torch.relu(hidden))).reshape(*leading, NARROW)
        elements = elements * weights.unsqueeze(-1)
        total = elements.sum(-2)
        count = weights.sum(-1, keepdim=True)
        # Under one element the mean would blow up weights near zero; it fades out instead.
        mean = total / count.clamp_min(1.0)
        most = elements.amax(-2) if elements.shape[-2] else total
        return torch.cat([total, mean, most, count], dim=-1)
