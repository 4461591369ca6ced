"""The default network of a blank, made from its signature alone.

Every argument becomes features (`encode`), arguments of one type also their
difference, sets are pooled; then two hidden layers and, beside them, a direct
linear path, so that what is simple is learned from few examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, combinations, pairwise
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.encode import Relation, encoder
from pdsketch.nets.heads import Head
from pdsketch.nets.layers import NARROW, WIDTH, linear
from pdsketch.nets.pool import Pool
from pdsketch.nets.scores import Scores, fits
from pdsketch.nets.signature import Input, Signature

Argument = Tensor | tuple[Tensor, Tensor]

STRIDE = 5.0
"""How much further a learnable constant moves in one step than a weight does."""

FAINT, LOUD = 0.25, 4.0
"""How much values of one type count, and their difference: relations are looked for first."""


def make(signature: Signature, generator: torch.Generator | None = None) -> nn.Module:
    """A fresh network for the signature; its weights depend on the generator alone.

    A signature without inputs gives a learnable constant. Raises ValueError for
    an int without choices as the result, since there is nothing to learn it by.
    """
    if not signature.inputs:
        return Constant(signature)
    if fits(signature):
        return Scores(signature, generator)
    return Network(signature, generator)


class Constant(nn.Module):
    """A value without arguments: one learnable tensor behind the usual head."""

    def __init__(self, signature: Signature) -> None:
        super().__init__()
        head = Head(1, signature.output, None, residual=False)
        self.raw = nn.Parameter(torch.zeros(head.layer.out_features))
        head.layer = nn.Identity()  # type: ignore[assignment]
        self.head = head

    def forward(self) -> Tensor:
        """The value's own axes alone."""
        return self.head.value(self.raw * STRIDE, None)


class Network(nn.Module):
    """A multilayer perceptron over the features of all arguments.

    ``factors`` are the (start, stop) of the independent parts of its input;
    `add_sparsity` makes a fit with few examples prefer functions of few of them
    (the colour, and not the colour and the type together).
    """

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__()
        self.signature = signature
        singles = [i for i, one in enumerate(signature.inputs) if not one.is_set]
        self.encoders = nn.ModuleDict({str(i): encoder(signature.inputs[i].spec, generator) for i in singles})
        self.pairs = _pairs(signature.inputs, singles)
        self.relations = nn.ModuleList([Relation(signature.inputs[i].spec) for i, _ in self.pairs])
        context = _widths([*self.encoders.values(), *self.relations])
        self.pools = nn.ModuleDict()
        for i, one in enumerate(signature.inputs):
            if one.is_set:
                kin = tuple(s for s in singles if _kindred(one, signature.inputs[s]))
                self.pools[str(i)] = Pool(one.spec, kin, sum(context), generator)
        widths = [*context, *_widths(self.pools.values())]
        self.factors = _spans(widths)
        member = torch.zeros(sum(widths), len(widths))
        for at, (start, stop) in enumerate(self.factors):
            member[start:stop, at] = 1.0
        self.register_buffer("member", member, persistent=False)
        features = sum(widths)
        self.first = linear(features, WIDTH, generator)
        self.second = linear(WIDTH, NARROW, generator)
        residual = signature.residual is not None
        self.head = Head(NARROW, signature.output, generator, residual=residual)
        self.direct = linear(features, self.head.layer.out_features, generator, zero=residual, bias=False)

    def forward(self, *args: Argument) -> Tensor:
        """The result for arguments as `Signature` lays them out."""
        singles = {int(i): cast(Tensor, args[int(i)]) for i in self.encoders}
        parts = [self.encoders[str(i)](x) for i, x in singles.items()]
        if self.pairs:
            compared = {i for pair in self.pairs for i in pair}
            parts = [FAINT * part if i in compared else part for i, part in zip(singles, parts, strict=True)]
        parts += [
            LOUD * relation(singles[i], singles[j])
            for (i, j), relation in zip(self.pairs, self.relations, strict=True)
        ]
        context = torch.cat(parts, dim=-1) if parts else None
        pooled = []
        for i, pool in self.pools.items():
            values, weights = args[int(i)]
            pooled.append(pool(values, weights, context, singles))
        features = torch.cat([*parts, *pooled], dim=-1)
        # Two axes: a layer's result is then no view, and its ReLU can take its place.
        flat = features.reshape(-1, features.shape[-1])
        hidden = torch.relu_(self.second(torch.relu_(self.first(flat))))
        raw = self.head.layer(hidden) + self.direct(flat)
        raw = raw.reshape(*features.shape[:-1], raw.shape[-1])
        before = self.signature.residual
        around = None if before is None else cast(Tensor, args[before])
        return self.head.value(raw, around)

    @torch.no_grad()
    def add_sparsity(self, weight: float) -> None:
        """Add to the gradients that of ``weight · Σ norm`` over the factors' weights.

        Nothing is added where nothing was learned: a network that no example
        reached stays as it is.
        """
        first, direct = self.first.weight, self.direct.weight
        if first.grad is None or direct.grad is None:
            return
        member = cast(Tensor, self.member)
        squares = first.square().sum(0) + direct.square().sum(0)
        shrink = weight * (member @ (squares @ member + 1e-8).rsqrt())
        first.grad.addcmul_(first, shrink)
        direct.grad.addcmul_(direct, shrink)


def add_sparsity(module: nn.Module, weight: float) -> None:
    """Make every default network within a module prefer functions of few input factors."""
    for part in module.modules():
        if isinstance(part, Network | Scores):
            part.add_sparsity(weight)


def expect(module: nn.Module | None, mean: Tensor, scale: Tensor) -> None:
    """Tell a default network what numbers it will have to return; others are left alone."""
    if isinstance(module, Network | Constant):
        module.head.expect(mean, scale)


def _kindred(a: Input, b: Input) -> bool:
    """Whether the difference of two arguments means something."""
    return a.type_id is not None and a.type_id == b.type_id and a.spec == b.spec and not a.spec.is_image


def _pairs(inputs: Sequence[Input], singles: Sequence[int]) -> list[tuple[int, int]]:
    return [(i, j) for i, j in combinations(singles, 2) if _kindred(inputs[i], inputs[j])]


def _widths(parts: object) -> list[int]:
    return [width for part in cast("list[Relation]", parts) for width in part.factors]


def _spans(widths: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(widths, initial=0)))
