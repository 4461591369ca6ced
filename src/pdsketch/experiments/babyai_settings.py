"""Settings of the baselines of BabyAI, tried on problems that are in no table.

``python -m pdsketch.experiments.babyai_settings -o results`` trains behaviour cloning with each setting, acts
at several temperatures, and writes the table. The transformers take the settings that are chosen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pdsketch.experiments.babyai_baselines import STEPS, BaselineConfig, acted, trained
from pdsketch.experiments.runs import ExperimentRun, run_all
from pdsketch.experiments.tables import Records, ResultTable, made_by
from pdsketch.files.writing import make_folder, write_file

TEMPERATURES = (0.0, 0.5, 1.0)

SETTINGS = ((1e-3, 1e-2), (2e-3, 1e-2), (2e-3, 1e-1))
"""Learning rates and weight decays; the temperatures are tried with each."""

SEED = 100
"""Of demonstrations and problems: no table has it."""


def measure_settings(config: BaselineConfig) -> dict[str, Any]:
    """Train once, then act at each temperature."""
    agent = trained(config)
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
                config = replace(config, episodes=20, steps=3, problems=3)
            runs.append(ExperimentRun(f"settings-bc-{size}-{number}", measure_settings, config))
    return runs


def settings_table(records: Records) -> ResultTable:
    """Success at each temperature, by setting and room."""
    rows = []
    for record in records:
        config, result = record["config"], record["result"]
        held_out = result["held_out"]
        rows.append(
            (
                str(config["episodes"]),
                f"{config['learning_rate']:g}",
                f"{config['weight_decay']:g}",
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
        "weight decay",
        "held-out accuracy",
        *(f"4+4 / 8+6, temperature {temperature:g}" for temperature in TEMPERATURES),
    )
    config = records[0]["config"]
    note = f"Seed {SEED}, {config['problems']} validation problems a room. {made_by(records)}"
    return ResultTable("BabyAI: settings of behaviour cloning", note, head, tuple(rows))


def main(words: Sequence[str] | None = None) -> ResultTable:
    """Make the table, write it beside its runs, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default="results", metavar="DIR", help="where to write (results)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10000], choices=[*STEPS], metavar="N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that share the runs (1)")
    parser.add_argument("--quick", action="store_true", help="a smoke run: little data, few problems")
    args = parser.parse_args(words)
    folder = make_folder(Path(args.output) / "quick" if args.quick else Path(args.output))
    table = settings_table(run_all(settings_runs(args.sizes, args.quick), folder / "runs", max(1, args.jobs)))
    write_file(folder / "babyai-settings.md", table.markdown())
    sys.stdout.write(table.markdown())
    return table


if __name__ == "__main__":
    main()
