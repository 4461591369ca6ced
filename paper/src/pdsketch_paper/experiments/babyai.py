"""BabyAI: train a sketch, then measure it: missions, unseen goals, Minigrid's own levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, Literal, final

import numpy as np
import torch

from pdsketch.abstract import compile_and_or
from pdsketch.act import Policy, rollout
from pdsketch.search import HeuristicSource, ModelSearch, PlanOptions, search
from pdsketch.tensor import Model, State
from pdsketch.training import Report
from pdsketch_paper.babyai.adapter import STOCK_LEVELS, BabyAIWorld, exact_model
from pdsketch_paper.babyai.goals import UNSEEN
from pdsketch_paper.babyai.modules import SketchName, rob_functions
from pdsketch_paper.babyai.observation import load_sketch
from pdsketch_paper.babyai.world import problem_seed
from pdsketch_paper.experiments.methods import OURS, Method, fit_model, modules_of
from pdsketch_paper.experiments.runs import in_both_loops

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
    method: Method = OURS


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
    model = new_model(config.sketch, config.seed, config.method)
    world = BabyAIWorld(config.objects, config.doors, model.domain)
    return fit_model(model, world.demonstrations(config.episodes, config.seed), config)


def new_model(sketch: SketchName, seed: int, method: Method = OURS) -> Model:
    """An untrained model, and PDS-Rob's functions where it names them: its rules need walls, too."""
    without = sketch != "rob" and not method.walls
    domain = load_sketch(sketch, walls=False) if without else load_sketch(sketch)
    given = rob_functions() if sketch == "rob" else {}
    return Model(domain, modules={**given, **modules_of(domain, method, seed)}, seed=seed)


def planner(
    model: Model,
    search: SearchConfig,
    loop: Literal["open", "closed"] = "open",
    heuristic: HeuristicSource | None = None,
) -> Policy:
    """The policy of the tables; ``heuristic`` is one that no config can name."""
    return Policy(
        model,
        search=search.search,
        heuristic=heuristic or search.heuristic,
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
    return in_both_loops(partial(planner, model, search), worlds, seeds, MOST_STEPS)


MOST_EXPANSIONS: Final = 50_000
"""Where more are needed, the optimum is not known. About five seconds."""


def shortest(model: Model, state: State, goal: str) -> int | None:
    """The length of a shortest plan, None where it was not found.

    hmax is admissible, and an abstraction of exact modules has the model's own transitions.
    """
    with torch.inference_mode():
        batch = model.encode(state, crisp=True).batch
        abstraction = compile_and_or(model, batch.universe(0).types, model.formula(batch, goal), batch)
    options = PlanOptions(search="astar", heuristic="max", max_expansions=MOST_EXPANSIONS)
    plan = search(abstraction.task, options).plan
    return None if plan is None else len(plan)


UNSEEN_STEPS = 10 * MOST_STEPS
"""Goals over several things need longer plans than missions do."""


def unseen_seeds(kind: str, count: int, seed: int) -> list[int]:
    """Seeds of rooms in which a goal of this kind makes sense and does not hold at the start."""
    drawn = (problem_seed(seed, index, f"unseen {kind}") for index in range(20 * count))
    return fitting(BabyAIWorld(goals=kind), drawn, count)


def measure_unseen(
    model: Model, count: int, seed: int, searches: Mapping[str, SearchConfig]
) -> dict[str, dict[str, Any]]:
    """By kind, and by search: how often Minigrid's state satisfies the goal after acting on one plan.

    The same formula with exact modules judges. ``length_over_optimum`` compares what
    succeeded with shortest plans of exact modules, where these are known.
    """
    measured = {}
    for kind in UNSEEN:
        seeds = unseen_seeds(kind, count, seed)
        optima = [_optimum(kind, one) for one in seeds]
        known = [optimum for optimum in optima if optimum is not None]
        measured[kind] = {
            "problems": len(seeds),
            "optimum": float(np.mean(known or [0])),
            "optima_known": len(known),
            **{name: _try(model, kind, seeds, optima, search) for name, search in searches.items()},
        }
    return measured


def _optimum(kind: str, seed: int) -> int | None:
    world = BabyAIWorld(goals=kind)
    state = world.reset(seed)
    return shortest(exact_model(), state, world.goal)


def _try(
    model: Model, kind: str, seeds: Sequence[int], optima: Sequence[int | None], search: SearchConfig
) -> dict[str, float | None]:
    worlds = worlds_for(model, len(seeds), goals=kind)
    found = rollout(planner(model, search), worlds, seeds, UNSEEN_STEPS)
    ratios = [
        steps / optimum
        for steps, optimum, success in zip(found.steps, optima, found.success, strict=True)
        if success and optimum
    ]
    summary = found.summary
    return {
        **{name: summary[name] or 0.0 for name in ("success", "planned", "expanded")},
        "length_over_optimum": float(np.mean(ratios)) if ratios else None,
    }


def stock_seeds(level: str, count: int, seed: int) -> list[int]:
    """Seeds of one of Minigrid's own levels; starts that satisfy the mission already are left out."""
    drawn = (problem_seed(seed, index, level) for index in range(1000 * count))
    return fitting(BabyAIWorld(level=level), drawn, count)


def measure_stock(model: Model, count: int, seed: int, search: SearchConfig) -> dict[str, dict[str, float]]:
    """By level: the success of acting blindly and of acting with replanning."""
    measured = {}
    for level in STOCK_LEVELS:
        loops = both_loops(model, stock_seeds(level, count, seed), search, level=level)
        measured[level] = {name: loop["success"] for name, loop in loops.items()}
    return measured
