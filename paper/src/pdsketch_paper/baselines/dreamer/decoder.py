"""What is observed of objects, out of latent states: the reconstruction that shapes the latents."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from pdsketch.lang import ObjectType
from pdsketch.tensor import StateBatch, is_categorical, presented
from pdsketch_paper.baselines.axes import along, shared_type
from pdsketch_paper.baselines.encoder import PAIR_WIDTH, WIDTH
from pdsketch_paper.baselines.graph import GraphInput, Presented, feature_width


@final
class PredicateDecoder(nn.Module):
    """One predicate: a Bernoulli, categorical, or normal distribution of unit variance for each value."""

    def __init__(self, part: Presented, shape: tuple[int, ...], nodes: ObjectType) -> None:
        super().__init__()
        self.predicate, self.nodes = part.predicate, nodes
        self.arity = len(part.predicate.parameters)
        size = feature_width(part.predicate, shape)
        if self.arity == 2:
            self.first = nn.Linear(WIDTH, PAIR_WIDTH)
            self.second = nn.Linear(WIDTH, PAIR_WIDTH, bias=False)
        self.out = nn.Linear(PAIR_WIDTH if self.arity == 2 else WIDTH, size)

    def forward(self, batch: StateBatch, part: Presented, nodes: Tensor, whole: Tensor) -> Tensor:
        """The negative log-likelihood of what the batch holds, summed over objects ``[s]``."""
        values = batch.tensor(self.predicate.name)
        objects, mask = [], torch.ones((batch.size, *(1,) * self.arity), device=whole.device)
        for axis, outer in enumerate(self.predicate.object_types, start=1):
            inner = shared_type(batch.domain, outer, self.nodes)
            if inner is None or not batch.count(inner):
                return whole.new_zeros(batch.size)
            values = along(batch, values, axis, inner, outer)
            objects.append(along(batch, nodes, 1, inner, self.nodes))
            real = batch.mask(inner)
            if real is not None:
                shape = [-1, *(1,) * self.arity]
                shape[axis] = real.shape[1]
                mask = mask * real.reshape(shape)
        surprise = self._surprise(part, values, self._outputs(objects, whole))
        found: Tensor = (surprise * mask).reshape(batch.size, -1).sum(1)
        return found

    def _outputs(self, objects: list[Tensor], whole: Tensor) -> Tensor:
        if self.arity == 2:
            pairs = self.first(objects[0])[:, :, None] + self.second(objects[1])[:, None]
            found: Tensor = self.out(nn.functional.elu(pairs))
            return found
        found = self.out(objects[0] if self.arity else whole)
        return found

    def _surprise(self, part: Presented, values: Tensor, outputs: Tensor) -> Tensor:
        """Of each value, its features summed ``[s, *objects]``."""
        leading, type_ = 1 + self.arity, self.predicate.type
        features = presented(values, type_, leading).flatten(leading)
        if type_.prim == "bool":
            return binary_cross_entropy_with_logits(outputs, features, reduction="none").sum(-1)
        if is_categorical(type_):
            logits = outputs.reshape(*outputs.shape[:-1], -1, type_.choices or 1)
            return -(features.reshape(logits.shape) * logits.log_softmax(-1)).sum((-2, -1))
        return 0.5 * ((features - part.mean) / part.scale - outputs).square().sum(-1)


@final
class GraphDecoder(nn.Module):
    """All predicates that the encoder reads."""

    def __init__(self, graph: GraphInput, shapes: dict[str, tuple[int, ...]]) -> None:
        super().__init__()
        parts = [part for part in graph.presented if isinstance(part, Presented)]
        self.predicates = nn.ModuleList(
            PredicateDecoder(part, shapes[part.predicate.name], graph.node_type) for part in parts
        )

    def forward(self, batch: StateBatch, graph: GraphInput, nodes: Tensor, whole: Tensor) -> Tensor:
        """The negative log-likelihood of states ``[s]``, by vectors of objects and of the whole."""
        total = whole.new_zeros(batch.size)
        for decoder, part in zip(self.predicates, graph.presented, strict=True):
            total = total + decoder(batch, part, nodes, whole)
        return total
