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


def measure_baseline(config: BaselineConfig) -> dict[str, Any]:
    """Train on demonstrations, then act: success by room, and how the training went."""
    agent = trained(config)
    return {**acted(agent, config, config.temperature), "notes": notes_of(agent)}


def notes_of(agent: AgentBaseline) -> dict[str, Any]:
    """How the training went, on whatever machine."""
    return {name: value for name, value in agent.notes.items() if name != "seconds"}


def trained(config: BaselineConfig | DreamerConfig) -> AgentBaseline:
    """The agent of a run."""
    if isinstance(config, DreamerConfig):
        kind, world = "dreamer", BabyAIWorld(config.objects, config.doors, config.sketch)
        own: dict[str, Any] = {
            "types": SEEN if config.sketch == "abs" else ["robot"],
            "validation": 0.1,
            "device": fastest_device(),
            "cloning": config.cloning,
            "world": lambda: BabyAIWorld(config.objects, config.doors, world.domain),
            "environment_steps": config.environment_steps,
        }
    else:
        kind, world = config.kind, BabyAIWorld(config.objects, config.doors, "abs")
        every = max(1, config.steps // MEASUREMENTS)
        own = {"types": SEEN, "validation": config.validation, "evaluate_every": every}
    return train_baseline(
        cast("AgentKind", kind),
        world.domain,
        world.demonstrations(config.episodes, config.seed),
        config.steps,
        config.seed,
        batch=config.batch,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        **own,
    )


def acted(agent: AgentBaseline, config: BaselineConfig | DreamerConfig, temperature: float) -> dict[str, Any]:
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
    sizes: Sequence[int], rooms: Sequence[tuple[tuple[int, int], ...]], seeds: Seeds, quick: bool
) -> list[ExperimentRun[BaselineConfig]]:
    """A run per agent, number of demonstrations (with the rooms to act in) and seed."""
    runs = []
    for size, own in zip(sizes, rooms, strict=True):
        for kind in CLONES:
            for seed in seeds_for(seeds, LOOKED_AT, quick):
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


DREAMER_STEPS: Final = {100: 300, 1000: 500, 10000: 1200}
"""Training steps, by number of demonstrations (docs/baselines.md: how they were chosen)."""

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


@final
@dataclass(frozen=True, slots=True)
class DreamerConfig:
    """One trained agent, and on how many held-out problems it is tried."""

    kind: str = "dreamer"
    episodes: int = 1000
    seed: int = 0
    steps: int = DREAMER_STEPS[1000]
    batch: int = DREAMER_BATCH[1000]
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    environment_steps: int = 0
    cloning: float = CLONING
    sketch: str = "abs"
    temperature: float = 1.0
    problems: int = 500
    rooms: tuple[tuple[int, int], ...] = BOTH
    objects: int = 4
    doors: int = 4
    split: str = "test"

    @property
    def name(self) -> str:
        """What tells a run from the others, but for its seed."""
        parts = ["dreamer", str(self.episodes)]
        parts += [self.sketch] if self.sketch != "abs" else []
        parts += [f"cloning{self.cloning:g}"] if self.cloning != CLONING else []
        parts += [f"practice{self.environment_steps}"] if self.environment_steps else []
        return "-".join(parts)


def _of_size(size: int, **settings: Any) -> DreamerConfig:
    return DreamerConfig(episodes=size, steps=DREAMER_STEPS[size], batch=DREAMER_BATCH[size], **settings)


DREAMER_ROWS: Final = (
    _of_size(100, environment_steps=PRACTICE),
    DreamerConfig(environment_steps=PRACTICE),
    DreamerConfig(cloning=0.0),
    DreamerConfig(sketch="image"),
    _of_size(100, sketch="pixels", cloning=0.0, environment_steps=PRACTICE_OF_PAPER),
)
"""Fewer demonstrations with practice, imagination alone, codes of cells, and DreamerV2's own way."""

SEES: Final = {"abs": "objects", "image": "codes of cells", "pixels": "64×64 pixels"}
"""What a Dreamer sees, by its sketch."""


def fastest_device() -> str:
    """Where networks are trained: in a sequence every step waits for the last, which a GPU bears best."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def measure_dreamer(config: DreamerConfig) -> dict[str, Any]:
    """Train on demonstrations, then on practice, then act: success by room, and how the training went."""
    agent = trained(config)
    likeliest = acted(agent, config, 0.0)
    found = acted(agent, config, config.temperature)
    return {**found, "likeliest": likeliest, "notes": notes_of(agent), "device": agent.device.type}


def dreamer_runs(
    sizes: Sequence[int], rooms: Sequence[tuple[tuple[int, int], ...]], seeds: Seeds, quick: bool
) -> list[ExperimentRun[DreamerConfig]]:
    """A run per number of demonstrations (with the rooms to act in) and seed."""
    return [
        _run(_of_size(size, rooms=own), seed, quick)
        for size, own in zip(sizes, rooms, strict=True)
        for seed in seeds_for(seeds, LOOKED_AT, quick)
    ]


def practice_runs(size: int, seeds: Seeds, quick: bool) -> list[ExperimentRun[DreamerConfig]]:
    """A run per seed with practice after the demonstrations."""
    config = _of_size(size, kind="dreamer-online", environment_steps=PRACTICE)
    return [_run(config, seed, quick) for seed in seeds_for(seeds, LOOKED_AT, quick)]


def _run(config: DreamerConfig, seed: int, quick: bool) -> ExperimentRun[DreamerConfig]:
    if quick:
        few = 20 if config.environment_steps else 0
        size = 10 + config.episodes // 500
        config = replace(config, episodes=size, steps=2, batch=4, problems=1, environment_steps=few)
    return ExperimentRun(f"{config.name}-seed{seed}", measure_dreamer, replace(config, seed=seed))


def dreamer_table_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[DreamerConfig]]:
    """A run per setting that no other table has, and seed."""
    own = seeds_for(seeds, LOOKED_AT, quick)
    return [_run(config, seed, quick) for config in DREAMER_ROWS for seed in own]


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
                *(spread([r["likeliest"][room]["success"] for r in results]) for room in rooms),
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
        *(f"{room}, likeliest actions" for room in rooms),
        *("held-out accuracy", "seconds"),
    )
    return ResultTable("BabyAI: Dreamer", note, head, tuple(rows))
