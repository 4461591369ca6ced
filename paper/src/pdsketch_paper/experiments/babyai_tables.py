"""The tables of BabyAI: which runs each needs, and how their results become rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any, final

from pdsketch_paper.babyai.modules import SketchName
from pdsketch_paper.experiments.babyai import (
    SearchConfig,
    TrainConfig,
    both_loops,
    held_out,
    measure_stock,
    measure_unseen,
    train,
)
from pdsketch_paper.experiments.babyai_baselines import (
    AGENTS,
    PAPER_ROOMS as BASELINE_ROOMS,
    PAPER_SIZES as BASELINE_SIZES,
    PRACTICE,
    agent_runs,
    dreamer_runs,
    dreamer_table,
    of_baselines,
    of_models,
    practice_runs,
)
from pdsketch_paper.experiments.babyai_curves import TITLES, curve_plot, curve_runs, curve_table
from pdsketch_paper.experiments.babyai_factors import factor_runs, factor_table
from pdsketch_paper.experiments.babyai_onpolicy import onpolicy_plot, onpolicy_runs, onpolicy_table
from pdsketch_paper.experiments.babyai_words import judged, word_table
from pdsketch_paper.experiments.methods import OURS, PAPER, Method
from pdsketch_paper.experiments.runs import FRESH, ExperimentRun, Seeds, seeds_for
from pdsketch_paper.experiments.tables import (
    Experiment,
    Records,
    ResultTable,
    by_seed,
    every,
    made_by,
    plot_bars,
    plot_lines,
    rate,
    seeds_of,
    select,
    spread,
    values_at,
)

SIZES = (30, 100, 1000, 10000)
"""Numbers of demonstrations; agents learn nothing from the first."""

SEEDS = {30: FRESH[:5], 100: FRESH, 1000: FRESH[:5], 10000: FRESH[:3]}
"""Of models, by number of demonstrations."""

PROBLEMS = {30: 200, 100: 200, 1000: 200, 10000: 500}
"""Held-out problems of models, by number of demonstrations: many seeds have fewer each."""

WORDS_OF = (100, 30)
"""Numbers of demonstrations from which blanks are judged one by one."""

LOOPS = ("open", "closed")


def note_on(records: Records, more: str = "") -> str:
    """Seeds, problems, and where the runs come from."""
    problems = " or ".join(str(n) for n in every(records, "problems") if n)
    held_out_note = f"{problems} held-out problems a seed. " if problems else ""
    return f"{seeds_of(records)}; {held_out_note}{more}{made_by(records)}"


def limit_of(records: Records) -> str:
    """How plans were searched for, as the runs have it."""
    search = records[0]["config"]["search"]
    kind = f"{search['search']}, heuristic {search['heuristic']}"
    kind = "Blind A*" if kind == "astar, heuristic blind" else kind
    return f"{kind}, at most {search['max_expansions']} expansions a plan. "


def trained_from(records: Records) -> str:
    """What was learned from how much, as the runs have it."""
    train = records[0]["config"]["train"]
    return f"{TITLES[train['sketch']]} from {train['episodes']:,} demonstrations"


ALL_AGENTS = {**AGENTS, "dreamer-online": f"{AGENTS['dreamer']}, {PRACTICE:,} steps of practice"}

PAPER_ROOMS: dict[str, tuple[str, str]] = {
    "base": ("0.82", "0.62"),
    "abs": ("0.99", "0.98"),
    "rob": ("1.00", "1.00"),
}
"""What the paper reports for rooms as in training and for fuller ones."""

PAPER_SIZES: dict[str, dict[int, str]] = {
    "base": {100: "0.04", 1000: "0.11", 10000: "0.80"},
    "abs": {100: "0.04", 1000: "0.98", 10000: "0.99"},
    "rob": {100: "0.72", 1000: "0.99", 10000: "0.99"},
}
"""What the paper reports by number of demonstrations."""


METHODS: dict[str, Method] = {"ours": OURS, "paper's method": PAPER}
"""The rows of a model that are measured; those of the *paper* are its printed figures."""


def main_table(records: Records) -> ResultTable:
    """Success in rooms as in training and in fuller ones, acting blindly and with replanning."""
    models, rows = of_models(records), []
    for kind, title in ALL_AGENTS.items():
        found = [values_at(records, room, "success", kind=kind) for room in _SHOWN_ROOMS]
        rows.append((title, "ours", *(cell for values in found for cell in ("", rate(values)))))
        rows.append((title, "paper", *(cell for printed in BASELINE_ROOMS[kind] for cell in ("", printed))))
    for sketch, title in TITLES.items():
        for name, method in METHODS.items():
            own = select(models, sketch=sketch, method=asdict(method))
            found = [values_at(own, room, loop, "success") for room in _SHOWN_ROOMS for loop in LOOPS]
            rows.append((title, name, *map(rate, found)))
        rows.append((title, "paper", *(cell for printed in PAPER_ROOMS[sketch] for cell in (printed, ""))))
    (episodes,) = every(records, "episodes")
    trained = f"{episodes} demonstrations in rooms of 4 objects and 4 doors. "
    head = ("model", "row", *(f"{room} {loop} loop" for room in _SHOWN_ROOMS for loop in LOOPS))
    return ResultTable("BabyAI: planning success", _success_note(records, trained), head, tuple(rows))


_SHOWN_ROOMS = ("4+4", "8+6")


def _success_note(records: Records, trained: str = "") -> str:
    """The note of a table of models and agents, of which some may not be there."""
    models, agents = of_models(records), of_baselines(records)
    made = f"Agents: {made_by(agents)}" if agents else ""
    return note_on(models, f"{trained}{limit_of(models)}{made and made + ' Models: '}") if models else made


def _success(records: Records, loop: str, room: str, **settings: Any) -> dict[str, list[float]]:
    """By agent and model, the success in a room; agents have no plan to carry out blindly, and one loop."""
    found = {
        title: values_at(records, room, "success", kind=kind, **settings)
        for kind, title in ALL_AGENTS.items()
    }
    for name, method in METHODS.items():
        for sketch, title in TITLES.items():
            own = {"sketch": sketch, "method": asdict(method), **settings}
            label = title if name == "ours" else f"{title}, {name}"
            found[label] = values_at(of_models(records), room, loop, "success", **own)
    return found


def main_plot(records: Records, path: Path) -> None:
    """Bars of the open-loop success."""
    found = {room: _success(records, "open", room) for room in ("4+4", "8+6")}
    groups = {title: {room: found[room][title] for room in found} for title in found["4+4"]}
    plot_bars(groups, path, title="BabyAI: success (models: open loop)", y="success")


def data_table(records: Records) -> ResultTable:
    """Success by number of demonstrations."""
    models, sizes = of_models(records), every(records, "episodes")
    rows = []
    for kind, title in AGENTS.items():
        agents = select(records, kind=kind)
        found = (rate(values_at(agents, "4+4", "success", episodes=size)) for size in sizes)
        rows.append((title, "ours", "closed", *found))
        if kind in BASELINE_SIZES:
            rows.append((title, "paper", "", *(BASELINE_SIZES[kind].get(size, "") for size in sizes)))
    for sketch, title in TITLES.items():
        for name, method in METHODS.items():
            own = select(models, sketch=sketch, method=asdict(method))
            for loop in LOOPS:
                found = (rate(values_at(own, "4+4", loop, "success", episodes=size)) for size in sizes)
                rows.append((title, name, loop, *found))
        rows.append((title, "paper", "open", *(PAPER_SIZES[sketch].get(size, "") for size in sizes)))
    head = ("model", "row", "loop", *(f"{size} episodes" for size in sizes))
    return ResultTable(
        "BabyAI: success by number of demonstrations", _success_note(records), head, tuple(rows)
    )


def data_plot(records: Records, path: Path) -> None:
    """Lines of the open-loop success over the number of demonstrations: ours, and the paper's method."""
    found = {size: _success(records, "open", "4+4", episodes=size) for size in every(records, "episodes")}
    titles = [title for title in next(iter(found.values())) if "practice" not in title]
    series = {t: by_seed({size: found[size][t] for size in found}) for t in titles}
    panels = {
        "agents": {t: s for t, s in series.items() if "PDS" not in t},
        "models": {t: s for t, s in series.items() if "PDS" in t},
    }
    plot_lines(panels, path, x="demonstrations", y="success, open loop (agents: closed)")


