"""States and goals as graphs, and the network that encodes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, prod
from typing import Final, final

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pdsketch.lang import OBJECT, Domain, ObjectType, Predicate, did_you_mean, error
from pdsketch.tensor import StateBatch, is_categorical, presented
from pdsketch_paper.baselines.formulas import PLACES, GoalEncoder, GoalTree, words_of


def node_type(domain: Domain, types: Sequence[str] | None) -> ObjectType:
    """The type of the objects that are nodes: all of them, or those of some types."""
    for name in types or ():
        if name not in domain.hierarchy.names:
            raise error(
                "unknown-type",
                f"`{name}` is not an object type of the domain",
                help=did_you_mean(name, domain.hierarchy.names),
            )
    return ObjectType(tuple(types)) if types else OBJECT


def shared_type(domain: Domain, type_: ObjectType, nodes: ObjectType) -> ObjectType | None:
    """The type of the objects of another type that are nodes; None where there are none."""
    if domain.hierarchy.is_subtype(type_, nodes):
        return type_
    below = domain.hierarchy.descendants(type_.names) & domain.hierarchy.descendants(nodes.names)
    return ObjectType(tuple(sorted(below))) if below else None


def narrowed(
    batch: StateBatch, values: Tensor, axes: Sequence[ObjectType], nodes: ObjectType
) -> tuple[Tensor, tuple[ObjectType, ...]] | None:
    """The values of the objects that are nodes, and the types of their axes; None if none is a node."""
    found = []
    for at, axis in enumerate(axes):
        type_ = shared_type(batch.domain, axis, nodes)
        if type_ is None or not batch.count(type_):
            return None
        values = along(batch, values, at + 1, type_, axis)
        found.append(type_)
    return values, tuple(found)


def scattered(batch: StateBatch, values: Tensor, axes: Sequence[ObjectType], nodes: ObjectType) -> Tensor:
    """Values over axes of types that are nodes, at the nodes of the same objects; 0 elsewhere."""
    count = batch.count(nodes)
    place = torch.zeros((1,) * (1 + len(axes)), dtype=torch.int64, device=values.device)
    for at, type_ in enumerate(axes):
        shape = [-1, *(1,) * len(axes)]
        shape[at + 1] = batch.count(type_)
        mask = batch.mask(type_)
        if mask is not None:
            values = values * mask.reshape(shape)[..., None]
        own = batch.map(type_, nodes)
        if own is None:
            own = torch.arange(batch.count(type_), device=values.device)[None]
        place = place * count + own.reshape(shape)
    flat = values.flatten(1, -2)
    index = place.expand(batch.size, *values.shape[1:-1]).flatten(1)[..., None].expand_as(flat)
    empty = values.new_zeros(batch.size, count ** len(axes), values.shape[-1])
    return empty.scatter_add(1, index, flat).reshape(batch.size, *(count,) * len(axes), -1)


def along(batch: StateBatch, values: Tensor, axis: int, inner: ObjectType, outer: ObjectType) -> Tensor:
    """Values of the objects of an inner type, taken from the axis of an outer one."""
    own = batch.map(inner, outer)
    if own is None:
        return values
    shape = [1] * values.dim()
    shape[0], shape[axis] = own.shape
    size = list(values.shape)
    size[axis] = own.shape[1]
    return values.gather(axis, own.reshape(shape).expand(size))


def nodes_at(
    batch: StateBatch, nodes: Tensor, rows: Tensor, inner: ObjectType, at: Tensor, outer: ObjectType
) -> Tensor:
    """The vectors of one object in each of some states, by its place on the axis of its type."""
    own = batch.map(inner, outer)
    if own is not None:
        at = own.expand(batch.size, -1)[rows].gather(1, at[:, None])[:, 0]
    return nodes[rows, at]


_CHANNELS: Final = (16, 32, 64)
"""Three layers, as the paper has them; their widths are set by hand."""

_SMALLEST: Final = 2 ** len(_CHANNELS)
"""Each convolution halves a picture: smaller ones are no pictures."""


def is_picture(predicate: Predicate, shape: tuple[int, ...]) -> bool:
    """Whether the values of a predicate are pictures, ``[h, w, channels]``."""
    return predicate.type.prim == "float32" and len(shape) == 3 and min(shape[:2]) >= _SMALLEST


@final
class Convolutions(nn.Module):
    """Pictures ``[..., h, w, c]``, standardised → ``[..., width]``, of the scale of other features.

    Means over pixels have few weights: what a hundred demonstrations show is learned by heart else. Where a
    picture shows the ``whole`` state, and not one object, it matters where something is.
    """

    def __init__(self, shape: tuple[int, ...], width: int, *, whole: bool = False) -> None:
        super().__init__()
        height, wide, channels = shape
        layers: list[nn.Module] = []
        for outputs in _CHANNELS:
            layers += [nn.Conv2d(channels, outputs, 3, stride=2, padding=1), nn.ReLU()]
            height, wide, channels = (height + 1) // 2, (wide + 1) // 2, outputs
        size = height * wide * channels if whole else channels
        layers += [] if whole else [nn.AdaptiveAvgPool2d(1)]
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.Linear(size, width), nn.LayerNorm(width))

    def forward(self, pictures: Tensor) -> Tensor:
        """The features of each picture."""
        leading = pictures.shape[:-3]
        found: Tensor = self.layers(pictures.reshape(-1, *pictures.shape[-3:]).permute(0, 3, 1, 2))
        return found.reshape(*leading, -1)


_MOST_NUMBERS: Final = 4
"""Vectors up to this length are compared; pictures and long codes are not. Set by hand: a pose in space."""

_PERIODS: Final = (4.0, 2.0, 1.0)
"""The periods of the waves, in standard deviations: neighbours on a grid of 7 cells are told apart."""

LEAST_SPREAD: Final = 1e-3
"""A number that varies by less than this is not magnified."""


def comparable(
    domain: Domain, read: Sequence[Predicate], shapes: Mapping[str, tuple[int, ...]]
) -> list[list[Predicate]]:
    """Float predicates of one object, grouped: the same type, and no object has two of a group."""
    groups: list[list[Predicate]] = []
    for predicate in read:
        shape = shapes[predicate.name]
        if predicate.type.prim != "float32" or len(predicate.parameters) != 1:
            continue
        if not 0 < prod(shape) <= _MOST_NUMBERS:
            continue
        for group in groups:
            same = predicate.type == group[0].type and shape == shapes[group[0].name]
            if same and all(_apart(domain, predicate, other) for other in group):
                group.append(predicate)
                break
        else:
            groups.append([predicate])
    return groups


def _apart(domain: Domain, one: Predicate, other: Predicate) -> bool:
    return shared_type(domain, one.object_types[0], other.object_types[0]) is None


def placed_values(
    batch: StateBatch, predicates: Sequence[Predicate], nodes: ObjectType
) -> tuple[Tensor, Tensor] | None:
    """The values of a group at its nodes ``[s, n, numbers]``, and 1 where there is one ``[s, n, 1]``.

    None if no node has a value.
    """
    values: Tensor | None = None
    present: Tensor | None = None
    for predicate in predicates:
        own = narrowed(batch, batch.tensor(predicate.name), predicate.object_types, nodes)
        if own is None:
            continue
        numbers = presented(own[0], predicate.type, 2).flatten(2)
        placed = scattered(batch, numbers, own[1], nodes)
        there = scattered(batch, torch.ones_like(numbers[..., :1]), own[1], nodes)
        values = placed if values is None else values + placed
        present = there if present is None else present + there
    return None if values is None or present is None else (values, present)


@final
class Relative(nn.Module):
    """The difference between what two nodes have of one type, and waves over it, projected.

    Waves are Fourier features (Tancik et al., 2020): with them *one cell ahead* is a linear
    function, which a network otherwise has to fit from standardised numbers.
    """

    scale: Tensor

    def __init__(self, predicates: Sequence[Predicate], shape: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.predicates = tuple(predicates)
        size = prod(shape)
        self.register_buffer("scale", torch.ones(size))
        self.project = nn.Linear(size * (1 + 2 * len(_PERIODS)), width)

    def forward(self, batch: StateBatch, nodes: ObjectType) -> Tensor | None:
        """Edges ``[s, receiver, sender, width]``, 0 where a node has no such value; None if none has."""
        found = placed_values(batch, self.predicates, nodes)
        if found is None:
            return None
        values, present = found
        scaled = values / self.scale
        difference = scaled[:, None, :, :] - scaled[:, :, None, :]
        waves = [
            wave(difference * (2 * pi / period)) for period in _PERIODS for wave in (torch.sin, torch.cos)
        ]
        edges: Tensor = self.project(torch.cat([difference, *waves], -1))
        return edges * (present[:, None, :, :] * present[:, :, None, :])

    def standardise(self, values: Sequence[Tensor]) -> None:
        """Take the spread of values from data: a tensor ``[…, *value]`` of each predicate."""
        size = len(self.scale)
        together = torch.cat([tensor.reshape(-1, size) for tensor in values])
        if len(together):
            self.scale.copy_(together.std(0, unbiased=False).clamp_min(LEAST_SPREAD))


_SLOTS: Final = 4
"""So many variables are kept apart, as many as the arguments of a predicate; later ones share the last."""

_RANK: Final = 64
"""Products by which an object is compared with a variable: half of the width of the vectors."""


@final
class GoalVariables(nn.Module):
    """What each variable of a goal wants: of every object, and as a part of the goal's own vector.

    It adds nothing before it is trained, and nothing for goals of one variable, of which the embedding of
    the formula says everything.
    """

    def __init__(self, domain: Domain, width: int) -> None:
        super().__init__()
        self.number_of = {word: i for i, word in enumerate(words_of(domain))}
        self.roles = nn.Embedding(len(self.number_of) * PLACES, width)
        self.of_object = nn.Linear(width, _RANK)
        self.of_variable = nn.Linear(width, _RANK, bias=False)
        self.compared = nn.Linear(_SLOTS * _RANK, width, bias=False)
        self.asked = nn.Linear(_SLOTS * width, width, bias=False)
        for added in (self.compared, self.asked):
            nn.init.zeros_(added.weight)

    def forward(self, nodes: Tensor, trees: Sequence[GoalTree], goal: Tensor) -> tuple[Tensor, Tensor] | None:
        """What is added to nodes ``[s, n, width]`` and to goals ``[s, width]``; None where nothing is.

        ``goal`` says which tree each state has.
        """
        several = [len({role.variable for role in tree.roles}) > 1 for tree in trees]
        if not any(several):
            return None
        slots = self._slots([tree if more else None for tree, more in zip(trees, several, strict=True)])[goal]
        products = self.of_object(nodes)[:, :, None, :] * self.of_variable(slots)[:, None, :, :]
        return self.compared(products.flatten(2)), self.asked(slots.flatten(1))

    def _slots(self, trees: Sequence[GoalTree | None]) -> Tensor:
        """The vectors of the variables of each goal ``[g, slots, width]``; 0 where there is none."""
        rows, places = [], []
        for i, tree in enumerate(trees):
            for role in tree.roles if tree is not None else ():
                rows.append(self.number_of[role.word] * PLACES + role.place)
                places.append(i * _SLOTS + min(role.variable, _SLOTS - 1))
        device = self.roles.weight.device
        embedded: Tensor = self.roles(torch.tensor(rows, device=device))
        empty = embedded.new_zeros(len(trees) * _SLOTS, embedded.shape[-1])
        summed = empty.index_add(0, torch.tensor(places, device=device), embedded)
        return summed.reshape(len(trees), _SLOTS, -1)


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
            self.project = Convolutions(shape, width, whole=not predicate.parameters)
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
