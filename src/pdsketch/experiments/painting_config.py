"""What a run of the Painting Factory is made from; without MuJoCo, so that the tables can be listed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, final


@final
@dataclass(frozen=True, slots=True)
class PaintingTraining:
    """One trained model: how many demonstrations, the seed of data and weights, and how it is fitted."""

    episodes: int = 1000
    seed: int = 0
    steps: int = 700
    batch: int = 64
    learning_rate: float = 3e-3
    trial: float = 0.0
    lookahead: float = 0.5
    blocks: int = 4
    bowls: int = 4


@final
@dataclass(frozen=True, slots=True)
class PaintingSearch:
    """How plans are found. The limit is on expansions, never on time.

    ``confidence`` keeps blocks away from the edges of what was learned to be left, right or on.
    """

    search: Literal["gbfs", "wastar", "astar"] = "astar"
    heuristic: str = "goalorder"
    max_expansions: int = 200
    confidence: float = 0.9


@final
@dataclass(frozen=True, slots=True)
class PaintingConfig:
    """One run: a model, and how many problems of each kind it is tried on (0: none)."""

    train: PaintingTraining
    search: PaintingSearch = field(default_factory=PaintingSearch)
    problems: int = 0
    unseen: int = 0
    unseen_blocks: int = 5
    unseen_bowls: int = 5

    def in_world(self, **options: Any) -> PaintingConfig:
        """The same with other demonstrations."""
        return replace(self, train=replace(self.train, **options))
