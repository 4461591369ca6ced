"""Scores of ground actions, and the values that actions take besides objects."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import TYPE_CHECKING, Final, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, smooth_l1_loss

from pdsketch.lang import Action, Domain, ObjectType, Predicate, Step, ValueType, error
from pdsketch.tensor import StateBatch
from pdsketch.training import width_of
from pdsketch_paper.baselines.graph import (
    LEAST_SPREAD,
    Shapes,
    along,
    comparable,
    nodes_at,
    placed_values,
    read_predicates,
)

if TYPE_CHECKING:
    from pdsketch_paper.baselines.network import Demonstrations

_RANK: Final = 16
"""The rank of the products by which two arguments of one action are scored together; set by hand."""


@final
class ActionScores(nn.Module):
    """One linear layer: on the state, on each argument, and on products of two arguments.

    Arguments are objects, at ``places`` among an action's parameters. ``with_values``: those that are
    values are left out, to be predicted (`ValueArguments`); else there must be none.
    """

    def __init__(self, domain: Domain, width: int, nodes: ObjectType, *, with_values: bool = False) -> None:
        super().__init__()
        self.nodes = nodes
        self.names = tuple(domain.actions)
        self.types = tuple(_object_types(domain, name, nodes, with_values) for name in self.names)
        self.alike = tuple(
            tuple(i for i, other in enumerate(self.types) if other == types)
            for types in dict.fromkeys(self.types)
        )
        self.places = tuple(
            tuple(i for i, p in enumerate(domain.actions[name].parameters) if isinstance(p.type, ObjectType))
            for name in self.names
        )
        self.whole = nn.Linear(width, len(self.names))
        self.objects = nn.ModuleDict()
        self.factors = nn.ModuleDict()
        for i, types in enumerate(self.types):
            if types:
                self.objects[str(i)] = nn.Linear(width, len(types), bias=False)
            if len(types) > 1:
                self.factors[str(i)] = nn.Linear(width, len(types) * _RANK, bias=False)

    def forward(self, batch: StateBatch, nodes: Tensor, whole: Tensor) -> Tensor:
        """Scores ``[s, ground actions]`` in the order of `steps`; −∞ where there are no such objects."""
        scores = self.whole(whole)
        if len(self.alike) == 1:
            return self._scores(batch, nodes, scores, self.alike[0]).flatten(1)
        found: dict[int, Tensor] = {}
        for actions in self.alike:
            some = self._scores(batch, nodes, scores[:, list(actions)], actions)
            found |= {action: some[:, i].flatten(1) for i, action in enumerate(actions)}
        return torch.cat([found[i] for i in range(len(self.types))], 1)

    def _scores(self, batch: StateBatch, nodes: Tensor, score: Tensor, actions: Sequence[int]) -> Tensor:
        """The scores ``[s, k, *axes]`` of ``k`` actions with parameters of the same types."""
        types = self.types[actions[0]]
        score = score.reshape(*score.shape, *(1,) * len(types))
        if not types:
            return score
        weight = self._joined(self.objects, actions).reshape(len(actions), len(types), -1)
        factors: list[Tensor] = []
        for at, type_ in enumerate(types):
            objects = along(batch, nodes, 1, type_, self.nodes)
            shape = [1] * len(types)
            shape[at] = objects.shape[1]
            own = linear(objects, weight[:, at]).transpose(1, 2)
            score = score + own.reshape(len(own), len(actions), *shape)
            if len(types) > 1:
                ranked = self._joined(self.factors, actions).reshape(len(actions), len(types), _RANK, -1)
                part = linear(objects, ranked[:, at].flatten(0, 1))
                part = part.reshape(*objects.shape[:2], len(actions), _RANK).transpose(1, 2)
                factor = part.reshape(len(own), len(actions), *shape, _RANK)
                for other in factors:
                    score = score + (factor * other).sum(-1) / _RANK
                factors.append(factor)
            mask = batch.mask(type_)
            if mask is not None:
                score = score.masked_fill(~mask.reshape(-1, 1, *shape), -torch.inf)
        return score

    @staticmethod
    def _joined(layers: nn.ModuleDict, actions: Sequence[int]) -> Tensor:
        """The weights of some actions' layers under each other: one product instead of many."""
        found = [layers[str(action)] for action in actions]
        return torch.cat([layer.weight for layer in found if isinstance(layer, nn.Linear)])

    def sizes(self, batch: StateBatch) -> list[tuple[int, ...]]:
        """The object axes of each action."""
        return [tuple(batch.count(type_) for type_ in types) for types in self.types]

    def targets(self, batch: StateBatch, actions: Tensor, arguments: Tensor) -> Tensor:
        """The places among the scores of actions, by their number here and the places of their objects."""
        found = torch.zeros_like(actions)
        begin = 0
        for i, sizes in enumerate(self.sizes(batch)):
            place = torch.zeros_like(actions)
            for at, size in zip(self.places[i], sizes, strict=True):
                place = place * size + arguments[:, at]
            found = torch.where(actions == i, begin + place, found)
            begin += prod(sizes)
        return found

    def steps(self, batch: StateBatch, chosen: Tensor) -> list[Step]:
        """The ground actions at some places among the scores, one a state, with their objects alone."""
        sizes = self.sizes(batch)
        found: list[Step] = []
        for row, at_scores in enumerate(chosen.tolist()):
            place, action = at_scores, 0
            while place >= prod(sizes[action]):
                place -= prod(sizes[action])
                action += 1
            universe, objects = batch.universe(row), []
            for type_, size in reversed([*zip(self.types[action], sizes[action], strict=True)]):
                place, at = divmod(place, size)
                objects.append(universe.members(type_)[at])
            found.append((self.names[action], *reversed(objects)))
        return found


