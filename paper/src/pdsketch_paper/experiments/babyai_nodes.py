"""BabyAI: success against expansions of A* by heuristic, and learning curves of the sketches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any, final

from pdsketch.act import Rollouts, rollout
from pdsketch.training import Progress, fit
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.modules import SketchName
from pdsketch_paper.baselines.training import train_baseline
from pdsketch_paper.experiments.babyai import (
    MOST_STEPS,
    SearchConfig,
    TrainConfig,
    held_out,
    new_model,
    planner,
    train,
    worlds_for,
)
from pdsketch_paper.experiments.babyai_baselines import SEEN
from pdsketch_paper.experiments.runs import FRESH, ExperimentRun, Seeds, runs_of, seeds_for
from pdsketch_paper.experiments.tables import (
    Records,
    ResultTable,
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
    """A line for each sketch and room."""
    series = {
        f"{title}, {room}": {step: _at(records, sketch, room, step) for step in _steps(records)}
        for room in ROOMS
        for sketch, title in TITLES.items()
    }
    plot_lines(series, path, title="BabyAI: held-out steps predicted", x="training steps", y="part right")


HEURISTICS: dict[str, str] = {"blind": "blind", "gnn": "GNN, learned", "opt": "OPT", "ao": "AO"}

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""The parts of the problems for which expansions are counted; the paper compares at 0.8."""

PLOTTED = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1200, 2000)
"""The expansions at which curves are drawn."""


@final
@dataclass(frozen=True, slots=True)
class NodesConfig:
    """A model, a learned heuristic from the same demonstrations, and the problems to plan for."""

    train: TrainConfig = field(default_factory=TrainConfig)
    steps: int = 2000
    batch: int = 256
    learning_rate: float = 2e-3
    problems: int = 150
    expansions: int = 2000
    rooms: tuple[tuple[int, int], ...] = ((4, 4), (8, 6))


def measure_nodes(config: NodesConfig) -> dict[str, Any]:
    """By room and heuristic: of each problem the expansions, where its plan succeeds in Minigrid."""
    own = config.train
    model, _ = train(own)
    world = BabyAIWorld(own.objects, own.doors, model.domain)
    learned = train_baseline(
        "gnn",
        model.domain,
        world.demonstrations(own.episodes, own.seed),
        config.steps,
        own.seed,
        types=SEEN,
        batch=config.batch,
        learning_rate=config.learning_rate,
    )
    found: dict[str, Any] = {"error": -float(learned.notes["held_out_score"] or learned.notes["score"])}
    for objects, doors in config.rooms:
        seeds = held_out(config.problems, own.seed)
        worlds = worlds_for(model, len(seeds), objects=objects, doors=doors)
        by_name: dict[str, list[int | None]] = {}
        for name in HEURISTICS:
            search = SearchConfig(heuristic=name, max_expansions=config.expansions)
            policy = planner(model, search, heuristic=learned if name == "gnn" else None)
            by_name[name] = expansions(rollout(policy, worlds, seeds, MOST_STEPS))
        found[f"{objects}+{doors}"] = by_name
    return found


def expansions(done: Rollouts) -> list[int | None]:
    """Of each episode the expansions; None where the world says that it failed."""
    return [
        int(account["expanded"]) if success else None
        for success, account in zip(done.success, done.accounts, strict=True)
    ]


def needed(expanded: Sequence[int | None], level: float) -> float | None:
    """The fewest expansions a plan with which so large a part of the problems is solved; None: never."""
    counts = sorted(count for count in expanded if count is not None)
    at = max(1, -(-round(level * len(expanded) * 1000) // 1000))
    return float(counts[at - 1]) if at <= len(counts) else None


def node_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[NodesConfig]]:
    """A run for each seed."""
    runs = []
    for seed in seeds_for(seeds, FRESH[:3], quick):
        config = NodesConfig(TrainConfig("abs", 10_000, seed, 1600))
        if quick:
            few = TrainConfig("abs", 12, seed, steps=20)
            config = NodesConfig(few, steps=10, problems=2, expansions=40, rooms=((4, 4),))
        runs.append(ExperimentRun(f"nodes-{config.train.episodes}-seed{seed}", measure_nodes, config))
    return runs


def node_table(records: Records) -> ResultTable:
    """Expansions at several parts of the problems, and how many times those of AO the others need."""
    rows, most = [], records[0]["config"]["expansions"]
    for room in _rooms(records):
        at_ao = _needed(records, room, "ao", 0.8)
        for name, title in HEURISTICS.items():
            solved = [_part(counts, most) for counts in values_at(records, room, name)]
            counts = [_needed(records, room, name, level) for level in LEVELS]
            own = counts[LEVELS.index(0.8)]
            ratio = f"{mean(own) / mean(at_ao):.1f}" if own and at_ao else "–"
            rows.append((room, title, spread(solved), *(spread(c, 0) for c in counts), ratio))
    head = ("room", "heuristic", "success", *(f"expansions at {level}" for level in LEVELS), "of AO's at 0.8")
    config = records[0]["config"]
    error = spread(values_at(records, "error"), 2)
    note = (
        f"PDS-Abs from {config['train']['episodes']:,} demonstrations, A*, open loop, at most "
        f"{config['expansions']} expansions, {config['problems']} problems a seed, {len(records)} seeds. "
        f"*Expansions at p*: the fewest with which the part p of all problems succeeds in Minigrid (–: not "
        f"within the limit). The learned heuristic is off by {error} steps on held-out states. In the paper "
        f"the ratio of GNN is about 5. {made_by(records)}"
    )
    return ResultTable("BabyAI: success against expansions", note, head, tuple(rows))


def _rooms(records: Records) -> list[str]:
    return [name for name in records[0]["result"] if name != "error"]


def _needed(records: Records, room: str, name: str, level: float) -> list[float]:
    """By seed; nothing where a seed does not come so far."""
    found = [needed(counts, level) for counts in values_at(records, room, name)]
    return [] if None in found else [count for count in found if count is not None]


def node_plot(records: Records, path: Path) -> None:
    """The part of the problems that succeed over the expansions allowed, in the room of training."""
    room = _rooms(records)[0]
    most = records[0]["config"]["expansions"]
    series = {
        title: {
            allowed: [_part(counts, allowed) for counts in values_at(records, room, name)]
            for allowed in PLOTTED
            if allowed <= most
        }
        for name, title in HEURISTICS.items()
    }
    plot_lines(
        series,
        path,
        title=f"BabyAI {room}: success against expansions (PDS-Abs)",
        x="expansions allowed",
        y="success",
    )


def _part(counts: Sequence[int | None], allowed: int) -> float:
    return mean(count is not None and count <= allowed for count in counts)
