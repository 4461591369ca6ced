"""The whole system at work: data, training, planning and acting in Minigrid, and a page that shows it."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, final

from pdsketch.abstract import rules
from pdsketch.act import Policy, Rollouts, rollout
from pdsketch.files import lock_folder, write_file
from pdsketch.lang import error
from pdsketch.search import plan
from pdsketch.tensor import Model
from pdsketch.training import fit
from pdsketch_paper.babyai.adapter import BabyAIWorld, exact_model
from pdsketch_paper.babyai.goals import UNSEEN
from pdsketch_paper.babyai.observation import SKETCHES
from pdsketch_paper.experiments.babyai import (
    MOST_STEPS,
    UNSEEN_STEPS,
    held_out,
    new_model,
    shortest,
    unseen_seeds,
    worlds_for,
)
from pdsketch_paper.experiments.film import Clip, film
from pdsketch_paper.experiments.methods import MEASURED
from pdsketch_paper.experiments.runs import in_both_loops
from pdsketch_paper.experiments.tables import Curves, ResultTable, plot_lines


@final
@dataclass(frozen=True, slots=True)
class DemoConfig:
    """How much is tried; everything else is as the library has it where nothing is said.

    ``steps`` and ``batch`` are fewer than a fit's own, for a minute's sake; ``max_expansions`` bounds smoke
    runs. ``goal`` is one that the reader types: a formula over the sketch's predicates.
    """

    episodes: int = 1000
    steps: int = 600
    batch: int = 256
    problems: int = 25
    unseen: int = 3
    max_expansions: int | None = None
    seed: int = 0
    objects: int = 4
    doors: int = 4
    goal: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Demo:
    """What a demo leaves behind; ``typed`` is the plan for a goal that was typed."""

    table: ResultTable
    counted: ResultTable
    page: Path
    seconds: float
    typed: str


def run_demo(config: DemoConfig, folder: Path, say: Callable[[str], None]) -> Demo:
    """Generate, train, plan, act, and write the page."""
    begin = time.perf_counter()
    rooms = _rooms_of_goal(config)
    say(f"generating {config.episodes} demonstrations in Minigrid")
    data = BabyAIWorld(config.objects, config.doors, "abs").demonstrations(config.episodes, config.seed)
    model = new_model("abs", config.seed)
    say("training PDS-Abs")
    report = fit(
        model,
        data,
        steps=config.steps,
        batch=config.batch,
        seed=config.seed,
        evaluate_every=config.steps // 10,
        forms=config.steps >= MEASURED,  # a smoke run has none
    )
    say("planning and acting")
    rows, scenes = _missions(model, config)
    for kind in UNSEEN:
        worlds, found = _tried(model, config, kind, unseen_seeds(kind, config.unseen, config.seed))
        rows.append((f"unseen: {kind}", str(len(found)), _success(found)))
        if kind in _SHOWN and found and found[0].actions:
            scenes.append(_clip(worlds, found, f"a goal never seen in training: {kind}"))
    typed = ""
    if config.goal is not None:
        worlds, found = _tried(model, config, config.goal, rooms)
        rows.append(("the goal that you typed", str(len(found)), _success(found)))
        scenes.insert(0, _clip(worlds, found, "the goal that you typed"))
        typed = "\n".join(" ".join(map(str, step)) for step in found[0].actions)
    table = ResultTable(
        "A sketch that learned to act",
        f"PDS-Abs from {config.episodes} demonstrations, seed {config.seed}.",
        ("goals", "problems", "success"),
        tuple(rows),
    )
    counted = _expansions(model, scenes, config)
    learned = rules(model).text()
    with lock_folder(folder):
        film(scenes, folder / "agent.gif")
        draw_curve(report.history, folder / "curve.svg")
        page = folder / "index.html"
        seconds = time.perf_counter() - begin
        write_file(page, _page((table, counted), scenes, learned, seconds))
        model.save(str(folder / "model"))
    return Demo(table, counted, page, seconds, typed)


def _rooms_of_goal(config: DemoConfig) -> list[int]:
    """Seeds of rooms in which the goal that was typed can be reached, by exact modules."""
    found: list[int] = []
    if config.goal is None:
        return found
    world = BabyAIWorld(config.objects, config.doors, goals=config.goal)
    for seed in held_out(MOST_ROOMS, config.seed):
        state = world.reset(seed)
        if len(found) < config.unseen and shortest(exact_model(), state, world.goal) is not None:
            found.append(seed)
    if not found:
        raise error(
            "no-such-room",
            f"the goal `{config.goal:.80}` can be reached in none of {MOST_ROOMS} rooms",
            help="ask for something that is in the room more often",
        )
    return found


def _missions(model: Model, config: DemoConfig) -> tuple[list[tuple[str, str, str]], list[Clip]]:
    """Missions as in training, in rooms as in training and in fuller ones."""
    rows, scenes = [], []
    count, seeds = config.problems, held_out(config.problems, config.seed)
    for objects, doors in ((config.objects, config.doors), (8, 6)):
        worlds = worlds_for(model, count, objects=objects, doors=doors)
        found = in_both_loops(lambda loop: _agent(model, config, loop), worlds, seeds, MOST_STEPS)
        for loop, how in (("open", ""), ("closed", ", replanning as it acts")):
            name = f"missions, {objects} objects and {doors} doors{how}"
            rows.append((name, str(count), f"{found[loop]['success']:.2f}"))
        world, (seed,) = worlds[0], held_out(1, config.seed + 1)
        (shown,) = rollout(_agent(model, config), world, [seed], MOST_STEPS)
        scenes.append(Clip(world, seed, world.mission, shown.actions))
    return rows, scenes


def _tried(
    model: Model, config: DemoConfig, goals: str, seeds: Sequence[int]
) -> tuple[list[BabyAIWorld], Rollouts]:
    """Worlds with goals that no mission states, and acting on plans in them."""
    size = {"objects": config.objects, "doors": config.doors} if goals == config.goal else {}
    worlds = worlds_for(model, len(seeds), goals=goals, **size)
    return worlds, rollout(_agent(model, config), worlds, seeds, UNSEEN_STEPS)


def _clip(worlds: Sequence[BabyAIWorld], done: Rollouts, title: str) -> Clip:
    assert done.seeds[0] is not None
    return Clip(worlds[0], done.seeds[0], title, done[0].actions)


def _agent(model: Model, config: DemoConfig, loop: Literal["open", "closed"] = "open") -> Policy:
    return Policy(model, options={"max_expansions": config.max_expansions}, loop=loop)


def _success(done: Rollouts) -> str:
    return f"{done.summary['success'] or 0:.2f}"


_SHOWN = ("hold X, face door Y", "all doors open", "hold one thing, face another of its colour")

MOST_ROOMS: Final = 20
"""So many rooms are looked at for one in which a goal can be reached."""

MOST_EXPANSIONS: Final = 1000
"""Of the searches that are compared: without a heuristic some of them take far more."""


def _expansions(model: Model, scenes: Sequence[Clip], config: DemoConfig) -> ResultTable:
    """What A* expands for the problems of the film, blind and guided by what was learned."""
    most, rows = config.max_expansions or MOST_EXPANSIONS, []
    for scene in scenes:
        state, counts = scene.world.reset(scene.seed), []
        for heuristic in ("blind", "ao"):
            found = plan(
                model, state, scene.world.goal, search="astar", heuristic=heuristic, max_expansions=most
            )
            counts.append(f"{found.expanded:,}" if found.solved else f"no plan within {found.expanded:,}")
        rows.append((scene.title, *counts))
    head = ("goal", "states expanded by blind A*", "by A* with the AO heuristic")
    return ResultTable("What the heuristic is worth", "", head, tuple(rows))


def draw_curve(history: list[dict[str, float]], path: Path) -> None:
    """The learning curve: the accuracy of goals and of steps, on held-out episodes where there are any."""
    series: dict[str, Curves] = {}
    for name, label in (("accuracy", "goals"), ("step_accuracy", "steps")):
        key = f"held_out_{name}" if f"held_out_{name}" in history[0] else name
        series[f"{label} predicted right"] = [{entry["step"]: entry[key] for entry in history}]
    panels = {"learning, on episodes held out": series}
    plot_lines(panels, path, x="training step", y="part right", scale="linear")


def _page(tables: Sequence[ResultTable], scenes: Sequence[Clip], learned: str, seconds: float) -> str:
    success, counted = (_html(table) for table in tables)
    plans = "".join(
        f"<h3>{html.escape(s.title)}</h3><pre>{html.escape(s.world.goal)}</pre>"
        f"<p>{html.escape(' · '.join(s.names))}</p>"
        for s in scenes
    )
    template = (Path(__file__).parent / "demo.html").read_text(encoding="utf-8")
    return template.format(
        title=html.escape(tables[0].title),
        note=html.escape(tables[0].note),
        success=success,
        counted=counted,
        learned=html.escape(learned),
        plans=plans,
        sketch=html.escape((SKETCHES / "abs.pdsketch").read_text(encoding="utf-8")),
        seconds=f"{seconds:.0f}",
    )


def _html(table: ResultTable) -> str:
    cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in table.rows)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.head)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
