"""BabyAI without demonstrations: success on held-out problems by the number of episodes acted in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean, pstdev
from typing import Any, final

from pdsketch.act import learn
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.modules import SketchName, rob_functions
from pdsketch_paper.babyai.states import load_sketch
from pdsketch_paper.experiments.babyai import (
    MOST_REPLANS,
    MOST_STEPS,
    TOLERANCE,
    SearchConfig,
    both_loops,
    held_out,
)
from pdsketch_paper.experiments.babyai_ppo import PPOConfig, measure_ppo
from pdsketch_paper.experiments.runs import ExperimentRun
from pdsketch_paper.experiments.tables import Records, ResultTable, made_by, plot_lines, spread

WIDTH = 16
"""Nodes expanded together while learning: plans stay optimal for the model, and searches take less time."""


@final
@dataclass(frozen=True, slots=True)
class OnPolicyConfig:
    """One run. ``problems`` judge the last model, ``watched`` of them the model of each round."""

    sketch: SketchName = "abs"
    seed: int = 0
    episodes: int = 480
    first: int = 60
    fit_steps: int = 1200
    batch: int = 256
    warm: bool = False
    subgoals: bool = True
    max_expansions: int = 500
    watched: int = 200
    problems: int = 500
    objects: int = 4
    doors: int = 4

    def in_world(self, **options: Any) -> OnPolicyConfig:
        """The same in other rooms."""
        return replace(self, **options)


def measure_onpolicy(config: OnPolicyConfig, folder: Path | None = None) -> dict[str, Any]:
    """Learn by acting; the curve, and what the last model does on all held-out problems.

    ``folder`` keeps the rounds of a run that is not finished.
    """
    domain, snap = load_sketch(config.sketch), config.sketch == "base"
    learned = learn(
        partial(BabyAIWorld, config.objects, config.doors, domain),
        domain,
        folder,
        modules=rob_functions() if config.sketch == "rob" else {},
        episodes=config.episodes,
        first=config.first,
        max_steps=MOST_STEPS,
        fit_steps=config.fit_steps,
        fit={"batch": config.batch},
        warm=config.warm,
        subgoals=config.subgoals,
        evaluate=held_out(config.watched, config.seed),
        max_expansions=config.max_expansions,
        max_replans=MOST_REPLANS,
        tolerance=TOLERANCE,
        plan={"k": WIDTH, "snap": snap},
        seed=config.seed,
    )
    search = SearchConfig(max_expansions=config.max_expansions, snap=snap)
    problems = held_out(config.problems, config.seed)
    final_ = both_loops(learned.model, problems, search, objects=config.objects, doors=config.doors)
    return {"curve": learned.curve, "final": final_}


ROWS: dict[str, tuple[str, str]] = {
    "rob": ("PDS-Rob", "0.99 within 10,000"),
    "abs": ("PDS-Abs", "0.06"),
    "abs-warm": ("PDS-Abs, warm starts", "0.06"),
    "abs-walks": ("PDS-Abs, no subgoals", "0.06"),
    "base": ("PDS-Base, no subgoals", "0.06"),
    "ppo": ("PPO", "0.99 within 200,000"),
}
"""The rows with what the paper reports of them, in episodes."""

_OWN: dict[str, dict[str, Any]] = {
    "rob": {"sketch": "rob"},
    "abs": {"sketch": "abs"},
    "abs-warm": {"sketch": "abs", "warm": True},
    "abs-walks": {"sketch": "abs", "subgoals": False},
    "base": {
        **{"sketch": "base", "subgoals": False, "episodes": 240, "fit_steps": 600},
        **{"max_expansions": 200, "watched": 50, "problems": 200},
    },
}
"""What tells the rows apart. The searches of PDS-Base fail and take long (an episode with subgoals more than
five seconds), so that it has less of everything."""


def onpolicy_runs(seeds: int, quick: bool) -> list[ExperimentRun[Any]]:
    """A run per row and seed."""
    small = {"episodes": 8, "first": 4, "fit_steps": 10, "max_expansions": 20, "watched": 4, "problems": 4}
    tiny: dict[str, Any] = {
        "steps": 64,
        "worlds": 4,
        "rollout": 8,
        "batch": 16,
        "measurements": 2,
        "watched": 4,
        "problems": 4,
    }
    models: list[ExperimentRun[Any]] = [
        ExperimentRun(
            f"onpolicy-{row}-seed{seed}",
            measure_onpolicy,
            OnPolicyConfig(**{**own, **(small if quick else {}), "seed": seed}),
            resumes=True,
        )
        for row, own in _OWN.items()
        for seed in range(seeds)
    ]
    others: list[ExperimentRun[Any]] = [
        ExperimentRun(
            f"onpolicy-ppo-seed{seed}", measure_ppo, PPOConfig(seed=seed, **(tiny if quick else {}))
        )
        for seed in range(seeds)
    ]
    return models + others


def _of(records: Records, row: str) -> list[dict[str, Any]]:
    return [record for record in records if record["name"].startswith(f"onpolicy-{row}-seed")]


def _curve(records: Records, row: str) -> dict[int, list[float]]:
    """The held-out success of the seeds by the number of episodes."""
    found: dict[int, list[float]] = {}
    for record in _of(records, row):
        for point in record["result"]["curve"]:
            found.setdefault(point["all_episodes"], []).append(point["held_out"])
    return found


def onpolicy_table(records: Records) -> ResultTable:
    """Success by the number of episodes, and of the last model in both loops."""
    curves = {row: _curve(records, row) for row in _OWN}
    sizes = sorted({size for curve in curves.values() for size in curve})
    rows = []
    for row, (title, paper) in ROWS.items():
        results = [record["result"] for record in _of(records, row)]
        rows.append(
            (
                title,
                *(spread(curves.get(row, {}).get(size, [])) for size in sizes),
                *(
                    spread(
                        [result["final"][loop]["success"] for result in results if loop in result["final"]]
                    )
                    for loop in ("open", "closed")
                ),
                *(
                    spread([float(result["curve"][-1][name]) for result in results], 0)
                    for name in ("all_episodes", "all_steps")
                ),
                paper,
            )
        )
    head = (
        *("model", *map(str, sizes), "last, open loop", "last, closed loop"),
        *("episodes", "environment steps", "paper"),
    )
    return ResultTable("BabyAI: on-policy learning", _note(records), head, tuple(rows))


def _note(records: Records) -> str:
    """How the runs were made that are there."""
    shown = [
        "Success on held-out problems after so many episodes of learning by acting, without demonstrations, "
        f"in rooms of {records[0]['config']['objects']} objects and {records[0]['config']['doors']} doors; "
        f"{_seeds(records)}."
    ]
    alike: dict[str, list[str]] = {}
    for row, (title, _) in ROWS.items():
        for record in _of(records, row)[:1]:
            alike.setdefault(_how(row, record["config"]), []).append(title)
    shown += [f"{'; '.join(titles)}: {how}." for how, titles in alike.items()]
    return " ".join([*shown, made_by(records)])


def _how(row: str, config: Mapping[str, Any]) -> str:
    """How the runs of a row were made."""
    tried = (
        f"{config['watched']} problems for the curve (closed loop), {config['problems']} for the last model"
    )
    if row == "ppo":
        return f"actions are drawn, closed loop, {tried}"
    return (
        f"{config['first']} random walks first, {config['fit_steps']} training steps a round, at most "
        f"{config['max_expansions']} expansions a plan, {tried}"
    )


def _seeds(records: Records) -> str:
    seeds = sorted({record["config"]["seed"] for record in records})
    return f"seeds {', '.join(map(str, seeds))}"


def onpolicy_plot(records: Records, path: Path) -> None:
    """Lines of the held-out success over the number of episodes."""
    series = {
        title: [
            (size, mean(values), _deviation(values)) for size, values in sorted(_curve(records, row).items())
        ]
        for row, (title, _) in ROWS.items()
        if _of(records, row)
    }
    plot_lines(series, path, title="BabyAI: on-policy learning", x="episodes", y="held-out success")


def _deviation(values: Sequence[float]) -> float:
    return pstdev(values) if values else 0.0
