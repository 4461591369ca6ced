"""BabyAI without a model of the world: agents that learn from the same demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, cast, final

import torch

from pdsketch.act import rollout
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.baselines.network import AgentBaseline
from pdsketch_paper.baselines.training import AgentKind, train_baseline
from pdsketch_paper.experiments.babyai import MOST_STEPS, held_out
from pdsketch_paper.experiments.runs import LOOKED_AT, ExperimentRun, Seeds, seeds_for
from pdsketch_paper.experiments.tables import Records, ResultTable, made_by, spread

CLONES: Mapping[AgentKind, str] = {"bc": "BC", "dt-s": "DT (S)", "dt-s+f": "DT (S+F)"}
"""Agents that learn demonstrated actions and nothing else."""

AGENTS: Mapping[str, str] = {
    **{str(kind): name for kind, name in CLONES.items()},
    "dreamer": "Dreamer, object-centric, with cloning",
}

SEEN = ("robot", "item")
"""The types of the objects that are nodes: the walls of a room are always in the same places."""

STEPS = {100: 200, 1000: 400, 10000: 2000}
"""Training steps, by number of demonstrations (docs/baselines.md: how they were chosen)."""

MEASUREMENTS = 20
"""How often held-out steps are looked at in the course of a training: the best weights may come early."""

DREAMER_STEPS: Final = {100: 300, 1000: 500, 10000: 1200}
"""The same of a Dreamer."""

DREAMER_BATCH: Final = {100: 32, 1000: 32, 10000: 256}
"""Sequences in a batch: with few demonstrations they are soon known by heart, and small ones do on a CPU."""

CLONING: Final = 10.0
"""The weight of demonstrated actions, by the search of settings (docs/baselines.md)."""

PRACTICE: Final = 3_000
"""Environment steps of the row with practice, after all demonstrations."""

PRACTICE_OF_PAPER: Final = 100_000
"""Environment steps of the row that has pictures and no cloning."""

BOTH: Final = ((4, 4), (8, 6))
"""Rooms, by objects and doors: as in training, and fuller ones."""

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
class AgentConfig:
    """One trained agent, and on how many held-out problems it is tried; the last settings are a Dreamer's."""

    kind: str
    episodes: int
    seed: int
    steps: int
    batch: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    temperature: float = 1.0
    problems: int = 500
    rooms: tuple[tuple[int, int], ...] = BOTH
    objects: int = 4
    doors: int = 4
    environment_steps: int = 0
    cloning: float = CLONING
    sketch: str = "abs"

    @property
    def name(self) -> str:
        """What tells a run from the others."""
        parts = [self.kind, str(self.episodes)]
        parts += [self.sketch] if self.sketch != "abs" else []
        parts += [f"cloning{self.cloning:g}"] if self.cloning != CLONING else []
        parts += [f"practice{self.environment_steps}"] if self.environment_steps else []
        return "-".join([*parts, f"seed{self.seed}"])


def measure_agent(config: AgentConfig) -> dict[str, Any]:
    """Train on demonstrations, then act: success and steps by room, and how the training went."""
    agent = trained(config)
    agent.temperature = config.temperature
    found: dict[str, Any] = {}
    for objects, doors in config.rooms:
        worlds = [BabyAIWorld(objects, doors, agent.domain) for _ in range(min(AT_ONCE, config.problems))]
        done = rollout(agent, worlds, held_out(config.problems, config.seed), MOST_STEPS)
        found[f"{objects}+{doors}"] = {"success": done.summary["success"], "steps": done.summary["steps"]}
    notes = {name: value for name, value in agent.notes.items() if name != "seconds"}  # of no other machine
    return {**found, "notes": notes, "device": agent.device.type}