STEPS: dict[SketchName, dict[int, int]] = {
    "base": {30: 800, 100: 800, 1000: 1500, 10000: 3500},
    "abs": {30: 1200, 100: 1200, 1000: 1200, 10000: 1600},
    "rob": {30: 800, 100: 800, 1000: 1000, 10000: 1200},
}
"""Training steps, by sketch and by number of demonstrations."""

UNSEEN_EXPANSIONS = 500
"""As for missions, though goals over several things need longer plans."""

STOCK_EXPANSIONS = 5_000
"""Minigrid's own rooms are larger than those of the missions: 500 are too few for exact modules, too."""

UNSEEN_WIDTH = 16
"""Nodes expanded together: plans stay optimal for the model, and long searches take less time."""

QUICK_EXPANSIONS = 40
"""In a smoke run models are poor, and most searches go on to their limit."""


@final
@dataclass(frozen=True, slots=True)
class Config:
    """One run: a model, and how many problems of each kind it is tried on (0: none)."""

    train: TrainConfig
    search: SearchConfig = field(default_factory=SearchConfig)
    problems: int = 0
    rooms: tuple[tuple[int, int], ...] = ((4, 4), (8, 6))
    unseen: int = 0
    unseen_expansions: int = UNSEEN_EXPANSIONS
    stock_expansions: int = STOCK_EXPANSIONS
    stock: int = 0
    scenes: int = 0


