"""BabyAI: learning curves of the sketches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from pdsketch.training import Progress, fit
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.modules import SketchName
from pdsketch_paper.experiments.babyai import new_model
from pdsketch_paper.experiments.runs import FRESH, ExperimentRun, Seeds, runs_of, seeds_for
from pdsketch_paper.experiments.tables import (
    Records,
    ResultTable,
    by_seed,
    every,
    made_by,
    plot_lines,
    spread,
    values_at,
)

TITLES: dict[SketchName, str] = {"base": "PDS-Base", "abs": "PDS-Abs", "rob": "PDS-Rob"}

ROOMS = {"1 object": (1, 0), "4 objects, 4 doors": (4, 4)}

SHOWN = (50, 100, 200, 500, 1000, 1500)
"""The steps that stand in the table."""


@final
@dataclass(frozen=True, slots=True)
class CurveConfig:
    """One sketch in one room; all networks are as flexible as can be from the first step on."""

    sketch: SketchName = "abs"
    room: str = "1 object"
    objects: int = 1
    doors: int = 0
    seed: int = 0
    episodes: int = 2000
    steps: int = 1500
    every: int = 50
    batch: int = 256
    learning_rate: float = 3e-3


def measure_curve(config: CurveConfig) -> dict[str, Any]:
    """By step: the part of held-out steps that the model predicts in every variable, and of goals."""
    world = BabyAIWorld(config.objects, config.doors, config.sketch)
    model = new_model(config.sketch, config.seed)
    points: list[dict[str, float]] = []

    def keep(progress: Progress) -> None:
        figures = progress.figures
        points.append(
            {
                "step": progress.step,
                "steps right": figures["held_out_step_accuracy"],
                "goals right": figures["held_out_accuracy"],
            }
        )

    fit(
        model,
        world.demonstrations(config.episodes, config.seed),
        steps=config.steps,
        batch=config.batch,
        learning_rate=config.learning_rate,
        forms=False,
        validation=0.1,
        evaluate_every=config.every,
        callback=keep,
        seed=config.seed,
    )
    return {"points": points}


def curve_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[CurveConfig]]:
    """A run for each sketch, room and seed."""
    configs = {
        f"curve-{sketch}-{objects}+{doors}-seed{seed}": CurveConfig(sketch, room, objects, doors, seed)
        for room, (objects, doors) in ROOMS.items()
        for sketch in TITLES
        for seed in seeds_for(seeds, FRESH[:3], quick)
    }
    return runs_of(measure_curve, configs, quick, episodes=20, steps=10, every=5)


def _at(records: Records, sketch: str, room: str, step: int) -> list[float]:
    curves = values_at(records, "points", sketch=sketch, room=room)
    return [point["steps right"] for points in curves for point in points if point["step"] == step]


def _steps(records: Records) -> list[int]:
    return [int(point["step"]) for point in records[0]["result"]["points"]]


def curve_table(records: Records) -> ResultTable:
    """The part of held-out steps predicted in every variable, after some numbers of training steps."""
    measured = _steps(records)
    shown: Sequence[int] = [step for step in SHOWN if step in measured] or measured
    rows = tuple(
        (room, title, *(spread(_at(records, sketch, room, step)) for step in shown))
        for room in ROOMS
        for sketch, title in TITLES.items()
    )
    config, seeds = records[0]["config"], len(every(records, "seed"))
    note = (
        f"The part of held-out steps after which every variable is as predicted, by training steps of "
        f"{config['batch']}; {config['episodes']} demonstrations, {seeds} seeds. The paper shows such curves "
        f"without numbers: Base and Abs alike with one object, Abs ahead with four. {made_by(records)}"
    )
    return ResultTable(
        "BabyAI: learning curves", note, ("room", "model", *(f"{step} steps" for step in shown)), rows
    )


def curve_plot(records: Records, path: Path) -> None:
    """A panel for each room, as in the paper, and in it the sketches."""
    panels = {
        room: {
            title: by_seed({step: _at(records, sketch, room, step) for step in _steps(records)})
            for sketch, title in TITLES.items()
        }
        for room in ROOMS
    }
    plot_lines(panels, path, x="training steps", y="held-out steps predicted right")
