"""What a run of the Painting Factory is made from; without MuJoCo, so that the tables can be listed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

AgentKind = Literal["bc", "dt-s"]
"""The paper's baselines in this domain."""


@final
@dataclass(frozen=True, slots=True)
class PaintingTraining:
    """One trained model: how many demonstrations, the seed of data and weights, and how it is fitted."""

    episodes: int = 1000
    seed: int = 0
    steps: int = 700
    batch: int = 64
    learning_rate: float = 3e-3
    lookahead: float = 0.5
    blocks: int = 4
    bowls: int = 4
    images: str = "rasterised"


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
    """One run: a model, the kinds of goals that it is tried on, and how many problems of each.

    ``blocks`` and ``bowls`` are those of the tables where it is tried (None: as many as in training), with so
    much noise of the controller: ``placement_noise`` in metres, ``lost_grips`` as a part of all lifts.
    """

    train: PaintingTraining
    goals: tuple[str, ...]
    problems: int
    search: PaintingSearch = field(default_factory=PaintingSearch)
    blocks: int | None = None
    bowls: int | None = None
    placement_noise: float = 0.002
    lost_grips: float = 0.0

    def tried_in(self) -> dict[str, Any]:
        """The options of the worlds where it is tried."""
        return {
            "blocks": self.train.blocks if self.blocks is None else self.blocks,
            "bowls": self.train.bowls if self.bowls is None else self.bowls,
            "images": self.train.images,
            "placement_noise": self.placement_noise,
            "lost_grips": self.lost_grips,
        }

    def in_world(self, **options: Any) -> PaintingConfig:
        """The same with other demonstrations."""
        return replace(self, train=replace(self.train, **options))


@final
@dataclass(frozen=True, slots=True)
class PaintingBaselineConfig:
    """One trained agent, and on how many held-out problems of the demonstrated kind it is tried.

    Nothing is held out of its training: the demonstrator takes any block, so that held-out steps become
    less likely from the first passes on, while which bowl is meant is still being learned. It takes the
    likeliest action (``temperature`` 0).
    """

    kind: AgentKind
    episodes: int
    seed: int
    steps: int
    batch: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    validation: float = 0.0
    temperature: float = 0.0
    problems: int = 100
    blocks: int = 4
    bowls: int = 4

    def in_world(self, **options: Any) -> PaintingBaselineConfig:
        """The same with other demonstrations."""
        return replace(self, **options)


@final
@dataclass(frozen=True, slots=True)
class PaintingLightConfig:
    """One trained model, and how many tables it sees in each ``light``, as `PaintingWorld` has it."""

    train: PaintingTraining
    tables: int
    lights: tuple[float, ...]

    def in_world(self, **options: Any) -> PaintingLightConfig:
        """The same with other demonstrations."""
        return replace(self, train=replace(self.train, **options))