def _object_types(domain: Domain, name: str, nodes: ObjectType, with_values: bool) -> tuple[ObjectType, ...]:
    found = []
    for parameter in domain.actions[name].parameters:
        if not isinstance(parameter.type, ObjectType):
            if with_values:
                continue
            raise error(
                "unsupported-type",
                f"`{parameter.name}` of the action `{name}` is a {parameter.type}, and this baseline "
                "chooses among objects alone",
                parameter.span,
            )
        if not domain.hierarchy.is_subtype(parameter.type, nodes):
            raise error(
                "bad-option",
                f"the action `{name}` is about a {parameter.type}, and `types` leaves such objects out",
                help=f"also name `{parameter.type}`",
            )
        found.append(parameter.type)
    return tuple(found)


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


_BETA: Final = 0.1
"""Standard deviations of the numbers from which on their error counts linearly, and not as a square."""


@final
class ValueArguments(nn.Module):
    """Numbers for the value parameters of each action that has some, given its objects and the state.

    Where objects have values of a parameter's type, it is predicted relative to one of them (`Anchor`).
    """

    def __init__(self, domain: Domain, shapes: Shapes, width: int, scores: ActionScores) -> None:
        super().__init__()
        self._scores = [scores]  # not a part: its weights are the agent's
        self.actions = [domain.actions[name] for name in scores.names]
        self.widths = [sum(map(width_of, _value_types(action))) for action in self.actions]
        self.heads = nn.ModuleDict()
        self.anchors = nn.ModuleDict()
        groups = comparable(domain, read_predicates(domain), shapes)
        for i, (size, types) in enumerate(zip(self.widths, scores.types, strict=True)):
            if size:
                self.heads[str(i)] = nn.Sequential(
                    nn.Linear((1 + len(types)) * width, width), nn.ReLU(), nn.Linear(width, size)
                )
                self.register_buffer(f"mean{i}", torch.zeros(size))
                self.register_buffer(f"scale{i}", torch.ones(size))
                for at, type_ in enumerate(_value_types(self.actions[i])):
                    group = next((group for group in groups if group[0].type == type_), None)
                    if group is not None:
                        self.anchors[f"{i}-{at}"] = Anchor(group, (1 + len(types)) * width, width)

    def standardise(self, demonstrations: Demonstrations) -> None:
        """Take the mean and the spread of the numbers from what was demonstrated."""
        for i, size in enumerate(self.widths):
            taken = np.flatnonzero(demonstrations.action == i)
            if size and len(taken):
                dataset = demonstrations.dataset
                numbers = dataset.numbers[dataset.rows(dataset.place(taken))][:, :size]
                mean, scale = self._units(i)
                mean.copy_(numbers.mean(0))
                scale.copy_(numbers.std(0, unbiased=False).clamp_min(LEAST_SPREAD))

    def errors(
        self,
        batch: StateBatch,
        nodes: Tensor,
        whole: Tensor,
        taken: tuple[Tensor, Tensor, Tensor],
    ) -> Tensor:
        """How far predictions are from the numbers of actions that were taken, ``[state]``; 0 of others.

        ``taken``: the actions by number, the places of their objects, and their numbers.
        """
        actions, arguments, numbers = taken
        found = whole.new_zeros(batch.size)
        for i, size in enumerate(self.widths):
            rows = (actions == i).nonzero()[:, 0]
            if size and len(rows):
                mean, scale = self._units(i)
                wanted = (numbers[rows, :size].to(mean) - mean) / scale
                got = self._predicted(i, batch, nodes, whole, rows, arguments[rows])
                off = smooth_l1_loss(got, wanted, beta=_BETA, reduction="none").sum(1)
                found = found.index_add(0, rows, off)
        return found

    def completed(
        self, batch: StateBatch, nodes: Tensor, whole: Tensor, steps: Sequence[Step | None]
    ) -> list[Step | None]:
        """Actions with their objects alone, completed by what is predicted for them."""
        found = list(steps)
        names = list(self._scores[0].names)
        for i, size in enumerate(self.widths):
            rows = [row for row, step in enumerate(steps) if step is not None and step[0] == names[i]]
            if not size or not rows:
                continue
            types, places = self._scores[0].types[i], self._scores[0].places[i]
            arguments = torch.zeros(len(rows), len(self.actions[i].parameters), dtype=torch.int64)
            for at, row in enumerate(rows):
                objects = (steps[row] or ())[1:]
                for place, type_, name in zip(places, types, objects, strict=True):
                    arguments[at, place] = batch.universe(row).members(type_).index(name)
            index = torch.tensor(rows, device=nodes.device)
            mean, scale = self._units(i)
            numbers = self._predicted(i, batch, nodes, whole, index, arguments.to(nodes.device))
            for row, values in zip(rows, (numbers * scale + mean).tolist(), strict=True):
                found[row] = _step(self.actions[i], (steps[row] or ())[1:], values)
        return found

    def _units(self, action: int) -> tuple[Tensor, Tensor]:
        return self.get_buffer(f"mean{action}"), self.get_buffer(f"scale{action}")

    def _predicted(
        self, action: int, batch: StateBatch, nodes: Tensor, whole: Tensor, rows: Tensor, arguments: Tensor
    ) -> Tensor:
        """The numbers of an action in some rows, in standard deviations from the mean."""
        scores = self._scores[0]
        parts = [whole[rows]]
        for place, type_ in zip(scores.places[action], scores.types[action], strict=True):
            parts.append(nodes_at(batch, nodes, rows, type_, arguments[:, place], scores.nodes))
        question = torch.cat(parts, -1)
        predicted: Tensor = self.heads[str(action)](question)
        if not any(key.startswith(f"{action}-") for key in self.anchors):
            return predicted
        mean, scale = self._units(action)
        begins, used = [], 0
        for at, wanted in enumerate(_value_types(self.actions[action])):
            otherwise = mean[used : used + width_of(wanted)]
            used += len(otherwise)
            key = f"{action}-{at}"
            begins.append(
                self.anchors[key](batch, nodes, rows, question, otherwise, scores.nodes)
                if key in self.anchors
                else otherwise.expand(len(rows), -1)
            )
        return predicted + (torch.cat(begins, 1) - mean) / scale


def _value_types(action: Action) -> list[ValueType]:
    """The types of an action's value parameters, which are floats."""
    found = []
    for parameter in action.parameters:
        if isinstance(parameter.type, ValueType):
            if parameter.type.prim != "float32" or parameter.type.shape is None:
                raise error(
                    "unsupported-type",
                    f"`{parameter.name}` of the action `{action.name}` is a {parameter.type}, and baselines "
                    "predict vectors of floats alone",
                    parameter.span,
                )
            found.append(parameter.type)
    return found


def _step(action: Action, objects: Sequence[object], numbers: Sequence[float]) -> Step:
    """The action with its objects and its values in the order of its parameters."""
    left, used = list(objects), 0
    words: list[object] = [action.name]
    for parameter in action.parameters:
        if not isinstance(parameter.type, ValueType):
            words.append(left.pop(0))
            continue
        width = width_of(parameter.type)
        value = tuple(numbers[used : used + width])
        words.append(value if parameter.type.shape else value[0])
        used += width
    return tuple(words)
