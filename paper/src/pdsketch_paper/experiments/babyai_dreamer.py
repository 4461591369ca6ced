"""BabyAI with Dreamer: success after demonstrations, and after environment steps of its own.

``python -m pdsketch_paper.experiments.babyai_dreamer -o results`` writes a table of settings that no
other table has: imagination alone, pictures, few demonstrations with practice. Its runs lie beside those of
the others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final, final

import torch

from pdsketch.files import make_folder, write_file
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.baselines.network import AgentBaseline
from pdsketch_paper.baselines.training import train_baseline
from pdsketch_paper.experiments.babyai import MOST_STEPS
from pdsketch_paper.experiments.babyai_baselines import SEEN, acted
from pdsketch_paper.experiments.runs import ExperimentRun, run_all
from pdsketch_paper.experiments.tables import Records, ResultTable, made_by, spread

STEPS: Final = {100: 300, 1000: 500, 10000: 1200}
"""Training steps, by number of demonstrations (docs/baselines.md: how they were chosen)."""

BATCH: Final = {100: 32, 1000: 32, 10000: 256}
"""Sequences in a batch: with few demonstrations they are soon known by heart, and small ones do on a CPU."""

CLONING: Final = 10.0
"""The weight of demonstrated actions, by the search of settings (docs/baselines.md)."""

PRACTICE: Final = 3_000
"""Environment steps of the row with practice, after all demonstrations."""

BOTH: Final = ((4, 4), (8, 6))
"""Rooms, by objects and doors: as in training, and fuller ones."""


@final
@dataclass(frozen=True, slots=True)
class DreamerConfig:
    """One trained agent, and on how many held-out problems it is tried."""

    kind: str = "dreamer"
    episodes: int = 1000
    seed: int = 0
    steps: int = STEPS[1000]
    batch: int = BATCH[1000]
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

    def in_world(self, **options: Any) -> DreamerConfig:
        """The same with other demonstrations."""
        return replace(self, **options)


SETTINGS: Final = (
    DreamerConfig(episodes=100, steps=STEPS[100], batch=BATCH[100], environment_steps=PRACTICE),
    DreamerConfig(environment_steps=PRACTICE),
    DreamerConfig(cloning=0.0),
    DreamerConfig(sketch="image"),
)
"""Fewer demonstrations with practice, imagination alone, and pictures."""


def fastest_device() -> str:
    """Where networks are trained: in a sequence every step waits for the last, which a GPU bears best."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def measure_dreamer(config: DreamerConfig) -> dict[str, Any]:
    """Train on demonstrations, then on practice, then act: success by room, and how the training went."""
    agent = trained_dreamer(config)
    notes = {name: value for name, value in agent.notes.items() if name != "seconds"}  # of no other machine
    likeliest = acted(agent, config, 0.0)
    found = acted(agent, config, config.temperature)
    return {**found, "likeliest": likeliest, "notes": notes, "device": agent.device.type}


def trained_dreamer(config: DreamerConfig) -> AgentBaseline:
    """The agent of a run."""
    world = BabyAIWorld(config.objects, config.doors, config.sketch)
    return train_baseline(
        "dreamer",
        world.domain,
        world.demonstrations(config.episodes, config.seed),
        config.steps,
        config.seed,
        types=["robot"] if config.sketch == "image" else SEEN,
        batch=config.batch,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        validation=0.1,
        device=fastest_device(),
        cloning=config.cloning,
        world=lambda: BabyAIWorld(config.objects, config.doors, world.domain),
        environment_steps=config.environment_steps,
    )


def dreamer_runs(
    sizes: Sequence[int], rooms: Sequence[tuple[tuple[int, int], ...]], seeds: int, quick: bool
) -> list[ExperimentRun[DreamerConfig]]:
    """A run per number of demonstrations (with the rooms to act in) and seed."""
    return [
        _run(DreamerConfig(episodes=size, steps=STEPS[size], batch=BATCH[size], rooms=own), seed, quick)
        for size, own in zip(sizes, rooms, strict=True)
        for seed in range(seeds)
    ]


def practice_runs(size: int, seeds: int, quick: bool) -> list[ExperimentRun[DreamerConfig]]:
    """A run per seed with practice after the demonstrations."""
    config = DreamerConfig(
        "dreamer-online", size, steps=STEPS[size], batch=BATCH[size], environment_steps=PRACTICE
    )
    return [_run(config, seed, quick) for seed in range(seeds)]


def _run(config: DreamerConfig, seed: int, quick: bool) -> ExperimentRun[DreamerConfig]:
    if quick:
        few = 20 if config.environment_steps else 0
        size = 10 + config.episodes // 500
        config = replace(config, episodes=size, steps=2, batch=4, problems=1, environment_steps=few)
    return ExperimentRun(f"{config.name}-seed{seed}", measure_dreamer, replace(config, seed=seed))


def table_of(records: Records) -> ResultTable:
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
                "picture" if config["sketch"] == "image" else "objects",
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


def main(words: Sequence[str] | None = None) -> ResultTable:
    """Make the table, write it beside its runs, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default="results", metavar="DIR", help="where to write (results)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="how many seeds (3)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that share the runs (1)")
    parser.add_argument("--quick", action="store_true", help="a smoke run: little data, few problems")
    args = parser.parse_args(words)
    runs = [_run(config, seed, args.quick) for config in SETTINGS for seed in range(max(1, args.seeds))]
    folder = make_folder(Path(args.output) / "quick" if args.quick else Path(args.output))
    table = table_of(run_all(runs, folder / "runs", max(1, args.jobs)))
    write_file(folder / "babyai-dreamer.md", table.markdown())
    sys.stdout.write(table.markdown())
    return table


if __name__ == "__main__":
    main()
