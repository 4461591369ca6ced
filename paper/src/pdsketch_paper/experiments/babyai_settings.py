"""Settings of the baselines of BabyAI, tried on problems that are in no table.

``python -m pdsketch_paper.experiments.babyai_settings -o results`` trains behaviour cloning with each
setting, acts at several temperatures, and writes the table. The transformers take the settings that are
chosen. With ``--kind dreamer`` and ``--kind ppo`` the same number of settings of a Dreamer and of PPO is
tried.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pdsketch.files import make_folder, write_file
from pdsketch_paper.baselines.network import AgentBaseline
from pdsketch_paper.experiments.babyai_baselines import STEPS, BaselineConfig, Tried, acted, trained
from pdsketch_paper.experiments.babyai_dreamer import (
    BATCH as DREAMER_BATCH,
    STEPS as DREAMER_STEPS,
    DreamerConfig,
    trained_dreamer,
)
from pdsketch_paper.experiments.babyai_ppo import PPOConfig, measure_ppo
from pdsketch_paper.experiments.runs import ExperimentRun, run_all
from pdsketch_paper.experiments.tables import Records, ResultTable, made_by

TEMPERATURES = (0.0, 0.5, 1.0)

SETTINGS = ((1e-3, 1e-2), (2e-3, 1e-2), (2e-3, 1e-1))
"""Learning rates and weight decays; the temperatures are tried with each."""

DREAMER_SETTINGS = ((1e-3, 1.0), (2e-3, 1.0), (2e-3, 10.0))
"""Learning rates and weights of cloning."""

PPO_SETTINGS = ((1e-3, 1e-2), (3e-4, 1e-2), (1e-3, 1e-3))
"""Learning rates and weights of the entropy; the library's own are 3e-4 and 0."""

PPO_STEPS = 600_000
"""Environment steps of each."""

SEED = 100
"""Of demonstrations and problems: no table has it."""


def measure_settings(config: BaselineConfig) -> dict[str, Any]:
    """Train once, then act at each temperature."""
    return _at_temperatures(trained(config), config)


def measure_dreamer_settings(config: DreamerConfig) -> dict[str, Any]:
    """The same of a Dreamer."""
    return _at_temperatures(trained_dreamer(config), config)


def _at_temperatures(agent: AgentBaseline, config: Tried) -> dict[str, Any]:
    return {
        "held_out": agent.notes["held_out_score"],
        **{str(temperature): acted(agent, config, temperature) for temperature in TEMPERATURES},
    }


def settings_runs(sizes: Sequence[int], quick: bool) -> list[ExperimentRun[BaselineConfig]]:
    """A run for each setting and number of demonstrations."""
    runs = []
    for size in sizes:
        for number, (rate, decay) in enumerate(SETTINGS):
            config = BaselineConfig("bc", size, SEED, STEPS[size], problems=200, split="valid")
            config = replace(config, learning_rate=rate, weight_decay=decay)
            if quick:
                config = replace(config, episodes=10, steps=2, problems=1)
            runs.append(ExperimentRun(f"settings-bc-{size}-{number}", measure_settings, config))
    return runs


def dreamer_settings_runs(sizes: Sequence[int], quick: bool) -> list[ExperimentRun[DreamerConfig]]:
    """The same of a Dreamer."""
    runs = []
    for size in sizes:
        for number, (rate, cloning) in enumerate(DREAMER_SETTINGS):
            config = DreamerConfig("dreamer", size, SEED, DREAMER_STEPS[size], DREAMER_BATCH[size])
            config = replace(config, learning_rate=rate, cloning=cloning, problems=200, split="valid")
            if quick:
                config = replace(config, episodes=10, steps=2, batch=4, problems=1)
            runs.append(ExperimentRun(f"settings-dreamer-{size}-{number}", measure_dreamer_settings, config))
    return runs


def ppo_settings_runs(quick: bool) -> list[ExperimentRun[PPOConfig]]:
    """The same of PPO, which has no demonstrations."""
    runs = []
    for number, (rate, entropy) in enumerate(PPO_SETTINGS):
        config = PPOConfig(SEED, PPO_STEPS, learning_rate=rate, entropy=entropy, problems=200, split="valid")
        if quick:
            config = replace(config, steps=64, worlds=4, rollout=8, batch=16, measurements=2, watched=2)
            config = replace(config, problems=2)
        runs.append(ExperimentRun(f"settings-ppo-{number}", measure_ppo, config))
    return runs


def ppo_settings_table(records: Records) -> ResultTable:
    """Success in the course of the environment steps, by setting."""
    steps = [point["all_steps"] for point in records[0]["result"]["curve"]]
    rows = [
        (
            f"{record['config']['learning_rate']:g}",
            f"{record['config']['entropy']:g}",
            *(f"{point['held_out']:.3f}" for point in record["result"]["curve"]),
        )
        for record in records
    ]
    config = records[0]["config"]
    note = f"Seed {SEED}, {config['watched']} validation problems, by environment steps. {made_by(records)}"
    head = ("learning rate", "entropy", *(f"{step:,}" for step in steps))
    return ResultTable("BabyAI: settings of PPO", note, head, tuple(rows))


def settings_table(records: Records) -> ResultTable:
    """Success at each temperature, by setting and room."""
    second = "cloning" if "cloning" in records[0]["config"] else "weight_decay"
    rows = []
    for record in records:
        config, result = record["config"], record["result"]
        held_out = result["held_out"]
        rows.append(
            (
                str(config["episodes"]),
                f"{config['learning_rate']:g}",
                f"{config[second]:g}",
                "–" if held_out is None else f"{held_out:.3f}",
                *(
                    f"{result[str(t)]['4+4']['success']:.3f} / {result[str(t)]['8+6']['success']:.3f}"
                    for t in TEMPERATURES
                ),
            )
        )
    head = (
        "demonstrations",
        "learning rate",
        second.replace("_", " "),
        "held-out accuracy",
        *(f"4+4 / 8+6, temperature {temperature:g}" for temperature in TEMPERATURES),
    )
    config = records[0]["config"]
    note = f"Seed {SEED}, {config['problems']} validation problems a room. {made_by(records)}"
    whose = "a Dreamer" if second == "cloning" else "behaviour cloning"
    return ResultTable(f"BabyAI: settings of {whose}", note, head, tuple(rows))


def main(words: Sequence[str] | None = None) -> ResultTable:
    """Make the table, write it beside its runs, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default="results", metavar="DIR", help="where to write (results)")
    parser.add_argument("--kind", choices=["bc", "dreamer", "ppo"], default="bc", help="whose settings (bc)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10000], choices=[*STEPS], metavar="N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that share the runs (1)")
    parser.add_argument("--quick", action="store_true", help="a smoke run: little data, few problems")
    args = parser.parse_args(words)
    folder = make_folder(Path(args.output) / "quick" if args.quick else Path(args.output))
    runs: list[ExperimentRun[Any]]
    if args.kind == "ppo":
        runs = [*ppo_settings_runs(args.quick)]
    else:
        runs = [*(settings_runs if args.kind == "bc" else dreamer_settings_runs)(args.sizes, args.quick)]
    records = run_all(runs, folder / "runs", max(1, args.jobs))
    table = (ppo_settings_table if args.kind == "ppo" else settings_table)(records)
    more = "" if args.kind == "bc" else f"-{args.kind}"
    write_file(folder / f"babyai-settings{more}.md", table.markdown())
    sys.stdout.write(table.markdown())
    return table


if __name__ == "__main__":
    main()
