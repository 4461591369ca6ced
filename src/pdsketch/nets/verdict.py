"""A Boolean of anything: evidence adds up, and a perceptron does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from pdsketch.nets.evidence import Evidence, add_factors
from pdsketch.nets.features import Argument, Features
from pdsketch.nets.layers import NARROW, WIDTH, linear
from pdsketch.nets.nested import Nested
from pdsketch.nets.signature import Signature

HIDDEN = 3.0
"""What the perceptron costs beside a factor of the evidence."""


class Verdict(Nested):
    """Evidence of single things, of two together, of numbers of elements; then a perceptron for what is no
    sum of evidence (an exclusive or), and one that counts.
    """

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        features = Features(signature, generator)
        evidence = Evidence(signature, features, generator)
        super().__init__([*evidence.kinds, "perceptron", *(["counting"] if features.pools else [])])
        self.signature = signature
        self.features = features
        self.evidence = evidence
        self.first = linear(sum(features.factors), WIDTH, generator)
        self.second = linear(WIDTH, NARROW, generator)
        self.last = linear(NARROW, 1, generator, zero=True)

    def forward(self, *args: Argument) -> Tensor:
        """The truth ``[..., 1]``."""
        features, evidence = self.features, self.evidence
        singles = features.values(args)
        alone, between = features.alone(singles), features.between(singles)
        elements = features.elements(args)
        own = dict(zip(singles, alone, strict=True))
        bounded = evidence.bounded(own, between)
        odds = evidence.linear(args, own, between, elements, bounded)
        drawn = self.drawn(odds.shape[:-1], odds.device)
        if self.reaches("products"):
            chosen = self.chosen("products", odds.shape[:-1], odds.device)
            odds = self.added("products", odds, evidence.products(args, bounded, chosen), drawn, chosen)
        if self.reaches("counts"):
            odds = odds + self.masked("counts", evidence.counts(args, elements), drawn)
        if self.reaches("sums"):
            odds = odds + self.masked("sums", evidence.sums(features, args, elements), drawn)
        if self.reaches("perceptron"):
            counted: Tensor | bool = self.reaches("counting")
            if counted and drawn is not None:
                counted = drawn >= self.levels.index("counting")
            chosen = self.chosen("perceptron", odds.shape[:-1], odds.device)
            hidden = features.whole([*alone, *between], args, elements, counted, chosen)
            hidden = torch.relu(self.second(torch.relu(self.first(hidden))))
            odds = self.added("perceptron", odds, self.last(hidden), drawn, chosen)
        return torch.sigmoid(odds)

    def add_sparsity(self, weight: float) -> None:
        """Add the price of its factors to the gradients."""
        add_price([self], weight)


@torch.no_grad()
def add_price(verdicts: Sequence[Verdict], weight: float) -> None:
    """Add, for verdicts of one signature, ``weight`` times the norms of evidence's factors and perceptrons.

    Without a price of its own a perceptron would take over what evidence explains.
    Nothing is added where nothing was learned.
    """
    add_factors([verdict.evidence for verdict in verdicts], weight)
    lasts = [verdict.last.weight for verdict in verdicts]
    lasts = [last for last in lasts if last.grad is not None]
    if lasts:
        whole = torch.cat(lasts)
        price = whole * (weight * HIDDEN / (torch.linalg.vector_norm(whole, dim=1, keepdim=True) + 1e-4))
        torch._foreach_add_([cast(Tensor, last.grad) for last in lasts], torch.split(price, 1))