def trained(config: AgentConfig) -> AgentBaseline:
    """The agent of a run; a Dreamer is trained where it is fastest: each of its steps waits for the last."""
    world = BabyAIWorld(config.objects, config.doors, config.sketch)
    own: dict[str, Any] = {"evaluate_every": max(1, config.steps // MEASUREMENTS)}
    dreamer = config.kind not in CLONES
    if dreamer:
        own = {
            "device": "cuda" if torch.cuda.is_available() else "cpu",
            "cloning": config.cloning,
            "world": lambda: BabyAIWorld(config.objects, config.doors, world.domain),
            "environment_steps": config.environment_steps,
        }
    return train_baseline(
        "dreamer" if dreamer else cast("AgentKind", config.kind),
        world.domain,
        world.demonstrations(config.episodes, config.seed),
        config.steps,
        config.seed,
        types=SEEN if config.sketch == "abs" else ["robot"],
        validation=0.1,
        batch=config.batch,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        **own,
    )


def agent_runs(
    sizes: Sequence[int], rooms: Sequence[tuple[tuple[int, int], ...]], seeds: Seeds, quick: bool
) -> list[ExperimentRun[AgentConfig]]:
    """A run per agent, number of demonstrations (with the rooms to act in) and seed."""
    configs: list[AgentConfig] = []
    for size, own in zip(sizes, rooms, strict=True):
        configs += [AgentConfig(kind, size, 0, STEPS[size], rooms=own) for kind in CLONES]
        configs += [_dreamer(size, rooms=own)]
    return _runs(configs, seeds, quick)


def practice_runs(size: int, seeds: Seeds, quick: bool) -> list[ExperimentRun[AgentConfig]]:
    """A run per seed with practice after the demonstrations."""
    return _runs([_dreamer(size, kind="dreamer-online", environment_steps=PRACTICE)], seeds, quick)


def _dreamer(size: int, kind: str = "dreamer", **settings: Any) -> AgentConfig:
    return AgentConfig(kind, size, 0, DREAMER_STEPS[size], DREAMER_BATCH[size], **settings)


def _runs(configs: Sequence[AgentConfig], seeds: Seeds, quick: bool) -> list[ExperimentRun[AgentConfig]]:
    made = [replace(c, seed=seed) for c in configs for seed in seeds_for(seeds, LOOKED_AT, quick)]
    if quick:
        made = [
            replace(
                config,
                episodes=10 + config.episodes // 500,
                steps=3,
                batch=4,
                problems=2,
                environment_steps=20 if config.environment_steps else 0,
            )
            for config in made
        ]
    return [ExperimentRun(config.name, measure_agent, config) for config in made]


def of_baselines(records: Records) -> Records:
    """The runs of baselines among those of a table."""
    return [record for record in records if "kind" in record["config"]]


def of_models(records: Records) -> Records:
    """The others."""
    return [record for record in records if "kind" not in record["config"]]


DREAMER_ROWS: Final = (
    _dreamer(100, environment_steps=PRACTICE),
    _dreamer(1000, environment_steps=PRACTICE),
    _dreamer(1000, cloning=0.0),
    _dreamer(100, sketch="pixels", cloning=0.0, environment_steps=PRACTICE_OF_PAPER),
)
"""Fewer demonstrations with practice, imagination alone, and DreamerV2's own way."""

SEES: Final = {"abs": "objects", "pixels": "64×64 pixels"}
"""What a Dreamer sees, by its sketch."""


def dreamer_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[AgentConfig]]:
    """A run per setting that no other table has, and seed."""
    return _runs(DREAMER_ROWS, seeds, quick)


def dreamer_table(records: Records) -> ResultTable:
    """A row for each setting: success by room, and what the training took."""

    def setting(record: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in record["config"].items() if key != "seed"}

    rooms = [f"{objects}+{doors}" for objects, doors in BOTH]
    rows = []
    for config, group in groupby(records, setting):
        some = list(group)
        results = [record["result"] for record in some]
        rows.append(
            (
                SEES[config["sketch"]],
                f"{config['episodes']:,}",
                f"{config['environment_steps']:,}",
                f"{config['cloning']:g}",
                *(spread([r[room]["success"] for r in results]) for room in rooms),
                spread([r["notes"]["held_out_score"] or 0.0 for r in results]),
                spread([record["seconds"] for record in some], 0),
            )
        )
    seeds = len({record["config"]["seed"] for record in records})
    note = (
        f"Trained in rooms of 4 objects and 4 doors; {records[0]['config']['problems']} problems a seed, "
        f"at most {MOST_STEPS} steps; {seeds} seed{'s' if seeds > 1 else ''}. {made_by(records)}"
    )
    head = (
        *("sees", "demonstrations", "environment steps", "cloning"),
        *rooms,
        *("held-out accuracy", "seconds"),
    )
    return ResultTable("BabyAI: Dreamer", note, head, tuple(rows))
