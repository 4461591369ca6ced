"""BabyAI: train a sketch, then measure a policy that plans with it on held-out problems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, final

from pdsketch.act import Policy, Rollouts, rollout
from pdsketch.search import ModelSearch
from pdsketch.tensor import Model
from pdsketch.training import Report
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.modules import SketchName, rob_functions
from pdsketch_paper.babyai.states import load_sketch
from pdsketch_paper.babyai.world import problem_seed
from pdsketch_paper.experiments.training import fit_model

MOST_STEPS = 64
"""An episode that acts longer than this has failed."""

MOST_REPLANS = 3
"""How often closed-loop acting may plan anew."""

TOLERANCE = 0.3
"""How far a number may be from its prediction: poses are whole numbers."""


@final
@dataclass(frozen=True, slots=True)
class TrainConfig:
    """One trained model: which sketch, how many demonstrations, the seed of data and weights."""

    sketch: SketchName = "abs"
    episodes: int = 1000
    seed: int = 0
    steps: int = 1200
    batch: int = 256
    learning_rate: float = 3e-3
    objects: int = 4
    doors: int = 4


@final
@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How plans are found. The limit is on expansions, never on time."""

    search: ModelSearch = "astar"
    heuristic: str = "blind"
    max_expansions: int = 500
    snap: bool = False
    k: int = 1


def train(config: TrainConfig) -> tuple[Model, Report]:
    """A model trained on fresh demonstrations, and the report of its fit."""
    world = BabyAIWorld(config.objects, config.doors, config.sketch)
    model = new_model(config.sketch, config.seed)
    return fit_model(model, world.demonstrations(config.episodes, config.seed), config)


def new_model(sketch: SketchName, seed: int) -> Model:
    """An untrained model: default networks in every blank, and PDS-Rob's functions where it names them."""
    return Model(load_sketch(sketch), modules=rob_functions() if sketch == "rob" else {}, seed=seed)


def planner(model: Model, search: SearchConfig, loop: Literal["open", "closed"] = "open") -> Policy:
    """The policy of the tables."""
    return Policy(
        model,
        search=search.search,
        heuristic=search.heuristic,
        tolerance=TOLERANCE,
        options={
            "max_expansions": search.max_expansions,
            "time_limit": None,
            "snap": search.snap,
            "k": search.k,
        },
        loop=loop,
        max_replans=MOST_REPLANS,
    )


def held_out(problems: int, seed: int = 0, split: str = "test") -> list[int]:
    """Seeds of problems that no training set holds; settings are chosen on those of another ``split``."""
    return [problem_seed(seed, index, split) for index in range(problems)]


def fitting(world: BabyAIWorld, seeds: Iterable[int], count: int) -> list[int]:
    """The first seeds whose very room has a goal of the world's kind."""
    return list(islice((seed for seed in seeds if world.fits(seed)), count))


def worlds_for(model: Model, count: int, **options: Any) -> list[BabyAIWorld]:
    """Worlds to act in side by side, seen as the model sees them."""
    return [BabyAIWorld(sketch=model.domain, **options) for _ in range(count)]


def both_loops(
    model: Model, seeds: Sequence[int], search: SearchConfig, **options: Any
) -> dict[str, dict[str, float]]:
    """Acting blindly and with replanning on the same problems; the options are those of the world."""
    worlds = worlds_for(model, len(seeds), **options)
    closed = rollout(planner(model, search, "closed"), worlds, seeds, MOST_STEPS)
    # An episode that was not planned for anew is the same in both loops: its plan need not be found twice.
    others = [i for i, account in enumerate(closed.accounts) if account["replans"]]
    again = rollout(planner(model, search, "open"), worlds, [seeds[i] for i in others], MOST_STEPS)
    return {"open": _measured(closed.replaced(others, again)), "closed": _measured(closed)}


def _measured(done: Rollouts) -> dict[str, float]:
    summary = done.summary
    return {name: summary[name] or 0.0 for name in MEASURED}


MEASURED = ("success", "planned", "expanded", "steps", "replans")
"""What tables are made of: nothing that depends on the machine's speed."""
