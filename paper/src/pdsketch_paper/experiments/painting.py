"""The Painting Factory: train the sketch from crops, then measure a policy that plans with it.

Relations are `pdsketch.nets.Offset`, so that the poses of plans are sampled from what was learned. All other
blanks are the default networks of their signatures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pdsketch.act import Policy, Rollouts, rollout
from pdsketch.nets import Offset
from pdsketch.tensor import Model
from pdsketch.training import Report
from pdsketch_paper.experiments.painting_config import PaintingSearch, PaintingTraining
from pdsketch_paper.experiments.training import fit_model
from pdsketch_paper.painting.adapter import PaintingWorld
from pdsketch_paper.painting.data import table_seed
from pdsketch_paper.painting.layout import SPAN
from pdsketch_paper.painting.states import load_sketch
from pdsketch_paper.painting.truth import RELATIONS

MOST_STEPS = 24
"""An episode that acts longer than this has failed: three times the longest demonstrated kind of plan."""

MOST_REPLANS = 20
"""How often closed-loop acting may plan anew: with noise, about as often as it acts."""

AT_ONCE = 20
"""Episodes that are acted in side by side; each has a world of its own, and a picture's context with it."""

POSE_TOLERANCE = 0.06
"""How far a block may be from where it was expected, in poses: half the gap between blocks side by side."""

ANYTHING = 1e9
"""Pictures of containers change with what lies in them, and features of blocks with the light: no deviation
that matters. A block that was not painted is not where it should be, either."""


def new_painting_model(seed: int) -> Model:
    """An untrained model: offsets as relations, default networks in every other blank."""
    offsets = {name: Offset(len(SPAN)) for name in (*RELATIONS, "inside")}
    return Model(load_sketch(), modules=offsets, seed=seed)


def train_painting(config: PaintingTraining) -> tuple[Model, Report]:
    """A model trained on fresh demonstrations, and the report of its fit."""
    world = PaintingWorld(config.blocks, config.bowls, images=config.images)
    model = new_painting_model(config.seed)
    demonstrations = world.demonstrations(config.episodes, config.seed)
    return fit_model(model, demonstrations, config, lookahead=config.lookahead)


def painting_planner(model: Model, search: PaintingSearch, loop: Literal["open", "closed"]) -> Policy:
    """The policy of the tables."""
    return Policy(
        model,
        search=search.search,
        heuristic=search.heuristic,
        tolerance={"item-pose": POSE_TOLERANCE, "container-image": ANYTHING, "item-feature": ANYTHING},
        options={
            "max_expansions": search.max_expansions,
            "time_limit": None,
            "candidates": "generators",
            "confidence": search.confidence,
            "k": 1,
        },
        loop=loop,
        max_replans=MOST_REPLANS,
    )


def painting_seeds(problems: int, seed: int) -> list[int]:
    """Seeds of tables that no training set holds."""
    return [table_seed(seed, index, "test") for index in range(problems)]


def measure_painting(
    model: Model, seeds: Sequence[int], search: PaintingSearch, **options: Any
) -> dict[str, dict[str, float]]:
    """Acting blindly and with replanning on the same tables; the options are those of the world."""
    worlds = [PaintingWorld(**options) for _ in seeds[:AT_ONCE]]
    closed = rollout(painting_planner(model, search, "closed"), worlds, seeds, MOST_STEPS)
    # An episode that was not planned for anew is the same in both loops: its plan need not be found twice.
    others = [i for i, account in enumerate(closed.accounts) if account["replans"]]
    again = rollout(painting_planner(model, search, "open"), worlds, [seeds[i] for i in others], MOST_STEPS)
    return {"open": _measured(closed.replaced(others, again)), "closed": _measured(closed)}


def _measured(done: Rollouts) -> dict[str, float]:
    summary = done.summary
    return {name: summary[name] or 0.0 for name in ("success", "planned", "expanded", "steps", "replans")}
