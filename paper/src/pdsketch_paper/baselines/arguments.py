"""Values that actions take besides objects, some of them relative to an object."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import smooth_l1_loss

from pdsketch.lang import Action, Domain, ObjectType, Predicate, Step, ValueType, error
from pdsketch.tensor import StateBatch
from pdsketch.training import width_of
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.demonstrations import Demonstrations
from pdsketch_paper.baselines.graph import (
    LEAST_SPREAD,
    Shapes,
    comparable,
    nodes_at,
    placed_values,
    read_predicates,
)


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
