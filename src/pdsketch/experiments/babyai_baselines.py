"""BabyAI without a model of the world: success of behaviour cloning.

``python -m pdsketch.experiments.babyai_baselines -o results --seeds 1`` trains, acts and writes the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from pdsketch.act.rollout import rollout
from pdsketch.baselines.training import train_baseline
from pdsketch.envs.babyai.adapter import BabyAIWorld
from pdsketch.experiments.babyai import MOST_STEPS, held_out
from pdsketch.experiments.runs import ExperimentRun, run_all
from pdsketch.experiments.tables import ResultTable, spread
from pdsketch.files.writing import make_folder, write_file

ROOMS = {"4+4": (4, 4), "8+6": (8, 6)}
"""Objects and doors: as in training, and more of both."""

AT_ONCE = 50
"""Episodes that are acted in side by side."""


@final
@dataclass(frozen=True, slots=True)
class CloningConfig:
    """One trained agent, and on how many held-out problems it is tried."""

    episodes: int = 1000
    seed: int = 0
    steps: int = 600
    batch: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    problems: int = 200


def measure_cloning(config: CloningConfig) -> dict[str, Any]:
    """Train on demonstrations in rooms of 4 objects and 4 doors, then act. Walls are not nodes."""
    world = BabyAIWorld(*ROOMS["4+4"], "abs")
    agent = train_baseline(
        "bc",
        world.domain,
        world.demonstrations(config.episodes, config.seed),
        config.steps,
        config.seed,
        types=["robot", "item"],
        batch=config.batch,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
    )
    success = {}
    for room, (objects, doors) in ROOMS.items():
        worlds = [BabyAIWorld(objects, doors, world.domain) for _ in range(min(AT_ONCE, config.problems))]
        done = rollout(agent, worlds, held_out(config.problems, config.seed), MOST_STEPS)
        success[room] = done.summary["success"]
    return {"success": success, "notes": agent.notes}


def table_of(records: Sequence[dict[str, Any]]) -> ResultTable:
    """Success by room, with what the training took."""
    results = [record["result"] for record in records]
    config = records[0]["config"]
    row = (
        "BC",
        *(spread([result["success"][room] for result in results]) for room in ROOMS),
        spread([result["notes"]["held_out_score"] or 0.0 for result in results]),
        spread([record["cpu_seconds"] for record in records], 0),
        "0.93 / 0.79",
    )
    note = (
        f"{config['episodes']} demonstrations (successes are cloned) in rooms of 4 objects and 4 doors, "
        f"{config['steps']} steps of {config['batch']}, {config['problems']} problems a seed, "
        f"{len(records)} seed{'s' if len(records) > 1 else ''}; commit {records[0]['origin']['commit']}, "
        f"{records[0]['origin']['date']}. The paper's are from 10,000 demonstrations."
    )
    head = ("agent", *ROOMS, "held-out accuracy", "CPU seconds, acting included", "paper: 4+4 / 8+6")
    return ResultTable("BabyAI: behaviour cloning", note, head, (row,))


def main(words: Sequence[str] | None = None) -> ResultTable:
    """Make the table, write it beside its runs, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default="results", metavar="DIR", help="where to write (results)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="how many seeds (3)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that share the runs (1)")
    parser.add_argument("--quick", action="store_true", help="a smoke run: little data, few problems")
    args = parser.parse_args(words)
    config = CloningConfig(episodes=20, steps=20, problems=4) if args.quick else CloningConfig()
    configs = [replace(config, seed=seed) for seed in range(max(1, args.seeds))]
    runs = [ExperimentRun(f"babyai-bc-{c.episodes}-seed{c.seed}", measure_cloning, c) for c in configs]
    folder = make_folder(Path(args.output) / "babyai-baselines")
    table = table_of(run_all(runs, folder, max(1, args.jobs)))
    write_file(folder / "table.md", table.markdown())
    sys.stdout.write(table.markdown())
    return table


if __name__ == "__main__":
    main()
