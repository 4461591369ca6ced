"""A Boolean of anything: a sum of evidence, or a perceptron."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor

from pdsketch.nets.evidence import Evidence, add_factors
from pdsketch.nets.features import Argument, Chosen, Features, membership
from pdsketch.nets.layers import NARROW, WIDTH, linear
from pdsketch.nets.nested import Nested
from pdsketch.nets.signature import Signature


class Verdict(Nested):
    """Evidence of single things, of two together, of numbers of elements; or else, for what is no sum of
    evidence (an exclusive or), a perceptron, and one that counts.

    The perceptron stands alone: evidence moves in strides (`evidence.STRIDE`), and where
    it cannot explain the examples it would only shake what the perceptron is learning.
    """

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        features = Features(signature, generator)
        evidence = Evidence(signature, features, generator)
        super().__init__([*evidence.kinds, "perceptron", *(["counting"] if features.pools else [])])
        self.signature = signature
        self.features = features
        self.evidence = evidence
        self.register_buffer("member", membership(features.factors), persistent=False)
        self.first = linear(sum(features.factors), WIDTH, generator)
        self.second = linear(WIDTH, NARROW, generator)
        self.last = linear(NARROW, 1, generator, zero=True)

    def forward(self, *args: Argument) -> Tensor:
        """The truth ``[..., 1]``."""
        features = self.features
        singles = features.values(args)
        alone, between = features.alone(singles), features.between(singles)
        elements = features.elements(args)
        parts = [*alone, *between]
        some = parts[0] if parts else next(iter(elements.values())).flatten(-2)
        leading = some.shape[:-1]
        drawn = self.drawn(leading, some.device)
        deep = self.reaches("perceptron")
        if deep and drawn is None:
            return torch.sigmoid(self._perceptron(parts, args, elements, self.reaches("counting"), None))
        odds = self._evidence(args, dict(zip(singles, alone, strict=True)), between, elements, drawn)
        if deep and drawn is not None:
            odds = odds * (drawn < self.levels.index("perceptron"))
            counted = drawn >= self.levels.index("counting") if self.reaches("counting") else False
            chosen = self.chosen("perceptron", leading, odds.device)
            rest = self._perceptron(parts, args, elements, counted, chosen)
            odds = self.added("perceptron", odds, rest, drawn, chosen)
        return torch.sigmoid(odds)

    def _evidence(
        self,
        args: Sequence[Argument],
        own: Mapping[int, Tensor],
        between: Sequence[Tensor],
        elements: Mapping[int, Tensor],
        drawn: Tensor | None,
    ) -> Tensor:
        """The odds' logarithm by evidence, as far as each example gets."""
        evidence = self.evidence
        bounded = evidence.bounded(own, between)
        odds = evidence.linear(args, own, between, elements, bounded)
        if self.reaches("products"):
            chosen = self.chosen("products", odds.shape[:-1], odds.device)
            odds = self.added("products", odds, evidence.products(args, bounded, chosen), drawn, chosen)
        if self.reaches("counts"):
            odds = odds + self.masked("counts", evidence.counts(args, elements), drawn)
        if self.reaches("sums"):
            odds = odds + self.masked("sums", evidence.sums(self.features, args, elements), drawn)
        return odds

    def _perceptron(
        self,
        parts: Sequence[Tensor],
        args: Sequence[Argument],
        elements: dict[int, Tensor],
        counted: Tensor | bool,
        chosen: Chosen | None,
    ) -> Tensor:
        """The odds' logarithm by the perceptron, of the ``chosen`` examples or of all."""
        hidden = self.features.whole(parts, args, elements, counted, chosen)
        return cast(Tensor, self.last(torch.relu(self.second(torch.relu(self.first(hidden))))))

    def add_sparsity(self, weight: float) -> None:
        """Add the price of its factors to the gradients."""
        add_price([self], weight)


@torch.no_grad()
def add_price(verdicts: Sequence[Verdict], weight: float) -> None:
    """Add, for verdicts of one signature, ``weight`` times the norms of all factors' weights.

    Nothing is added where nothing was learned.
    """
    add_factors([verdict.evidence for verdict in verdicts], weight)
    firsts = [verdict.first.weight for verdict in verdicts if verdict.first.weight.grad is not None]
    if firsts:
        member = cast(Tensor, verdicts[0].member)
        whole = torch.stack(firsts)
        shrink = (whole.square().sum(1) @ member + 1e-8).rsqrt() @ member.T
        price = whole * (weight * shrink).unsqueeze(1)
        torch._foreach_add_([cast(Tensor, first.grad) for first in firsts], list(price.unbind()))
