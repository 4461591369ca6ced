"""States as graphs: a node for each object, and what is observed of objects and of pairs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final, final

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pdsketch.lang import OBJECT, Domain, ObjectType, Predicate, error
from pdsketch.tensor import StateBatch, is_categorical, presented
from pdsketch_paper.baselines.axes import narrowed, scattered, shared_type
from pdsketch_paper.baselines.formulas import GoalEncoder, GoalTree
from pdsketch_paper.baselines.pictures import Convolutions, is_picture
from pdsketch_paper.baselines.relative import LEAST_SPREAD, Relative, comparable
from pdsketch_paper.baselines.variables import GoalVariables

Shapes = Mapping[str, tuple[int, ...]]
"""The value axes of each predicate that is read."""

_FIRST_SCALE: Final = 0.5
"""The spread of the first weights: the same for features and types, so that neither drowns the other."""


def read_predicates(domain: Domain) -> tuple[Predicate, ...]:
    """What a graph is made from: the predicates that are observed, those that only encoders see included."""
    chosen = [p for p in domain.predicates.values() if p.role in ("observed", "raw")]
    for predicate in chosen:
        if len(predicate.parameters) > 2:
            raise error(
                "unsupported-type",
                f"`{predicate.name}` is about {len(predicate.parameters)} objects, and the graphs of "
                "baselines hold values of objects and of pairs of objects",
                predicate.span,
            )
    return tuple(chosen)


def feature_width(predicate: Predicate, shape: tuple[int, ...]) -> int:
    """How many features a value of a predicate is presented as; of a picture, those of a pixel."""
    if is_picture(predicate, shape):
        return shape[-1]
    choices = predicate.type.choices or 1 if is_categorical(predicate.type) else 1
    return prod(shape) * choices


@final
class Presented(nn.Module):
    """One predicate as features of the same scale, projected."""

    mean: Tensor
    scale: Tensor

    def __init__(self, predicate: Predicate, shape: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.predicate = predicate
        size = feature_width(predicate, shape)
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))
        self.project: nn.Module
        if is_picture(predicate, shape):
            self.project = Convolutions(shape, width)
        else:
            self.project = nn.Linear(size, width, bias=False)
            nn.init.normal_(self.project.weight, std=_FIRST_SCALE)
        self.pictures = isinstance(self.project, Convolutions)

    def forward(self, values: Tensor) -> Tensor:
        """``[state, *objects, *value]`` → ``[state, *objects, width]``."""
        projected: Tensor = self.project(self.scaled(values))
        return projected

    def scaled(self, values: Tensor) -> Tensor:
        """The features before they are projected."""
        return (self._features(values) - self.mean) / self.scale

    def _features(self, values: Tensor) -> Tensor:
        if self.pictures:
            return values.float()
        leading = 1 + len(self.predicate.parameters)
        return presented(values, self.predicate.type, leading).flatten(leading)

    def standardise(self, values: Tensor) -> None:
        """Take the mean and the spread of a float or an int from data."""
        if values.numel() and self.predicate.type.prim != "bool" and not is_categorical(self.predicate.type):
            features = self._features(values).flatten(0, -2)
            self.mean.copy_(features.mean(0))
            self.scale.copy_(features.std(0, unbiased=False).clamp_min(LEAST_SPREAD))


@final
class GraphInput(nn.Module):
    """The first vectors of nodes and edges: what is observed, types, the goal, and what the goal names."""

    def __init__(
        self, domain: Domain, shapes: Shapes, width: int, pair_width: int, nodes: ObjectType = OBJECT
    ) -> None:
        super().__init__()
        self.node_type = nodes
        self.read = read_predicates(domain)
        self.types = domain.hierarchy.names
        widths = {p.name: pair_width if len(p.parameters) == 2 else width for p in self.read}
        self.presented = nn.ModuleList(Presented(p, shapes[p.name], widths[p.name]) for p in self.read)
        self.relative = nn.ModuleList(
            Relative(group, shapes[group[0].name], pair_width)
            for group in comparable(domain, self.read, shapes)
        )
        self.of_type = nn.Embedding(len(self.types), width)
        nn.init.normal_(self.of_type.weight, std=_FIRST_SCALE)
        self.goals = GoalEncoder(domain, width, pair_width)
        self.of_goal = nn.Linear(width, 2 * width)
        with torch.random.fork_rng(devices=[]):  # goals of one variable: weights as they would be without
            self.variables = GoalVariables(domain, width)

    def forward(
        self, batch: StateBatch, trees: Sequence[GoalTree], goal: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Nodes ``[s, n, width]``, edges ``[s, n, n, pair_width]`` if there are any, goals ``[s, width]``.

        ``goal`` says which of the trees each state has.
        """
        wanted = self.goals(trees)[goal]
        nodes = self._described(batch, wanted)
        edges: Tensor | None = None
        for part in self.presented:
            assert isinstance(part, Presented)
            axes = part.predicate.object_types
            if len(axes) == 1 and not part.pictures:
                continue
            own = narrowed(batch, batch.tensor(part.predicate.name), axes, self.node_type)
            if own is None:
                continue
            values = part(own[0])
            if not axes:
                nodes = nodes + values[:, None, :]
                continue
            placed = scattered(batch, values, own[1], self.node_type)
            if len(axes) == 1:
                nodes = nodes + placed
            else:
                edges = placed if edges is None else edges + placed
        for compared in self.relative:
            placed = compared(batch, self.node_type)
            if placed is not None:
                edges = placed if edges is None else edges + placed
        for names, marks in self.goals.mentions(trees).items():
            marked = self._marked(batch, marks[goal], names)
            if len(names) == 1:
                nodes = nodes + marked
            else:
                edges = marked if edges is None else edges + marked
        # Products of features and goal (FiLM; Perez et al., 2018): is this what the goal describes?
        scale, shift = self.of_goal(wanted)[:, None, :].chunk(2, -1)
        of_variables = self.variables(nodes, trees, goal)
        nodes = nodes + nodes * scale + shift
        if of_variables is not None:
            nodes, wanted = nodes + of_variables[0], wanted + of_variables[1]
        return nodes, edges, wanted

    def _described(self, batch: StateBatch, like: Tensor) -> Tensor:
        """What is observed of single objects, and their types, at the nodes; all is projected together."""
        features: list[Tensor] = []
        weights: list[Tensor] = []
        for i, name in enumerate(self.types):
            type_ = shared_type(batch.domain, ObjectType((name,)), self.node_type)
            if type_ is not None:
                there = like.new_ones(batch.size, batch.count(type_), 1)
                features.append(scattered(batch, there, (type_,), self.node_type))
                weights.append(self.of_type.weight[i][:, None])
        for part in self.presented:
            assert isinstance(part, Presented)
            axes = part.predicate.object_types
            if len(axes) != 1 or part.pictures:
                continue
            own = narrowed(batch, batch.tensor(part.predicate.name), axes, self.node_type)
            if own is not None:
                assert isinstance(part.project, nn.Linear)
                features.append(scattered(batch, part.scaled(own[0]), own[1], self.node_type))
                weights.append(part.project.weight)
        return linear(torch.cat(features, -1), torch.cat(weights, 1))

    def _marked(self, batch: StateBatch, embedded: Tensor, names: tuple[str, ...]) -> Tensor:
        """How the goals mention these objects ``[s, width]``, at the objects' places."""
        count = batch.count(self.node_type)
        place = torch.zeros((batch.size, 1), dtype=torch.int64, device=batch.device)
        for name in names:
            found = batch.layout.lookup(name, self.node_type)[0]
            mine = found if batch.rows is None or len(found) == 1 else found[batch.rows]
            embedded = embedded * (mine >= 0)  # −1: no node of this state
            place = place * count + mine.clamp_min(0)
        empty = embedded.new_zeros(batch.size, count ** len(names), embedded.shape[-1])
        index = place[:, :, None].expand(-1, -1, embedded.shape[-1])
        placed = empty.scatter_add(1, index, embedded[:, None, :])
        return placed.reshape(batch.size, *(count,) * len(names), -1)
