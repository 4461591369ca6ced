"""The Painting Factory without a model of the world: agents that learn to act from the same demonstrations.

As in the paper's appendix: a score for each pair of block and container, one for moving each block, and
where to.
"""

from __future__ import annotations

from typing import Any

from pdsketch.act import rollout
from pdsketch_paper.baselines.network import AgentBaseline
from pdsketch_paper.baselines.training import train_baseline
from pdsketch_paper.experiments.painting import AT_ONCE, MOST_STEPS, painting_seeds
from pdsketch_paper.experiments.painting_config import PaintingBaselineConfig
from pdsketch_paper.painting.adapter import PaintingWorld
from pdsketch_paper.painting.data import generate


def train_agent(config: PaintingBaselineConfig) -> AgentBaseline:
    """The agent of a run, trained from the episodes that a model of the same seed is fitted to.

    It learns from the goals that were demonstrated alone. Others that came true on the way are of no use to
    it: the second block's colour is there in the end, but the first steps were not taken for its sake.
    """
    world = PaintingWorld(config.blocks, config.bowls)
    return train_baseline(
        config.kind,
        world.domain,
        generate(world, config.episodes, config.seed, judged=False),
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
