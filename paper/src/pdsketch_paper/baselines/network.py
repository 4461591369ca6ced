"""What every baseline is: a network over graphs of a domain's states, trained from demonstrations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, final

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.lang import TRUE, Domain, Step, error
from pdsketch.tensor import State, StateBatch, same_domain
from pdsketch.training import Array, DeviceDataset, EpisodeArrays, Source, gather, put_on_device
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.formulas import GoalTree, tree_of
from pdsketch_paper.baselines.graph import (
    GraphEncoder,
    Presented,
    Relative,
    Shapes,
    node_type,
    read_predicates,
)


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


class Baseline(nn.Module, ABC):
    """A network that is trained from demonstrations; ``notes`` say how it was.

    Only objects of the given ``types`` are nodes of its graphs; None: all are.
    """

    KIND: ClassVar[str]

    def __init__(self, domain: Domain, shapes: Shapes, types: Sequence[str] | None = None) -> None:
        super().__init__()
        self.domain = domain
        self.types = None if types is None else list(types)
        self.encoder = GraphEncoder(domain, shapes, node_type(domain, types))
        self.shapes = {part.predicate.name: shapes[part.predicate.name] for part in self._presented}
        self.notes: dict[str, Any] = {}

    @abstractmethod
    def examples(self, demonstrations: Demonstrations) -> Array:
        """The examples that are learned from."""

    @abstractmethod
    def loss(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """What a step of training lowers."""

    @abstractmethod
    def score(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """How good the network is on each of some examples: more is better."""

    def likelihood(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """By what the weights are chosen, on examples held out: more is better."""
        return self.score(demonstrations, examples)

    def shuffled(self, examples: Array, demonstrations: Demonstrations, draw: np.random.Generator) -> Array:
        """The examples in another order, for one more pass over them."""
        del demonstrations
        return draw.permutation(examples)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return self.encoder.input.of_type.weight.device

    @property
    def _presented(self) -> list[Presented]:
        return [part for part in self.encoder.input.presented if isinstance(part, Presented)]

    def standardise(self, demonstrations: Demonstrations) -> None:
        """Take the scale of all numbers from data."""
        for part in self._presented:
            part.standardise(demonstrations.dataset.sample(part.predicate.name))
        for group in self.encoder.input.relative:
            assert isinstance(group, Relative)
            group.standardise([demonstrations.dataset.sample(p.name) for p in group.predicates])

    def seen(
        self, states: Sequence[State], goals: Sequence[str]
    ) -> tuple[StateBatch, Sequence[GoalTree], Tensor]:
        """States and goals that a user gave, as the network takes them."""
        for state in states:
            if not same_domain(state.domain, self.domain):
                raise error(
                    "other-domain",
                    f"the baseline was trained for `{self.domain.name}`, and the state is one of "
                    f"`{state.domain.name}`",
                )
        batch = StateBatch.of(states).to(self.device)
        listed = list(dict.fromkeys(goals))
        trees = [self._tree(states[goals.index(goal)], goal) for goal in listed]
        number = {goal: i for i, goal in enumerate(listed)}
        return batch, trees, torch.tensor([number[goal] for goal in goals], device=self.device)

    def _tree(self, state: State, goal: str) -> GoalTree:
        universe = state.batch.layout.universes[0]
        return tree_of(universe.formula(goal))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the baseline into a folder; `pdsketch.load_baseline` reads it."""
        from pdsketch_paper.baselines.training import save_baseline

        save_baseline(self, folder)


class AgentBaseline(Baseline):
    """A baseline that acts: an agent in the sense of `pdsketch.Agent`.

    At a ``temperature`` of 0 it takes the likeliest action. At 1 it draws actions with their
    probabilities, the same ones after each `reset`: an agent that is stuck gets away again.
    """

    temperature: float = 0.0

    def __init__(self, domain: Domain, shapes: Shapes, types: Sequence[str] | None = None) -> None:
        super().__init__(domain, shapes, types)
        self._draw = np.random.default_rng(0)

    def reset(self) -> None:
        """Forget everything about the episodes so far."""
        self._draw = np.random.default_rng(0)

    @abstractmethod
    def act(self, state: State, goal: str) -> Step | None:
        """The next action towards the goal."""

    def decided(self, batch: StateBatch, scores: Tensor, among: ActionScores) -> list[Step | None]:
        """An action for each state; None where there is no action at all."""
        if not scores.shape[1]:
            return [None] * batch.size
        possible = scores.amax(1) > -torch.inf
        if self.temperature > 0:  # by Gumbel's trick (1954): the largest of disturbed scores
            noise = torch.from_numpy(self._draw.gumbel(size=scores.shape)).to(scores)
            scores = scores / self.temperature + noise
        steps = among.steps(batch, scores.argmax(1))
        return [step if ok else None for step, ok in zip(steps, possible.tolist(), strict=True)]
