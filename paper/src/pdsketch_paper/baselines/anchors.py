"""Values of actions relative to those of objects: *beside that block*, wherever the block is."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import final

import torch
from torch import Tensor, nn

from pdsketch.lang import ObjectType, Predicate
from pdsketch.tensor import StateBatch
from pdsketch_paper.baselines.relative import placed_values


@final
class Anchor(nn.Module):
    """The value of an object that is attended to (Bahdanau et al., 2015): what an action's value is beside.

    ``predicates`` are those of one type, of which no object has two.
    """

    def __init__(self, predicates: Sequence[Predicate], asking: int, width: int) -> None:
        super().__init__()
        self.predicates = tuple(predicates)
        self.query = nn.Linear(asking, width)
        self.key = nn.Linear(width, width, bias=False)

    def forward(
        self,
        batch: StateBatch,
        nodes: Tensor,
        rows: Tensor,
        question: Tensor,
        otherwise: Tensor,
        type_: ObjectType,
    ) -> Tensor:
        """Values ``[row, numbers]`` in some states; ``otherwise`` where no object has one."""
        placed = placed_values(batch, self.predicates, type_)
        if placed is None:
            return otherwise.expand(len(rows), -1)
        values, present = placed[0][rows], placed[1][rows, :, 0] > 0
        scores = (self.key(nodes[rows]) @ self.query(question)[:, :, None])[..., 0] / sqrt(nodes.shape[-1])
        some = present.any(1)[:, None]
        weight = scores.masked_fill(~present & some, -torch.inf).softmax(1)
        return torch.where(some, (weight[..., None] * values).sum(1), otherwise)
