"""BabyAI with Dreamer: success after demonstrations, and after environment steps of its own.

``python -m pdsketch.experiments.babyai_dreamer -o results --seeds 1`` trains, acts and writes the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final, final

from pdsketch.act.rollout import rollout
from pdsketch.baselines.training import train_baseline
from pdsketch.envs.babyai.adapter import BabyAIWorld
from pdsketch.experiments.babyai import MOST_STEPS, held_out
from pdsketch.experiments.runs import ExperimentRun, run_all
from pdsketch.experiments.tables import ResultTable, spread
from pdsketch.files.writing import make_folder, write_file

ROOMS: Final = {"4+4": (4, 4), "8+6": (8, 6)}
"""Objects and doors: as in training, and more of both."""

AT_ONCE: Final = 50
"""Episodes that are acted in side by side."""


@final
@dataclass(frozen=True, slots=True)
class DreamerConfig:
    """One trained agent, and on how many held-out problems it is tried."""

    episodes: int = 1000
    environment_steps: int = 0
    cloning: float = 1.0
    sketch: str = "abs"
    seed: int = 0
    steps: int = 2000
    problems: int = 200

    @property
    def name(self) -> str:
        """What tells a run from the others."""
        parts = (self.sketch, self.episodes, self.environment_steps, f"{self.cloning:g}", self.steps)
        return f"babyai-dreamer-{'-'.join(map(str, parts))}-seed{self.seed}"


SETTINGS: Final = (
    DreamerConfig(episodes=100, steps=1000),
    DreamerConfig(episodes=100, steps=1000, environment_steps=10_000),
    DreamerConfig(),
    DreamerConfig(cloning=0.0),
    DreamerConfig(environment_steps=10_000),
    DreamerConfig(sketch="image"),
)
"""Few and more demonstrations, without and with practice, imagination alone, and pictures."""


def measure_dreamer(config: DreamerConfig) -> dict[str, Any]:
    """Train in rooms of 4 objects and 4 doors, then act: by the likeliest actions, and by samples."""
    world = BabyAIWorld(*ROOMS["4+4"], config.sketch)
    agent = train_baseline(
        "dreamer",
        world.domain,
        world.demonstrations(config.episodes, config.seed),
        config.steps,
        config.seed,
        types=["robot"] if config.sketch == "image" else ["robot", "item"],
        validation=0.1,
        cloning=config.cloning,
        world=lambda: BabyAIWorld(*ROOMS["4+4"], world.domain),
        environment_steps=config.environment_steps,
    )
    found: dict[str, Any] = {"notes": agent.notes}
    for key, agent.temperature in (("success", 0.0), ("sampled", 1.0)):
        found[key] = {}
        for room, (objects, doors) in ROOMS.items():
            worlds = [BabyAIWorld(objects, doors, world.domain) for _ in range(min(AT_ONCE, config.problems))]
            done = rollout(agent, worlds, held_out(config.problems, config.seed), MOST_STEPS)
            found[key][room] = done.summary["success"]
    return found


def table_of(records: Sequence[dict[str, Any]]) -> ResultTable:
    """A row for each setting: success by room, and what the training took."""

    def setting(record: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in record["config"].items() if key != "seed"}

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
                *(
                    spread([r[key][room] for r in results])
                    for key in ("success", "sampled")
                    for room in ROOMS
                ),
                spread([r["notes"]["held_out_score"] or 0.0 for r in results]),
                spread([record["cpu_seconds"] for record in some], 0),
            )
        )
    seeds = len({record["config"]["seed"] for record in records})
    origin = records[0]["origin"]
    note = (
        f"Trained in rooms of 4 objects and 4 doors; {records[0]['config']['problems']} problems a seed, "
        f"at most {MOST_STEPS} steps; {seeds} seed{'s' if seeds > 1 else ''}; commit {origin['commit']}, "
        f"{origin['date']}."
    )
    rooms = (*ROOMS, *(f"{room}, sampled" for room in ROOMS))
    head = (
        "sees",
        "demonstrations",
        "environment steps",
        "cloning",
        *rooms,
        "held-out accuracy",
        "CPU seconds",
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
    quick = DreamerConfig(episodes=10, environment_steps=20, steps=2, problems=2)
    settings = (quick, replace(quick, environment_steps=0, sketch="image")) if args.quick else SETTINGS
    configs = [replace(one, seed=seed) for one in settings for seed in range(max(1, args.seeds))]
    runs = [ExperimentRun(config.name, measure_dreamer, config) for config in configs]
    folder = make_folder(Path(args.output) / "babyai-dreamer")
    table = table_of(run_all(runs, folder, max(1, args.jobs)))
    write_file(folder / "table.md", table.markdown())
    sys.stdout.write(table.markdown())
    return table


if __name__ == "__main__":
    main()
