"""The Painting Factory: train the sketch or an agent, then measure it on tables that were never seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import torch

from pdsketch.act import Policy, rollout
from pdsketch.nets import Offset
from pdsketch.search import HeuristicSource
from pdsketch.tensor import Model, StateBatch
from pdsketch.training import Report
from pdsketch_paper.baselines.network import AgentBaseline
from pdsketch_paper.baselines.training import train_baseline
from pdsketch_paper.experiments.methods import OURS, Method, fit_model, modules_of
from pdsketch_paper.experiments.painting_tables import (
    PaintingBaselineConfig,
    PaintingLightConfig,
    PaintingSearch,
    PaintingTraining,
)
from pdsketch_paper.experiments.runs import in_both_loops
from pdsketch_paper.painting.adapter import PaintingWorld, load_sketch
from pdsketch_paper.painting.data import generate, table_seed
from pdsketch_paper.painting.goals import RELATIONS
from pdsketch_paper.painting.layout import COLOUR_NAMES, SPAN

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


def new_painting_model(seed: int, method: Method = OURS) -> Model:
    """An untrained model: offsets as relations, as in the paper, and networks in every other blank."""
    domain = load_sketch()
    offsets = {name: Offset(len(SPAN)) for name in (*RELATIONS, "inside")}
    modules = modules_of(domain, method, seed)
    plain = {name: module for name, module in modules.items() if name.split("::")[1] not in offsets}
    return Model(domain, modules={**plain, **offsets}, seed=seed)


def train_painting(config: PaintingTraining) -> tuple[Model, Report]:
    """A model trained on fresh demonstrations, and the report of its fit."""
    world = PaintingWorld(config.blocks, config.bowls, images=config.images)
    model = new_painting_model(config.seed, config.method)
    demonstrations = generate(
        world, config.episodes, config.seed, judged=config.method.labels, brightness=config.brightness
    )
    return fit_model(model, demonstrations, config, lookahead=config.lookahead)


def painting_planner(
    model: Model,
    search: PaintingSearch,
    loop: Literal["open", "closed"],
    heuristic: HeuristicSource | None = None,
) -> Policy:
    """The policy of the tables; ``heuristic`` is one that no config can name."""
    return Policy(
        model,
        search=search.search,
        heuristic=heuristic or search.heuristic,
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
    return in_both_loops(partial(painting_planner, model, search), worlds, seeds, MOST_STEPS)


def measure_light(config: PaintingLightConfig) -> dict[str, Any]:
    """Train one model, and compare the colours that it sees with those of the simulator."""
    model, _ = train_painting(config.train)
    return {f"{light:g}": _agreement(model, config, light) for light in config.lights}


def _agreement(model: Model, config: PaintingLightConfig, light: float) -> dict[str, float]:
    """The part of crops of which the model calls the true colour true and all others false."""
    world = PaintingWorld(config.train.blocks, config.train.bowls, images=config.train.images, light=light)
    states, colours = [], []
    for seed in painting_seeds(config.tables, config.train.seed):
        states.append(world.reset(seed))
        colours.append(torch.as_tensor(world.simulation.colours).clone())
    batch = StateBatch.of(states)
    blocks = range(1, config.train.blocks + 1)
    with torch.no_grad():
        seen = torch.stack(
            [
                torch.stack([model.holds(batch, f"(is-{name} block#{i})", crisp=True) for i in blocks], -1)
                for name in COLOUR_NAMES
            ],
            -1,
        )
    true = torch.nn.functional.one_hot(torch.stack(colours).long(), len(COLOUR_NAMES)).bool()
    return {
        "crops": seen[..., 0].numel(),
        "agreement": (seen.bool() == true).all(-1).double().mean().item(),
    }


def train_agent(config: PaintingBaselineConfig) -> AgentBaseline:
    """The agent of a run, trained from the episodes that a model of the same seed is fitted to.

    Goals that came true on the way are of little use to it: the second block's colour is there in the end,
    but the first steps were not taken for its sake.
    """
    world = PaintingWorld(config.blocks, config.bowls)
    return train_baseline(
        config.kind,
        world.domain,
        generate(world, config.episodes, config.seed, judged=config.labels),
        config.steps,
        config.seed,
        batch=config.batch,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        validation=config.validation,
    )


def measure_agent(config: PaintingBaselineConfig) -> dict[str, Any]:
    """Train on demonstrations, then act on held-out tables; success is the simulator's word."""
    agent = train_agent(config)
    agent.temperature = config.temperature
    seeds = painting_seeds(config.problems, config.seed)
    worlds = [PaintingWorld(config.blocks, config.bowls) for _ in seeds[:AT_ONCE]]
    done = rollout(agent, worlds, seeds, MOST_STEPS)
    notes = {name: value for name, value in agent.notes.items() if name != "seconds"}  # of no other machine
    return {"success": done.summary["success"], "steps": done.summary["steps"], "notes": notes}
