"""A graph neural network over all objects of a state (Gori et al., 2005; Battaglia et al., 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import torch
from torch import Tensor, nn

from pdsketch.lang import OBJECT, Domain, ObjectType
from pdsketch.tensor import StateBatch
from pdsketch_paper.baselines.formulas import GoalTree
from pdsketch_paper.baselines.graph import GraphInput, Shapes

WIDTH: Final = 128
"""Numbers in the vector of a state, as the paper has them."""

PAIR_WIDTH: Final = 32
"""Numbers in a message between two objects: 64 are no better and take twice the time (docs/baselines.md)."""

LAYERS: Final = 2


@final
class Layer(nn.Module):
    """A round of messages: a perceptron on each pair of nodes, the maximum over senders, an update.

    The maximum carries over to other numbers of objects.
    """

    def __init__(self, width: int, pair_width: int) -> None:
        super().__init__()
        self.receiver = nn.Linear(width, pair_width)
        self.sender = nn.Linear(width, pair_width, bias=False)
        self.view = nn.Linear(width, pair_width)
        self.message = nn.Sequential(
            nn.ReLU(), nn.Linear(pair_width, pair_width), nn.ReLU(), nn.Linear(pair_width, pair_width)
        )
        self.update = nn.Sequential(
            nn.Linear(width + pair_width, width), nn.ReLU(), nn.Linear(width, width), nn.LayerNorm(width)
        )

    def forward(self, nodes: Tensor, edges: Tensor | None) -> Tensor:
        """The nodes after a round."""
        pairs = self.receiver(nodes)[:, :, None, :] + self.sender(nodes)[:, None, :, :]
        if edges is not None:
            # Products of where the sender is and what the receiver is: what lies ahead depends on both.
            pairs = pairs + edges + edges * self.view(nodes)[:, :, None, :]
        received = torch.relu(self.message(pairs).amax(2))
        updated: Tensor = nodes + self.update(torch.cat([nodes, received], -1))
        return updated


@final
class GraphEncoder(nn.Module):
    """States and goals → a vector for each object, and one for the whole state."""

    def __init__(
        self, domain: Domain, shapes: Shapes, nodes: ObjectType = OBJECT, width: int = WIDTH
    ) -> None:
        super().__init__()
        self.input = GraphInput(domain, shapes, width, PAIR_WIDTH, nodes)
        self.first = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(Layer(width, PAIR_WIDTH) for _ in range(LAYERS))
        self.whole = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU())

    def forward(self, batch: StateBatch, trees: Sequence[GoalTree], goal: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes ``[s, n, width]`` and states ``[s, width]``; ``goal`` says which tree each state has."""
        nodes, edges, wanted = self.input(batch, trees, goal)
        mask = batch.mask(self.input.node_type)
        if mask is not None:
            # Where there is no object stands the first one again: maxima are the same, without masks.
            nodes = torch.where(mask[..., None], nodes, nodes[:, :1])
            if edges is not None:
                edges = torch.where(mask[:, None, :, None], edges, edges[:, :, :1])
                edges = torch.where(mask[:, :, None, None], edges, edges[:, :1])
        nodes = nodes + self.first(nodes)
        for layer in self.layers:
            nodes = layer(nodes, edges)
        return nodes, self.whole(torch.cat([nodes.amax(1), wanted], -1))
