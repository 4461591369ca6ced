"""A Boolean network: an additive logistic model, or a perceptron."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor

from pdsketch.nets.additive import AdditiveLogistic, add_group_lasso
from pdsketch.nets.features import NORM_FLOOR, Argument, Chosen, Features, membership
from pdsketch.nets.forms import Form
from pdsketch.nets.layers import FIRST_WIDTH, SECOND_WIDTH, linear
from pdsketch.nets.nested import Nested
from pdsketch.nets.signature import Signature


class BooleanNet(Nested):
    """An additive logistic model of several levels (main effects, pairwise terms, counts, sums); or else, for
    what is no such sum (an exclusive or), a perceptron, and one that counts.

    The perceptron stands alone: coefficients move far in one step (`additive.COEFFICIENT_SCALE`), and where
    the sum cannot explain the examples it would only disturb what the perceptron is learning.

    Once trained, products speak for a truth beyond the numbers seen only as far as they do at the nearest
    numbers seen: a parabola that fits where the data is may open to the wrong side elsewhere.
    """

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        features = Features(signature, generator)
        additive = AdditiveLogistic(signature, features, generator)
        super().__init__([*additive.kinds, "perceptron", *(["counting"] if features.pools else [])])
        self.signature = signature
        self.form: Form | None = None
        self.features = features
        self.additive = additive
        self.register_buffer("member", membership(features.factors), persistent=False)
        self.first = linear(sum(features.factors), FIRST_WIDTH, generator)
        self.second = linear(FIRST_WIDTH, SECOND_WIDTH, generator)
        self.last = linear(SECOND_WIDTH, 1, generator, zero=True)

    def forward(self, *args: Argument) -> Tensor:
        """The truth ``[..., 1]``."""
        if self.form is not None:
            return cast(Tensor, self.form(*args))
        features = self.features
        self.additive.note_values(args)
        singles = features.values(args)
        alone, between = features.alone(singles), features.between(singles)
        elements = features.elements(args)
        parts = [*alone, *between]
        some = parts[0] if parts else next(iter(elements.values())).flatten(-2)
        leading = some.shape[:-1]
        drawn = self.drawn(leading, some.device)
        deep = self.reaches("perceptron")
        if deep and drawn is None:
            moved = None if self.training else features.moved_inside(singles, alone)
            if moved is not None:
                parts = [*features.alone(moved), *features.between(moved)]
            return torch.sigmoid(self._perceptron(parts, args, elements, self.reaches("counting"), None))
        odds = self._additive(args, dict(zip(singles, alone, strict=True)), between, elements, drawn)
        if deep and drawn is not None:
            odds = odds * (drawn < self.levels.index("perceptron"))
            counted = drawn >= self.levels.index("counting") if self.reaches("counting") else False
            chosen = self.chosen("perceptron", leading, odds.device)
            rest = self._perceptron(parts, args, elements, counted, chosen)
            odds = self.added("perceptron", odds, rest, drawn, chosen)
        return torch.sigmoid(odds)

    def _additive(
        self,
        args: Sequence[Argument],
        own: Mapping[int, Tensor],
        between: Sequence[Tensor],
        elements: Mapping[int, Tensor],
        drawn: Tensor | None,
    ) -> Tensor:
        """The odds' logarithm by the additive model, as far as each example gets."""
        additive = self.additive
        bounded = additive.bounded(own, between)
        odds = additive.linear(self.features, args, own, between, elements, bounded)
        if self.reaches("products"):
            chosen = self.chosen("products", odds.shape[:-1], odds.device)
            products = additive.products(args, bounded, chosen)
            if not self.training:
                near = additive.bounded(*self.features.near(own, between))
                products = torch.minimum(products, additive.products(args, near, chosen))
            odds = self.added("products", odds, products, drawn, chosen)
        if self.reaches("counts"):
            odds = odds + self.masked("counts", additive.counts(args, elements), drawn)
        if self.reaches("sums"):
            odds = odds + self.masked("sums", additive.sums(self.features, args, elements), drawn)
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
        add_group_lassos([self], weight)


@torch.no_grad()
def add_group_lassos(networks: Sequence[BooleanNet], weight: float) -> None:
    """Add, for networks of one signature, ``weight`` times the norms of all factors' weights.

    Nothing is added where nothing was learned.
    """
    add_group_lasso([network.additive for network in networks], weight)
    firsts = [network.first.weight for network in networks if network.first.weight.grad is not None]
    if firsts:
        member = cast(Tensor, networks[0].member)
        whole = torch.stack(firsts)
        shrink = (whole.square().sum(1) @ member + NORM_FLOOR).rsqrt() @ member.T
        price = whole * (weight * shrink).unsqueeze(1)
        torch._foreach_add_([cast(Tensor, first.grad) for first in firsts], list(price.unbind()))