def measure(config: Config) -> dict[str, Any]:
    """Train one model and try it on everything that the config asks for."""
    model, report = train(config.train)
    seed, found = config.train.seed, dict[str, Any]()
    for objects, doors in config.rooms if config.problems else ():
        problems = held_out(config.problems, seed)
        found[f"{objects}+{doors}"] = both_loops(model, problems, config.search, objects=objects, doors=doors)
    if config.unseen:
        blind = SearchConfig(max_expansions=config.unseen_expansions, snap=config.search.snap, k=UNSEEN_WIDTH)
        abstract = replace(blind, search="abstract", heuristic="ao", k=1)
        searches = {"blind": blind, "abstract": abstract}
        found["unseen"] = measure_unseen(model, config.unseen, seed, searches)
    if config.stock:
        search = replace(config.search, max_expansions=config.stock_expansions)
        found["stock"] = measure_stock(model, config.stock, seed, search)
    if config.scenes:
        found["blanks"] = judged(model, report, config.train.sketch, seed, config.scenes)
    return found


def run(train_config: TrainConfig, quick: bool, **settings: Any) -> ExperimentRun[Config]:
    """A run under a name that says what was trained."""
    own = "" if train_config.method == OURS else "-papers"
    name = f"{train_config.sketch}{own}-{train_config.episodes}-seed{train_config.seed}"
    # PDS-Base predicts every number afresh: its floats are rounded to values that were seen.
    search = SearchConfig(snap=train_config.sketch == "base" and train_config.method.snap)
    if quick:
        search = replace(search, max_expansions=QUICK_EXPANSIONS)
        settings |= {"unseen_expansions": QUICK_EXPANSIONS, "stock_expansions": QUICK_EXPANSIONS}
    return ExperimentRun(name, measure, Config(train_config, search, **settings))


def training(sketch: SketchName, episodes: int, seed: int, quick: bool, method: Method = OURS) -> TrainConfig:
    """How a model of the tables is trained."""
    if quick:
        return TrainConfig(sketch, 10 + episodes // 500, seed, steps=20, method=method)
    return TrainConfig(sketch, episodes, seed, STEPS[sketch][episodes], method=method)


def success_runs(sizes: Sequence[int], seeds: Seeds, quick: bool) -> list[ExperimentRun[Any]]:
    """A run per sketch or agent, number of demonstrations and seed."""
    models = [
        one for method in METHODS.values() for size in sizes for one in model_runs(method, size, seeds, quick)
    ]
    larger = [size for size in sizes if size > SIZES[0]]
    return [*models, *agent_runs(larger, [_rooms(size) for size in larger], seeds, quick)]


def model_runs(method: Method, size: int, seeds: Seeds, quick: bool) -> list[ExperimentRun[Config]]:
    """A run per sketch and seed, from so many demonstrations; blanks are judged where few have to do."""
    problems = 6 if quick else PROBLEMS[size]
    own = seeds_for(seeds, SEEDS[size] if method == OURS else FRESH[:3], quick)
    found = []
    for sketch in reversed(TITLES):
        known = method == OURS and size in WORDS_OF and sketch != "base"
        more = {"scenes": 20 if quick else 1000} if known else {}
        for seed in own:
            trained = training(sketch, size, seed, quick, method)
            found.append(run(trained, quick, problems=problems, rooms=_rooms(size), **more))
    return found


def word_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[Config]]:
    """Those of few demonstrations, as they stand in the table of numbers of demonstrations."""
    sizes = WORDS_OF[:1] if quick else WORDS_OF  # of a smoke run all are as small
    runs = [run for size in sizes for run in model_runs(OURS, size, seeds, quick)]
    return [run for run in runs if run.config.scenes]


