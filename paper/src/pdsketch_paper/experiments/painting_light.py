"""Whether a learned model of the Painting Factory reads colours off crops, in several kinds of light."""

from __future__ import annotations

from typing import Any

import torch

from pdsketch.tensor import Model, StateBatch
from pdsketch_paper.experiments.painting import painting_seeds, train_painting
from pdsketch_paper.experiments.painting_config import PaintingLightConfig
from pdsketch_paper.painting.adapter import PaintingWorld
from pdsketch_paper.painting.layout import COLOUR_NAMES


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
