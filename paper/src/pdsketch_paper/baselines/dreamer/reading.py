"""Latent states read beside the objects of the episode's first state.

A latent state is one vector, whatever the number of objects. What is asked of an object
(its values, an action on it) is asked by its vector in the first state that was seen, its key.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from pdsketch.lang import Domain, ObjectType
from pdsketch.tensor import StateBatch
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.axes import along, shared_type
from pdsketch_paper.baselines.dreamer.rssm import LATENT
from pdsketch_paper.baselines.encoder import WIDTH


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
class SeenState(nn.Module):
    """What is seen as one vector: the encoder's, and the maximum over the objects of each type.

    So the vector of an object that is alone of its type, a robot's, is seen as it is.
    """

    def __init__(self, domain: Domain, nodes: ObjectType) -> None:
        super().__init__()
        shared = [shared_type(domain, ObjectType((name,)), nodes) for name in domain.hierarchy.names]
        below = {type_: domain.hierarchy.descendants(type_.names) for type_ in shared if type_ is not None}
        self.types = tuple({frozenset(names): type_ for type_, names in below.items()}.values())
        self.nodes = nodes
        self.join = nn.Sequential(nn.Linear(WIDTH * (1 + len(self.types)), WIDTH), nn.ELU())

    def forward(self, batch: StateBatch, nodes: Tensor, whole: Tensor) -> Tensor:
        """``[s, width]``, by what the encoder returned."""
        parts = [whole]
        for type_ in self.types:
            if not batch.count(type_):
                parts.append(torch.zeros_like(whole))
                continue
            most = along(batch, nodes, 1, type_, self.nodes).amax(1)
            mask = batch.mask(type_)
            parts.append(most if mask is None else most * mask.any(1, keepdim=True))
        seen: Tensor = self.join(torch.cat(parts, -1))
        return seen


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
