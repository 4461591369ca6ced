"""A heuristic learned from demonstrations: how many steps are left, read from the graph of a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import smooth_l1_loss, softplus

from pdsketch.kernels import Bools, Floats
from pdsketch.lang import Domain, error
from pdsketch.tensor import StateBatch, same_domain
from pdsketch.training import Array
from pdsketch_paper.baselines.formulas import GoalTree, tree_of
from pdsketch_paper.baselines.graph import WIDTH, Shapes
from pdsketch_paper.baselines.network import Baseline, Demonstrations

if TYPE_CHECKING:
    from pdsketch.search import Searched


@final
class CostToGo(Baseline):
    """A network that estimates the steps to a goal; `plan` takes it as a heuristic."""

    KIND: ClassVar[str] = "gnn"

    def __init__(self, domain: Domain, shapes: Shapes, types: Sequence[str] | None = None) -> None:
        super().__init__(domain, shapes, types)
        self.last = nn.Linear(WIDTH, 1)

    def forward(self, batch: StateBatch, trees: Sequence[GoalTree], goal: Tensor) -> Tensor:
        """The steps that are left ``[s]``."""
        _, whole = self.encoder(batch, trees, goal)
        return softplus(self.last(whole)[:, 0])

    def examples(self, demonstrations: Demonstrations) -> Array:
        """The states up to the one in which the goal holds."""
        return np.flatnonzero((demonstrations.to_go >= 0) & (demonstrations.dataset.goal >= 0))

    def loss(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """Huber's loss (1964) of the steps that were left."""
        found, wanted = self._estimated(demonstrations, examples)
        return smooth_l1_loss(found, wanted)

    def score(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """How far the estimate is from the steps that were left, negated."""
        found, wanted = self._estimated(demonstrations, examples)
        return -(found - wanted).abs()

    def _estimated(self, demonstrations: Demonstrations, examples: Tensor) -> tuple[Tensor, Tensor]:
        batch, trees, goal = demonstrations.states(examples)
        left = torch.from_numpy(demonstrations.to_go[examples.cpu().numpy()]).to(examples.device)
        return self(batch, trees, goal), left.float()

    def for_search(self, searched: Searched) -> LearnedHeuristic:
        """The heuristic of a search, as `plan` asks for it."""
        if not same_domain(searched.model.domain, self.domain):
            raise error(
                "other-domain",
                f"the heuristic was trained for `{self.domain.name}`, and the model is one of "
                f"`{searched.model.domain.name}`",
            )
        return LearnedHeuristic(self.to(searched.model.device), searched)


@final
class LearnedHeuristic:
    """Estimates of a network. They are not admissible, and never infinite."""

    infinity_is_proof = False

    def __init__(self, network: CostToGo, searched: Searched) -> None:
        self._network = network
        listed = list(dict.fromkeys(searched.goals))
        self._trees = [tree_of(goal) for goal in listed]
        number = {goal: i for i, goal in enumerate(listed)}
        self._goal = torch.tensor([number[goal] for goal in searched.goals], device=network.device)

    @torch.inference_mode()
    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state; 0 where the goal holds."""
        network = self._network
        used, which = torch.unique(self._goal[problems.to(network.device)], return_inverse=True)
        trees = [self._trees[i] for i in used.tolist()]
        found = network(batch.to(network.device), trees, which)
        return np.where(goals, 0.0, found.double().cpu().numpy())

    def explain(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """No value is infinite."""
        del batch, problem
        return ()

    def rests_on(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """No value is infinite."""
        del batch, problem
        return ()