def main_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[Any]]:
    """Those of all demonstrations, and a Dreamer that practises after them."""
    return [*success_runs(SIZES[-1:], seeds, quick), *practice_runs(SIZES[-1], seeds, quick)]


def _rooms(size: int) -> tuple[tuple[int, int], ...]:
    """Fuller rooms are for the models of all demonstrations."""
    return ((4, 4), (8, 6)) if size == SIZES[-1] else ((4, 4),)


def check_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[Config]]:
    """PDS-Abs from 1,000 demonstrations, tried on everything but missions."""
    unseen, stock = (1, 1) if quick else (12, 40)
    return [
        run(training("abs", 1000, seed, quick), quick, unseen=unseen, stock=stock)
        for seed in seeds_for(seeds, FRESH[:3], quick)
    ]


def unseen_table(records: Records) -> ResultTable:
    """By kind of goal: success, lengths over the optimum and expansions, of blind and of abstract search."""
    values = partial(values_at, records, "unseen")
    rows = tuple(
        (
            kind,
            f"{mean(values(kind, 'optimum')):.1f}",
            *(rate(values(kind, search, "success")) for search in _SEARCHES),
            *(spread(values(kind, search, "length_over_optimum"), 2) for search in _SEARCHES),
            *(f"{mean(values(kind, search, 'expanded')):.0f}" for search in _SEARCHES),
        )
        for kind in records[0]["result"]["unseen"]
    )
    measures = ("success", "length / optimum", "expanded")
    head = ("goal", "optimal length", *(f"{m}, {search}" for m in measures for search in _SEARCHES))
    config = records[0]["config"]
    note = (
        f"{trained_from(records)}, {config['unseen']} problems a kind and seed, open loop, at most "
        f'{config["unseen_expansions"]} expansions: blind A* in the model, and `search="abstract"`. '
    )
    return ResultTable("BabyAI: goals of unseen kinds", note_on(records, note), head, rows)


_SEARCHES = ("blind", "abstract")


def stock_table(records: Records) -> ResultTable:
    """By level of Minigrid: success."""
    rows = tuple(
        (
            f"BabyAI-{level}-v0",
            *(rate(values_at(records, "stock", level, loop)) for loop in LOOPS),
        )
        for level in records[0]["result"]["stock"]
    )
    config = records[0]["config"]
    note = (
        f"{trained_from(records)} in the 7×7 room, {config['stock']} problems a level and seed, "
        f"at most {config['stock_expansions']} expansions. "
    )
    return ResultTable(
        "BabyAI: Minigrid's own levels", note_on(records, note), ("level", "open loop", "closed loop"), rows
    )


EXPERIMENTS: dict[str, Experiment] = {
    "babyai-main": Experiment(main_runs, main_table, main_plot),
    "babyai-data": Experiment(lambda seeds, quick: success_runs(SIZES, seeds, quick), data_table, data_plot),
    "babyai-words": Experiment(word_runs, partial(word_table, TITLES)),
    "babyai-curves": Experiment(curve_runs, curve_table, curve_plot),
    "babyai-unseen": Experiment(check_runs, unseen_table),
    "babyai-stock": Experiment(check_runs, stock_table),
    "babyai-factors": Experiment(factor_runs, factor_table),
    "babyai-onpolicy": Experiment(onpolicy_runs, onpolicy_table, onpolicy_plot),
    "babyai-dreamer": Experiment(dreamer_runs, dreamer_table),
}
"""What ``pdsketch reproduce`` knows of BabyAI."""
