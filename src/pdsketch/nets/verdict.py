"""A Boolean of anything: evidence adds up, and a perceptron that is dear to use does the rest."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from pdsketch.nets.evidence import Evidence
from pdsketch.nets.features import Argument, Features
from pdsketch.nets.layers import NARROW, WIDTH, linear
from pdsketch.nets.signature import Signature

HIDDEN = 60.0
"""What the perceptron costs beside an input factor of another network."""


class Verdict(nn.Module):
    """The evidence, and beside it a perceptron for what is no sum of evidence (an exclusive or)."""

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__()
        self.signature = signature
        self.features = Features(signature, generator)
        self.evidence = Evidence(signature, self.features)
        width = sum(self.features.factors)
        plain = len(self.evidence.codes) == len(signature.inputs)
        self.first = None if plain else linear(width, WIDTH, generator)
        self.second = linear(width if plain else WIDTH, NARROW, generator)
        self.last = linear(NARROW, 1, generator, zero=True)

    def forward(self, *args: Argument) -> Tensor:
        """The truth ``[..., 1]``."""
        singles = self.features.values(args)
        alone, between = self.features.alone(singles), self.features.between(singles)
        sure = self.evidence(self.features, args, alone, between)
        hidden = self.features.whole([*alone, *between], args)
        if self.first is not None:
            hidden = torch.relu(self.first(hidden))
        hidden = torch.relu(self.second(hidden))
        # Of unit length, so that the perceptron cannot get strong behind the back of its price.
        hidden = nn.functional.layer_norm(hidden, (NARROW,)) / math.sqrt(NARROW)
        return torch.sigmoid(sure + self.last(hidden))

    @torch.no_grad()
    def add_sparsity(self, weight: float) -> None:
        """Add the gradients of ``weight`` times the norms of the evidence and of the perceptron's part."""
        self.evidence.add_sparsity(weight)
        last = self.last.weight
        if last.grad is not None:
            last.grad.add_(last / (last.norm() + 1e-4), alpha=weight * HIDDEN)
