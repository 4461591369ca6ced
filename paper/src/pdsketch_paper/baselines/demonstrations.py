"""Episodes as demonstrations: which steps led to a goal, and how many were left.

The data set is the one that models are fitted to (`learn.data`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import TRUE, Domain, error
from pdsketch.tensor import StateBatch
from pdsketch.training import Array, DeviceDataset, EpisodeArrays, Source, gather, put_on_device
from pdsketch_paper.baselines.formulas import GoalTree, tree_of
from pdsketch_paper.baselines.graph import Shapes, read_predicates


@final
@dataclass(frozen=True, eq=False)
class Demonstrations:
    """A data set seen by its runs: the examples of one episode with one goal, in their order.

    By example ``[e]``: ``run``, ``step`` within it, and ``to_go``, the steps until the goal first
    held (0 there; −1 after that, and where it never did). ``action`` is numbered as the
    domain's actions are. ``trees`` are the goals of the data set.
    """

    dataset: DeviceDataset
    trees: Sequence[GoalTree]
    run: Array
    step: Array
    to_go: Array
    action: Array

    @property
    def shapes(self) -> Shapes:
        """The value axes of each predicate."""
        return self.dataset.arrays.shapes

    @cached_property
    def taken(self) -> Array:
        """Where an action was taken, and not refused, for a goal that did not yet hold ``[e]``."""
        dataset = self.dataset
        found: Array = (self.action >= 0) & (dataset.executable != 0) & (dataset.goal >= 0)
        return found & ~dataset.outcomes

    def states(self, examples: Tensor) -> tuple[StateBatch, Sequence[GoalTree], Tensor]:
        """The states of some examples, their goals, and which of these each has."""
        batch = self.dataset.batch(self.dataset.rows(examples))
        of = self.dataset.examples.goal[examples]
        if len(self.trees) <= len(examples):  # to look for those that occur takes longer
            return batch, self.trees, of
        goals, which = torch.unique(of, return_inverse=True)
        return batch, [self.trees[i] for i in goals.tolist()], which

    def actions(self, examples: Tensor) -> tuple[Tensor, Tensor]:
        """The actions of some examples, and the places of their objects."""
        chosen = torch.from_numpy(self.action[examples.cpu().numpy()]).to(examples.device)
        return chosen, self.dataset.arguments[self.dataset.rows(examples)]

    def numbers(self, examples: Tensor) -> Tensor:
        """The numbers of the value arguments of their actions, side by side."""
        return self.dataset.numbers[self.dataset.rows(examples)]


def open_demonstrations(episodes: Source, domain: Domain, device: torch.device) -> Demonstrations:
    """Episodes, wherever they are, as demonstrations of a domain."""
    arrays = gather(episodes, domain)
    for predicate in read_predicates(domain):
        if predicate.name not in arrays.values:
            raise error("no-value", f"the episodes hold no values for `{predicate.name}`")
    dataset = put_on_device(arrays, device)
    begins = dataset.state == arrays.starts[dataset.episode]
    run = np.cumsum(begins) - 1
    place = np.arange(len(dataset))
    first = np.flatnonzero(begins)
    held = np.where(dataset.outcomes & (dataset.goal >= 0), place, len(place))
    reached = np.minimum.reduceat(held, first)[run]
    to_go = np.where(reached < len(place), reached - place, -1)
    names = {name: i for i, name in enumerate(domain.actions)}
    number = np.array([names[name] for name in arrays.actions] + [-1], dtype=np.int64)
    return Demonstrations(
        dataset=dataset,
        trees=_trees(arrays),
        run=run,
        step=place - first[run],
        to_go=np.maximum(to_go, -1),
        action=number[dataset.action],
    )


def _trees(arrays: EpisodeArrays) -> list[GoalTree]:
    """The goals as trees, each read with the objects of an episode that it is about."""
    used, first = np.unique(arrays.goal, return_index=True)
    universe = dict(zip(used.tolist(), arrays.universe[arrays.owner[first]].tolist(), strict=True))
    return [
        tree_of(arrays.universes[universe[at]].formula(text) if at in universe else TRUE)
        for at, text in enumerate(arrays.goals)
    ]
