"""BabyAI without a model of the world: agents that learn to act from the same demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

from pdsketch.act import rollout
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.baselines.network import AgentBaseline
from pdsketch_paper.baselines.training import AgentKind, train_baseline
from pdsketch_paper.experiments.babyai import MOST_STEPS, held_out
from pdsketch_paper.experiments.runs import ExperimentRun
from pdsketch_paper.experiments.tables import Records

CLONES: Mapping[AgentKind, str] = {"bc": "BC", "dt-s": "DT (S)", "dt-s+f": "DT (S+F)"}
"""Agents that learn demonstrated actions and nothing else."""

AGENTS: Mapping[str, str] = {**{str(kind): name for kind, name in CLONES.items()}, "dreamer": "Dreamer"}

SEEN = ("robot", "item")
"""The types of the objects that are nodes: the walls of a room are always in the same places."""

STEPS = {100: 200, 1000: 400, 10000: 2000}
"""Training steps, by number of demonstrations (docs/baselines.md: how they were chosen)."""

MEASUREMENTS = 20
"""How often held-out steps are looked at in the course of a training: the best weights may come early."""

AT_ONCE = 100
"""Episodes that are acted in side by side."""

PAPER_ROOMS = {
    "bc": ("0.93", "0.79"),
    "dt-s": ("0.91", "0.82"),
    "dt-s+f": ("0.32", "0.19"),
    "dreamer": ("0.96", "0.79"),
    "dreamer-online": ("0.96", "0.79"),
}
"""What the paper reports for rooms as in training and for fuller ones."""

PAPER_SIZES = {
    "bc": {100: "0.24", 1000: "0.24", 10000: "0.39 (0.93)"},
    "dt-s": {100: "0.23", 1000: "0.24", 10000: "0.30 (0.91)"},
}
"""By number of demonstrations; in brackets what the paper's other table has for the same."""


@final
@dataclass(frozen=True, slots=True)
class BaselineConfig:
    """One trained agent, and on how many held-out problems it is tried."""

    kind: AgentKind = "bc"
    episodes: int = 1000
    seed: int = 0
    steps: int = 1000
    batch: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    validation: float = 0.1
    temperature: float = 1.0
    problems: int = 500
    rooms: tuple[tuple[int, int], ...] = ((4, 4), (8, 6))
    objects: int = 4
    doors: int = 4
    split: str = "test"

    def in_world(self, **options: Any) -> BaselineConfig:
        """The same with other demonstrations."""
        return replace(self, **options)


class Tried(Protocol):
    """On which problems an agent is tried."""

    @property
    def rooms(self) -> tuple[tuple[int, int], ...]:
        """Objects and doors of each kind of room."""

    @property
    def problems(self) -> int:
        """How many a room."""

    @property
    def seed(self) -> int:
        """Of the problems."""

    @property
    def split(self) -> str:
        """Of the seeds of problems."""


def measure_baseline(config: BaselineConfig) -> dict[str, Any]:
    """Train on demonstrations, then act: success by room, and how the training went."""
    agent = trained(config)
    notes = {name: value for name, value in agent.notes.items() if name != "seconds"}  # of no other machine
    return {**acted(agent, config, config.temperature), "notes": notes}


def trained(config: BaselineConfig) -> AgentBaseline:
    """The agent of a run."""
    world = BabyAIWorld(config.objects, config.doors, "abs")
    return train_baseline(
        config.kind,
        world.domain,
        world.demonstrations(config.episodes, config.seed),
        config.steps,
        config.seed,
        types=SEEN,
        batch=config.batch,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        validation=config.validation,
        evaluate_every=max(1, config.steps // MEASUREMENTS),
    )


def acted(agent: AgentBaseline, config: Tried, temperature: float) -> dict[str, Any]:
    """By room: the success of an agent, and how many steps it takes where it succeeds."""
    agent.temperature = temperature
    found: dict[str, Any] = {}
    for objects, doors in config.rooms:
        worlds = [BabyAIWorld(objects, doors, agent.domain) for _ in range(min(AT_ONCE, config.problems))]
        problems = held_out(config.problems, config.seed, config.split)
        done = rollout(agent, worlds, problems, MOST_STEPS)
        found[f"{objects}+{doors}"] = {"success": done.summary["success"], "steps": done.summary["steps"]}
    return found


def baseline_runs(
    sizes: Sequence[int], rooms: Sequence[tuple[tuple[int, int], ...]], seeds: int, quick: bool
) -> list[ExperimentRun[BaselineConfig]]:
    """A run per agent, number of demonstrations (with the rooms to act in) and seed."""
    runs = []
    for size, own in zip(sizes, rooms, strict=True):
        for kind in CLONES:
            for seed in range(seeds):
                config = BaselineConfig(kind, size, seed, STEPS[size], rooms=own)
                if quick:
                    config = replace(config, episodes=10 + size // 500, steps=10, problems=6)
                name = f"{kind}-{config.episodes}-seed{seed}"
                runs.append(ExperimentRun(name, measure_baseline, config))
    return runs


def of_baselines(records: Records) -> Records:
    """The runs of baselines among those of a table."""
    return [record for record in records if "kind" in record["config"]]


def of_models(records: Records) -> Records:
    """The others."""
    return [record for record in records if "kind" not in record["config"]]


def success_of(records: Records, kind: str, size: int | None, room: str) -> list[float]:
    """The success of an agent in a room, by seed."""
    return [
        record["result"][room]["success"]
        for record in of_baselines(records)
        if record["config"]["kind"] == kind
        and size in (None, record["config"]["episodes"])
        and room in record["result"]
    ]
