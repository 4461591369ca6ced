"""States as graphs: a node for each object, and what is observed of objects and of pairs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final, final

import torch
from torch import Tensor, nn

from pdsketch.baselines.formulas import GoalEncoder, GoalTree, Mention
from pdsketch.lang.diagnostics import error
from pdsketch.lang.domain import Domain, Predicate
from pdsketch.lang.types import OBJECT, ObjectType
from pdsketch.tensor.states.state import StateBatch
from pdsketch.tensor.states.values import is_categorical, presented

Shapes = Mapping[str, tuple[int, ...]]
"""The value axes of each predicate that is read."""

_LEAST_SPREAD: Final = 1e-3
"""A number that varies by less than this is not magnified."""


def read_predicates(domain: Domain) -> tuple[Predicate, ...]:
    """What a graph is made from: the predicates that are observed and carried from step to step.

    A sketch without any is read by what its encoder sees.
    """
    given = [p for p in domain.predicates.values() if p.role == "observed"]
    chosen = given or [p for p in domain.predicates.values() if p.role == "raw"]
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
    """How many features a value of a predicate is presented as."""
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
        self.project = nn.Linear(size, width, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        """``[state, *objects, *value]`` → ``[state, *objects, width]``."""
        projected: Tensor = self.project((self._features(values) - self.mean) / self.scale)
        return projected

    def _features(self, values: Tensor) -> Tensor:
        leading = 1 + len(self.predicate.parameters)
        return presented(values, self.predicate.type, leading).flatten(leading)

    def standardise(self, values: Tensor) -> None:
        """Take the mean and the spread of a float or an int from data."""
        if values.numel() and self.predicate.type.prim != "bool" and not is_categorical(self.predicate.type):
            features = self._features(values).flatten(0, -2)
            self.mean.copy_(features.mean(0))
            self.scale.copy_(features.std(0, unbiased=False).clamp_min(_LEAST_SPREAD))


@final
class GraphInput(nn.Module):
    """The first vectors of nodes and edges: what is observed, types, the goal, and what the goal names."""

    def __init__(self, domain: Domain, shapes: Shapes, width: int, pair_width: int) -> None:
        super().__init__()
        self.read = read_predicates(domain)
        self.types = domain.hierarchy.names
        widths = {p.name: pair_width if len(p.parameters) == 2 else width for p in self.read}
        self.presented = nn.ModuleList(Presented(p, shapes[p.name], widths[p.name]) for p in self.read)
        self.of_type = nn.Embedding(len(self.types), width)
        self.goals = GoalEncoder(domain, width, pair_width)
        self.of_goal = nn.Linear(width, width)

    def forward(
        self, batch: StateBatch, trees: Sequence[GoalTree], goal: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Nodes ``[s, n, width]``, edges ``[s, n, n, pair_width]`` if there are any, goals ``[s, width]``.

        ``goal`` says which of the trees each state has.
        """
        wanted = self.goals(trees)[goal]
        count = batch.count(OBJECT)
        nodes = self.of_goal(wanted)[:, None, :].expand(-1, count, -1)
        edges = None
        for i, name in enumerate(self.types):
            type_ = ObjectType((name,))
            size = batch.count(type_)
            if size:
                kind = self.of_type.weight[i].expand(batch.size, size, -1)
                nodes = nodes + scattered(batch, kind, (type_,))
        for part in self.presented:
            assert isinstance(part, Presented)
            axes = part.predicate.object_types
            values = part(batch.tensor(part.predicate.name))
            if not axes:
                nodes = nodes + values[:, None, :]
            elif len(axes) == 1:
                nodes = nodes + scattered(batch, values, axes)
            else:
                placed = scattered(batch, values, axes)
                edges = placed if edges is None else edges + placed
        for names in dict.fromkeys(m.objects for tree in trees for m in tree.mentions):
            marked = self._marked(batch, trees, goal, names)
            if len(names) == 1:
                nodes = nodes + marked
            else:
                edges = marked if edges is None else edges + marked
        return nodes, edges, wanted

    def _marked(
        self, batch: StateBatch, trees: Sequence[GoalTree], goal: Tensor, names: tuple[str, ...]
    ) -> Tensor:
        """How the goals mention these objects, at the objects' places."""
        table = self.goals.marks if len(names) == 1 else self.goals.pair_marks
        rows = [[self.goals.mark(m) for m in tree.mentions if _of(m, names)] for tree in trees]
        embedded = torch.stack(
            [table.weight[row].sum(0) if row else torch.zeros_like(table.weight[0]) for row in rows]
        )[goal]
        place = torch.zeros((batch.size, 1), dtype=torch.int64, device=batch.device)
        for name in names:
            found = batch.layout.lookup(name, OBJECT)[0]
            # −1: a state without the object; its goal does not name it, and adds nothing anywhere.
            found = found.clamp_min(0)
            rows_of = found if batch.rows is None or len(found) == 1 else found[batch.rows]
            place = place * batch.count(OBJECT) + rows_of
        count = batch.count(OBJECT)
        empty = embedded.new_zeros(batch.size, count ** len(names), embedded.shape[-1])
        index = place[:, :, None].expand(-1, -1, embedded.shape[-1])
        placed = empty.scatter_add(1, index, embedded[:, None, :])
        return placed.reshape(batch.size, *(count,) * len(names), -1)


def _of(mention: Mention, names: tuple[str, ...]) -> bool:
    return mention.objects == names


def scattered(batch: StateBatch, values: Tensor, axes: Sequence[ObjectType]) -> Tensor:
    """Values over axes of types, at the places of the same objects among all objects; 0 elsewhere."""
    count = batch.count(OBJECT)
    place = torch.zeros((1,) * (1 + len(axes)), dtype=torch.int64, device=values.device)
    for at, type_ in enumerate(axes):
        shape = [-1, *(1,) * len(axes)]
        shape[at + 1] = batch.count(type_)
        mask = batch.mask(type_)
        if mask is not None:
            values = values * mask.reshape(shape)[..., None]
        own = batch.map(type_, OBJECT)
        if own is None:
            own = torch.arange(batch.count(type_), device=values.device)[None]
        place = place * count + own.reshape(shape)
    flat = values.flatten(1, -2)
    index = place.expand(batch.size, *values.shape[1:-1]).flatten(1)[..., None].expand_as(flat)
    empty = values.new_zeros(batch.size, count ** len(axes), values.shape[-1])
    return empty.scatter_add(1, index, flat).reshape(batch.size, *(count,) * len(axes), -1)


def gathered(batch: StateBatch, nodes: Tensor, type_: ObjectType) -> Tensor:
    """The nodes along the axis of a type ``[s, n, width]``."""
    own = batch.map(type_, OBJECT)
    if own is None:
        return nodes
    index = own.expand(batch.size, -1)[..., None].expand(-1, -1, nodes.shape[-1])
    return nodes.gather(1, index)
