"""What every baseline is: a network over graphs of a domain's states, with notes on its training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.lang import Domain, Step, error
from pdsketch.tensor import State, StateBatch, same_domain
from pdsketch.training import Array
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.demonstrations import Demonstrations
from pdsketch_paper.baselines.formulas import GoalTree, tree_of
from pdsketch_paper.baselines.graph import GraphEncoder, Presented, Relative, Shapes, node_type


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
