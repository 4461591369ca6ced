"""Evidence for a Boolean: one sum over what each argument says, and a few of them together.

Each int of a code votes; so does each element of a set; numbers speak for
themselves, and each two of them, or a number and a code, speak together (*one
step ahead*, whichever way the robot looks; *near* is a ball around a place).
Such a sum is settled by a few examples (*red* is one colour, whatever the
type), while a perceptron of the same inputs learns the examples by heart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.encode import Relation
from pdsketch.nets.features import LOUD, Argument, Features, membership
from pdsketch.nets.pool import Pool
from pdsketch.nets.signature import Signature, Spec

STRIDE = 40.0
"""How much further evidence moves in one step than a weight does."""

VOTE = 3.0
"""What one factor of the evidence costs beside an input factor of a perceptron."""

BOUND = 4.0
"""What is further away than so many standard deviations speaks no louder."""

MOST = 8
"""Up to so many numbers, what each two of them say together is evidence too."""


class Evidence(nn.Module):
    """``votes`` weigh the evidence; ``bias`` is what holds without any."""

    def __init__(self, signature: Signature, features: Features) -> None:
        super().__init__()
        self.inputs = inputs = signature.inputs
        self.pairs = features.pairs
        sizes: list[int] = []
        self.codes = [i for i in features.singles if inputs[i].spec.is_categorical]
        self.numbers = [i for i in features.singles if i not in self.codes]
        self.compared = [at for at, (i, _) in enumerate(features.pairs) if _is_number(inputs[i].spec)]
        for i in self.codes:
            sizes += features.encoders[str(i)].factors  # type: ignore[arg-type]
        for at, relation in enumerate(features.relations):
            if at not in self.compared:
                sizes += cast(Relation, relation).factors
        for name in features.pools:
            pool, spec = cast(Pool, features.pools[name]), inputs[int(name)].spec
            sizes += _sizes(spec, pool.encode.factors)
            for relation in pool.relations:
                sizes += _sizes(spec, cast(Relation, relation).factors)
            sizes.append(1)
        self.loud = [i for i in self.numbers if _is_number(inputs[i].spec) and i not in features.faint]
        widths = {i: sum(features.encoders[str(i)].factors) for i in self.numbers}  # type: ignore[arg-type]
        differences = [inputs[features.pairs[at][0]].spec.size for at in self.compared]
        sizes += [*widths.values(), *differences]
        count = sum(widths[i] for i in self.loud) + sum(differences)
        self.multiplied = 0 < count <= MOST
        if self.multiplied:
            first, second = torch.triu_indices(count, count)
            self.register_buffer("first", first, persistent=False)
            self.register_buffer("second", second, persistent=False)
            sizes.append(len(first))
            sizes += [count * math.prod(inputs[i].spec.axes) for i in self.codes]
        self.register_buffer("member", membership(sizes), persistent=False)
        self.votes = nn.Parameter(torch.zeros(1, sum(sizes)))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(
        self, features: Features, args: Sequence[Argument], alone: Sequence[Tensor], between: Sequence[Tensor]
    ) -> Tensor:
        """How much speaks for it, ``[..., 1]``: the odds' logarithm."""
        singles = features.values(args)
        own = dict(zip(singles, alone, strict=True))
        evidence = [own[i] for i in self.codes]
        evidence += [part for at, part in enumerate(between) if at not in self.compared]
        for name in features.pools:
            arg = cast("tuple[Tensor, Tensor]", args[int(name)])
            evidence += self._of_set(
                self.inputs[int(name)].spec, cast(Pool, features.pools[name]), arg, singles
            )
        own = {i: _bounded(own[i]) for i in self.numbers}
        compared = [_bounded(between[at]) for at in self.compared]
        evidence += [*own.values(), *compared]
        if self.multiplied:
            numbers = torch.cat([*(own[i] for i in self.loud), *compared], -1)
            first, second = cast(Tensor, self.first), cast(Tensor, self.second)
            evidence.append(numbers[..., first] * numbers[..., second])
            codes = (singles[i].flatten(-len(self.inputs[i].spec.axes)) for i in self.codes)
            evidence += [(numbers.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2) for x in codes]
        flat = torch.cat(evidence, dim=-1) if len(evidence) > 1 else evidence[0]
        return STRIDE * (nn.functional.linear(flat, self.votes) + self.bias)

    @staticmethod
    def _of_set(
        spec: Spec, pool: Pool, arg: tuple[Tensor, Tensor], singles: Mapping[int, Tensor]
    ) -> list[Tensor]:
        """What the elements of a set say, added up, and their number."""
        values, weights = arg
        parts = _with_squares(spec, pool.encode(values))
        for k, relation in zip(pool.kin, pool.relations, strict=True):
            other = singles[k].unsqueeze(-1 - len(spec.axes))
            parts += _with_squares(spec, LOUD * relation(values, other))
        total = [(part * weights.unsqueeze(-1)).sum(-2) for part in parts]
        return [*total, weights.sum(-1, keepdim=True)]

    @torch.no_grad()
    def add_sparsity(self, weight: float) -> None:
        """Add the gradients of ``weight`` times the norm of each factor's votes."""
        if self.votes.grad is None:
            return
        member = cast(Tensor, self.member)
        norms = (self.votes.square() @ member + 1e-8).rsqrt() @ member.T
        self.votes.grad.addcmul_(self.votes, norms, value=weight * VOTE * STRIDE)


def _is_number(spec: Spec) -> bool:
    """Whether products of such values say more than the values do."""
    return spec.prim != "bool" and not spec.is_categorical and not spec.is_image


def _bounded(x: Tensor) -> Tensor:
    return BOUND * torch.tanh(x / BOUND)


def _with_squares(spec: Spec, part: Tensor) -> list[Tensor]:
    if not _is_number(spec):
        return [part]
    part = _bounded(part)
    return [part, part.square()]


def _sizes(spec: Spec, factors: tuple[int, ...]) -> list[int]:
    return [2 * width if _is_number(spec) else width for width in factors]
