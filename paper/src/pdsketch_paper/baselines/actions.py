"""A score for each ground action, from the vectors of a state and of its objects."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, final

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pdsketch.lang import Domain, ObjectType, Step, error
from pdsketch.tensor import StateBatch
from pdsketch_paper.baselines.graph import along

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
