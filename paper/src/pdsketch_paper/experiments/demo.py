"""The whole system at work: data, training, planning and acting in Minigrid, and a page that shows it."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from pdsketch.act import Policy, Rollouts, rollout
from pdsketch.files import lock_folder, write_file
from pdsketch.tensor import Model
from pdsketch.training import fit
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.goals import UNSEEN
from pdsketch_paper.babyai.observation import SKETCHES
from pdsketch_paper.experiments.babyai import (
    MOST_STEPS,
    UNSEEN_STEPS,
    held_out,
    new_model,
    unseen_seeds,
    worlds_for,
)
from pdsketch_paper.experiments.film import Clip, film
from pdsketch_paper.experiments.tables import ResultTable, write_figure


@final
@dataclass(frozen=True, slots=True)
class DemoConfig:
    """How much of everything. Plans are found as `pdsketch.plan` finds them where nothing else is said."""

    episodes: int = 1000
    steps: int = 600
    problems: int = 50
    unseen: int = 3
    max_expansions: int | None = None
    seed: int = 0
    objects: int = 4
    doors: int = 4


@final
@dataclass(frozen=True, slots=True)
class Demo:
    """What a demo leaves behind."""

    table: ResultTable
    page: Path
    seconds: float


def run_demo(config: DemoConfig, folder: Path, say: Callable[[str], None]) -> Demo:
    """Generate, train, plan, act, and write the page."""
    begin = time.perf_counter()
    say(f"generating {config.episodes} demonstrations in Minigrid")
    data = BabyAIWorld(config.objects, config.doors, "abs").demonstrations(config.episodes, config.seed)
    model = new_model("abs", config.seed)
    say(f"training PDS-Abs, {config.steps} steps")
    report = fit(
        model,
        data,
        steps=config.steps,
        batch=256,
        seed=config.seed,
        evaluate_every=max(1, config.steps // 10),
    )
    say("planning and acting")
    rows, scenes = _missions(model, config)
    more_rows, more_scenes = _unseen(model, config)
    table = ResultTable(
        "A sketch that learned to act",
        f"PDS-Abs from {config.episodes} demonstrations, seed {config.seed}.",
        ("goals", "problems", "success"),
        tuple(rows + more_rows),
    )
    with lock_folder(folder):
        film(scenes + more_scenes, folder / "agent.gif")
        draw_curve(report.history, folder / "curve.svg")
        page = folder / "index.html"
        seconds = time.perf_counter() - begin
        write_file(page, _page(table, scenes + more_scenes, seconds))
        model.save(str(folder / "model"))
    return Demo(table, page, seconds)


def _missions(model: Model, config: DemoConfig) -> tuple[list[tuple[str, str, str]], list[Clip]]:
    """Missions as in training, in rooms as in training and in fuller ones."""
    rows, scenes = [], []
    count, seeds = config.problems, held_out(config.problems, config.seed)
    for objects, doors in ((config.objects, config.doors), (8, 6)):
        worlds = worlds_for(model, count, objects=objects, doors=doors)
        as_planned = rollout(_agent(model, config), worlds, seeds, MOST_STEPS)
        watching = rollout(_agent(model, config, "closed"), worlds, seeds, MOST_STEPS)
        rows.append((f"missions, {objects} objects and {doors} doors", str(count), _success(as_planned)))
        rows.append(("… the same, replanning as it acts", str(count), _success(watching)))
        world, (seed,) = worlds[0], held_out(1, config.seed + 1)
        (shown,) = rollout(_agent(model, config), world, [seed], MOST_STEPS)
        scenes.append(Clip(world, seed, world.mission, shown.actions))
    return rows, scenes


def _unseen(model: Model, config: DemoConfig) -> tuple[list[tuple[str, str, str]], list[Clip]]:
    """Goals of kinds that no mission states."""
    rows, scenes = [], []
    for kind in UNSEEN:
        seeds = unseen_seeds(kind, config.unseen, config.seed)
        worlds = worlds_for(model, len(seeds), goals=kind)
        done = rollout(_agent(model, config), worlds, seeds, UNSEEN_STEPS)
        rows.append((f"unseen: {kind}", str(len(seeds)), _success(done)))
        if kind in _SHOWN and done and done[0].actions:
            scenes.append(
                Clip(worlds[0], seeds[0], f"a goal never seen in training: {kind}", done[0].actions)
            )
    return rows, scenes


def _agent(model: Model, config: DemoConfig, loop: Literal["open", "closed"] = "open") -> Policy:
    return Policy(model, options={"max_expansions": config.max_expansions}, loop=loop)


def _success(done: Rollouts) -> str:
    return f"{done.summary['success'] or 0:.2f}"


_SHOWN = ("hold X, face door Y", "all doors open", "hold one thing, face another of its colour")


def draw_curve(history: list[dict[str, float]], path: Path) -> None:
    """The learning curve: the accuracy of goals and of steps, on held-out episodes where there are any."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    steps = [entry["step"] for entry in history]
    for name, label in (("accuracy", "goals"), ("step_accuracy", "steps")):
        key = f"held_out_{name}" if f"held_out_{name}" in history[0] else name
        axes.plot(steps, [entry[key] for entry in history], marker="o", label=f"{label} predicted right")
    axes.set(xlabel="training step", ylim=(0, 1.03), title="learning, on episodes held out")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    write_figure(figure, path)


def _page(table: ResultTable, scenes: list[Clip], seconds: float) -> str:
    sketch = html.escape((SKETCHES / "abs.pdsketch").read_text(encoding="utf-8"))
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in table.rows
    )
    head = "".join(f"<th>{html.escape(c)}</th>" for c in table.head)
    plans = "".join(
        f"<h3>{html.escape(s.title)}</h3><pre>{html.escape(s.world.goal)}</pre>"
        f"<p>{html.escape(' · '.join(s.names))}</p>"
        for s in scenes
    )
    template = (Path(__file__).parent / "demo.html").read_text(encoding="utf-8")
    return template.format(
        title=html.escape(table.title),
        note=html.escape(table.note),
        head=head,
        rows=rows,
        plans=plans,
        sketch=sketch,
        seconds=f"{seconds:.0f}",
    )
