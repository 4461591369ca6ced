"""Latent states read beside the objects of the episode's first state.

A latent state is one vector, whatever the number of objects. What is asked of an object
(its values, an action on it) is asked by its vector in the first state that was seen, its key.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from pdsketch.baselines.actions import ActionScores
from pdsketch.baselines.axes import along
from pdsketch.baselines.dreamer.rssm import LATENT
from pdsketch.baselines.encoder import WIDTH
from pdsketch.tensor.states.state import StateBatch


@final
class ObjectReader(nn.Module):
    """Latent states and keys of objects → a vector for each object, and one for the whole."""

    def __init__(self) -> None:
        super().__init__()
        self.key = nn.Linear(WIDTH, WIDTH)
        self.latent = nn.Linear(LATENT, WIDTH, bias=False)
        self.inner = nn.Sequential(nn.ELU(), nn.Linear(WIDTH, WIDTH), nn.ELU())
        self.whole = nn.Sequential(nn.Linear(LATENT + WIDTH, WIDTH), nn.ELU())

    def keys(self, keys: Tensor) -> Tensor:
        """The part that depends on keys ``[s, n, width]`` alone: the same at all times."""
        part: Tensor = self.key(keys)
        return part

    def forward(self, features: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes ``[…, s, n, width]`` and wholes ``[…, s, width]``, by features ``[…, s, LATENT]``.

        ``keys`` are what `keys` returned.
        Where a batch is padded, the first object stands again, which changes no maximum.
        """
        nodes = self.inner(self.latent(features)[..., None, :] + keys)
        return nodes, self.whole(torch.cat([features, nodes.max(-2).values], -1))


@final
class ActionEmbeddings(nn.Module):
    """An embedding for each ground action, in the order of `ActionScores`."""

    def __init__(self, scores: ActionScores, width: int) -> None:
        super().__init__()
        self.types, self.nodes = scores.types, scores.nodes
        self.names = nn.Embedding(len(self.types), width)
        self.objects = nn.ModuleList(nn.Linear(WIDTH, max(1, len(types)) * width) for types in self.types)
        self.width = width

    def forward(self, batch: StateBatch, keys: Tensor) -> Tensor:
        """``[s, ground actions, width]``: the sum of the embeddings of the name and of each argument."""
        found = []
        for i, types in enumerate(self.types):
            embedded = self.names.weight[i].expand(len(keys), *(1,) * len(types), -1)
            for at, type_ in enumerate(types):
                objects = self.objects[i](along(batch, keys, 1, type_, self.nodes))
                part = objects.unflatten(-1, (len(types), self.width))[:, :, at]
                shape = [1] * len(types)
                shape[at] = part.shape[1]
                embedded = embedded + part.reshape(len(keys), *shape, self.width)
            found.append(embedded.flatten(1, -2) if types else embedded[:, None])
        return torch.cat(found, 1)
