"""The arguments of a blank as features: each alone, those of one type compared, sets pooled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.encode import Flat, Image, Relation, encoder
from pdsketch.nets.pool import Pool
from pdsketch.nets.signature import Input, Signature

NORM_FLOOR = 1e-8
"""Added to squares before the root of a group lasso's norms, so that the price has a gradient at 0; far
below the squares of coefficients that matter."""

Argument = Tensor | tuple[Tensor, Tensor]


class Features(nn.Module):
    """All arguments as one vector. ``factors`` are the widths of its independent parts."""

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__()
        inputs = signature.inputs
        self.singles = [i for i, one in enumerate(inputs) if not one.is_set]
        self.pairs = [(i, j) for i, j in combinations(self.singles, 2) if _kindred(inputs[i], inputs[j])]
        self.encoders = nn.ModuleDict({str(i): encoder(inputs[i].spec, generator) for i in self.singles})
        self.relations = nn.ModuleList([Relation(inputs[i].spec) for i, _ in self.pairs])
        context = widths([*self.encoders.values(), *self.relations])
        self.pools = nn.ModuleDict()
        for i, one in enumerate(inputs):
            if one.is_set:
                kin = tuple(s for s in self.singles if _kindred(one, inputs[s]))
                self.pools[str(i)] = Pool(one.spec, kin, sum(context), generator)
        self.factors = (*context, *widths(self.pools.values()))

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


def widths(parts: Iterable[object]) -> list[int]:
    """The widths of the factors of some encoders, relations or pools, one after the other."""
    return [width for part in parts for width in cast("Flat | Image | Relation | Pool", part).factors]


def membership(factors: Sequence[int]) -> Tensor:
    """Which feature belongs to which factor, as a matrix ``[features, factors]`` of ones and zeros."""
    member = torch.zeros(sum(factors), len(factors))
    first = 0
    for at, width in enumerate(factors):
        member[first : first + width, at] = 1.0
        first += width
    return member


def _kindred(a: Input, b: Input) -> bool:
    """Whether the difference of two arguments means something."""
    return a.type_id is not None and a.type_id == b.type_id and a.spec == b.spec and not a.spec.is_image
