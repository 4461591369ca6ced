"""Behaviour cloning: the action that the demonstrator would take (Bain and Sammut, 1995)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from pdsketch.lang import Domain, Step
from pdsketch.tensor import State, StateBatch
from pdsketch.training import Array
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.arguments import ValueArguments
from pdsketch_paper.baselines.demonstrations import Demonstrations
from pdsketch_paper.baselines.encoder import WIDTH
from pdsketch_paper.baselines.formulas import GoalTree
from pdsketch_paper.baselines.graph import Shapes
from pdsketch_paper.baselines.network import AgentBaseline


@final
class BehaviourCloning(AgentBaseline):
    """An agent without a model of the world: the likeliest action of successful demonstrations."""

    KIND: ClassVar[str] = "bc"

    def __init__(self, domain: Domain, shapes: Shapes, types: Sequence[str] | None = None) -> None:
        super().__init__(domain, shapes, types)
        self.scores = ActionScores(domain, WIDTH, self.encoder.input.node_type, with_values=True)
        self.values = ValueArguments(domain, shapes, WIDTH, self.scores)

    def forward(self, batch: StateBatch, trees: Sequence[GoalTree], goal: Tensor) -> Tensor:
        """A score for each ground action ``[s, a]``."""
        nodes, whole = self.encoder(batch, trees, goal)
        scores: Tensor = self.scores(batch, nodes, whole)
        return scores

    def standardise(self, demonstrations: Demonstrations) -> None:
        """Take the scale of all numbers from data."""
        super().standardise(demonstrations)
        self.values.standardise(demonstrations)

    def act(self, state: State, goal: str) -> Step | None:
        """The action of one state."""
        return self.act_many([state], [goal])[0]

    @torch.inference_mode()
    def act_many(self, states: Sequence[State], goals: Sequence[str]) -> list[Step | None]:
        """An action for each state; None where there is no action at all."""
        batch, trees, goal = self.seen(states, goals)
        nodes, whole = self.encoder(batch, trees, goal)
        steps = self.decided(batch, self.scores(batch, nodes, whole), self.scores)
        return self.values.completed(batch, nodes, whole, steps)

    def examples(self, demonstrations: Demonstrations) -> Array:
        """The steps that led to the goal."""
        return np.flatnonzero(demonstrations.taken & (demonstrations.to_go > 0))

    def loss(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """The cross-entropy of the actions that were taken, and how far off their values are."""
        scores, targets, errors = self._scored(demonstrations, examples)
        return cross_entropy(scores, targets) + errors.mean()

    def likelihood(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """The log-likelihood of the actions that were taken: actions may be drawn by it."""
        scores, targets, errors = self._scored(demonstrations, examples)
        return -cross_entropy(scores, targets, reduction="none") - errors

    def score(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """Whether the likeliest action is the one that was taken."""
        scores, targets, _ = self._scored(demonstrations, examples)
        return (scores.argmax(1) == targets).float()

    def _scored(self, demonstrations: Demonstrations, examples: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, the places of the actions that were taken, and how far their values are off."""
        batch, trees, goal = demonstrations.states(examples)
        actions, arguments = demonstrations.actions(examples)
        nodes, whole = self.encoder(batch, trees, goal)
        taken = actions, arguments, demonstrations.numbers(examples)
        errors = self.values.errors(batch, nodes, whole, taken)
        return self.scores(batch, nodes, whole), self.scores.targets(batch, actions, arguments), errors
