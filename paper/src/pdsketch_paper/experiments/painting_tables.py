"""The tables of the Painting Factory: which runs each needs, and how their results become rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, final

from pdsketch_paper.experiments.methods import OURS, PAPER, Method
from pdsketch_paper.experiments.runs import FRESH, LOOKED_AT, ExperimentRun, Seeds, runs_of, seeds_for
from pdsketch_paper.experiments.tables import (
    Curves,
    Experiment,
    Records,
    ResultTable,
    by_seed,
    every,
    made_by,
    plot_lines,
    rate,
    seeds_of,
    select,
    spread,
    values_at,
)

AgentKind = Literal["bc", "dt-s"]
"""The paper's baselines in this domain."""


@final
@dataclass(frozen=True, slots=True)
class PaintingTraining:
    """One trained model: how many demonstrations, the seed of data and weights, and how it is fitted.

    The ``brightness`` of pictures is changed from episode to episode, by this part at most.
    """

    episodes: int = 1000
    seed: int = 0
    steps: int = 700
    batch: int = 64
    learning_rate: float = 3e-3
    lookahead: float = 0.5
    blocks: int = 4
    bowls: int = 4
    images: str = "rasterised"
    brightness: float = 0.0
    method: Method = OURS


@final
@dataclass(frozen=True, slots=True)
class PaintingSearch:
    """How plans are found. The limit is on expansions, never on time.

    ``confidence`` keeps blocks away from the edges of what was learned to be left, right or on.
    """

    search: Literal["gbfs", "wastar", "astar"] = "astar"
    heuristic: str = "goalorder"
    max_expansions: int = 200
    confidence: float = 0.9


@final
@dataclass(frozen=True, slots=True)
class PaintingConfig:
    """One run: a model, the kinds of goals that it is tried on, and how many problems of each.

    ``blocks`` and ``bowls`` are those of the tables where it is tried (None: as many as in training), with so
    much noise of the controller: ``placement_noise`` in metres, ``lost_grips`` as a part of all lifts.
    ``clutter`` of the blocks lie in the box already.
    """

    train: PaintingTraining
    goals: tuple[str, ...]
    problems: int
    search: PaintingSearch = field(default_factory=PaintingSearch)
    blocks: int | None = None
    bowls: int | None = None
    placement_noise: float = 0.002
    lost_grips: float = 0.0
    clutter: int = 0

    def tried_in(self) -> dict[str, Any]:
        """The options of the worlds where it is tried."""
        return {
            "blocks": self.train.blocks if self.blocks is None else self.blocks,
            "bowls": self.train.bowls if self.bowls is None else self.bowls,
            "images": self.train.images,
            "placement_noise": self.placement_noise,
            "lost_grips": self.lost_grips,
            "clutter": self.clutter,
        }


@final
@dataclass(frozen=True, slots=True)
class PaintingBaselineConfig:
    """One trained agent, and on how many held-out problems of the demonstrated kind it is tried.

    Nothing is held out of its training: the demonstrator takes any block, so that held-out steps become
    less likely from the first passes on, while which bowl is meant is still being learned. It takes the
    likeliest action (``temperature`` 0). With ``labels`` it learns from all formulas that came true, of which
    a model is told, and not from the goals that were demonstrated alone.
    """

    kind: AgentKind
    episodes: int
    seed: int
    steps: int
    batch: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    validation: float = 0.0
    temperature: float = 0.0
    problems: int = 100
    blocks: int = 4
    bowls: int = 4
    labels: bool = False


@final
@dataclass(frozen=True, slots=True)
class PaintingLightConfig:
    """One trained model, and how many tables it sees in each ``light``, as `PaintingWorld` has it."""

    train: PaintingTraining
    tables: int
    lights: tuple[float, ...]


SIZES = (30, 100, 1000)

FEW = 100
"""Demonstrations of the tables that are about something else."""

PROBLEMS, NOISY_PROBLEMS = 100, 50
"""Held-out tables for each kind of goal and seed; fewer where there are many settings of noise."""

PAIR = "pair"
UNSEEN = ("row of three", "all painted", "tower of three")
"""The kind of goal that is demonstrated, and three others, as `envs.painting.goals` names them: that module
needs MuJoCo, which a list of tables does not."""

AGENTS: dict[AgentKind, str] = {"bc": "BC", "dt-s": "DT"}

AGENT_STEPS = 1000
"""Training steps of agents: from 100 demonstrations, the bowl that the goal means is the likeliest in 0.92 to
1.00 of the held-out steps after 600 and in 0.95 to 1.00 after 1,000; from 1,000, in all of them after 600."""

PRINTED = {100: "0.91", 1000: "0.99"}
PAPER_BASELINES = (("BC (paper)", "0.70", "0.95"), ("DT (paper)", "0.56", "0.97"))
PAPER_UNSEEN = {"row of three": "0.99", "all painted": "0.98", "tower of three": "0.87"}
"""What the paper reports, for three kinds of goals that its figure shows: more objects, `forall`, stacks."""

FULLER = 5
"""Blocks and bowls of the tables of unseen kinds of goals: one of each more than in demonstrations."""

MOST_BOWLS, SLOTS = 8, 21
"""A bowl of each colour, and the places where blocks begin."""

HARD: dict[tuple[int, int], tuple[str, ...]] = {
    (2 * 4, 0): (PAIR, *UNSEEN),
    **{(2 * 4, clutter): (PAIR,) for clutter in (2, 4, 8)},
    (SLOTS + 3, 3): (PAIR, "tower of three"),
}
"""By blocks, and how many of these lie in the box, the kinds of goals: twice as many blocks and bowls as in
demonstrations; a box with things in it, which the sketch says nothing of; more blocks than places."""

HARD_PROBLEMS = 25

PLACEMENT_NOISES = (0.002, 0.01, 0.02, 0.03)
LOST_GRIPS = (0.0, 0.15)
"""The settings of noise: metres of placement, and the part of lifts whose grip is lost."""

MODES = ("rasterised", "rendered")

LIGHTS, LIT_TABLES = (0.1, 0.3, 0.5), 250
"""How much brightness and lamps differ: in training, and more. With four blocks, so many tables are 1,000
crops."""

AUGMENTED = {"": 0.0, "-augmented": 0.5}
"""How much the brightness of demonstrations is changed."""

METHODS: dict[str, tuple[str, Method]] = {
    "": ("PDS, ours", OURS),
    "labels-": ("PDS, ours, demonstrated goals alone", replace(OURS, labels=False)),
    "papers-": ("PDS, paper's method", PAPER),
}
"""The rows of models; the agents learn from demonstrated goals alone unless it is said."""

_LOOPS = ("open", "closed")


def measure(config: PaintingConfig) -> dict[str, Any]:
    """Train one model and try it on each kind of goal."""
    from pdsketch_paper.experiments.painting import measure_painting, painting_seeds, train_painting

    model, _ = train_painting(config.train)
    seeds = painting_seeds(config.problems, config.train.seed)
    options = config.tried_in()
    return {
        kind: measure_painting(model, seeds, config.search, goals=kind, **options) for kind in config.goals
    }


def measure_baseline(config: PaintingBaselineConfig) -> dict[str, Any]:
    """Train one agent and let it act."""
    from pdsketch_paper.experiments.painting import measure_agent

    return measure_agent(config)


def runs_with(
    name: str,
    seeds: Seeds,
    quick: bool,
    goals: tuple[str, ...] = (PAIR,),
    problems: int = PROBLEMS,
    training: Mapping[str, Any] = MappingProxyType({}),
    **settings: Any,
) -> list[ExperimentRun[Any]]:
    """A run per seed of a model, of the fewest demonstrations unless ``training`` says otherwise."""
    runs: list[ExperimentRun[Any]] = []
    for seed in seeds_for(seeds, FRESH[:5], quick):
        train = PaintingTraining(**{"episodes": FEW, "seed": seed, **training})
        config = PaintingConfig(train, goals, problems, **settings)
        if quick:
            train = replace(train, episodes=4 + train.episodes // 500, steps=6, batch=16)
            config = replace(config, train=train, search=PaintingSearch(max_expansions=4), problems=1)
        runs.append(ExperimentRun(f"painting-{name}-seed{seed}", measure, config))
    return runs


def main_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[Any]]:
    """A run per row, number of demonstrations and seed, of models and of agents."""
    runs = []
    for size, (name, (_, method)) in product(SIZES, METHODS.items()):
        training = {"episodes": size, "method": method}
        runs += runs_with(f"{name}{size}", seeds, quick, training=training)
    for labels, size, kind in product((False, True), SIZES, AGENTS):
        for seed in seeds_for(seeds, LOOKED_AT, quick):
            config = PaintingBaselineConfig(kind, size, seed, AGENT_STEPS, problems=PROBLEMS, labels=labels)
            if quick:
                config = replace(config, episodes=4 + size // 500, steps=4, batch=8, problems=1)
            name = f"painting-{kind}{'-labels' * labels}-{size}-seed{seed}"
            runs.append(ExperimentRun(name, measure_baseline, config))
    return runs


def unseen_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[Any]]:
    """A run per seed, with goals of all kinds."""
    return runs_with("unseen", seeds, quick, UNSEEN, blocks=FULLER, bowls=FULLER)


def hard_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[Any]]:
    """A run per setting and seed: fuller tables, and boxes in which something lies."""
    return [
        run
        for (blocks, clutter), kinds in HARD.items()
        for run in runs_with(
            f"hard-{blocks}-{clutter}",
            seeds,
            quick,
            kinds,
            HARD_PROBLEMS,
            blocks=blocks,
            bowls=MOST_BOWLS,
            clutter=clutter,
        )
    ]


def noise_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[Any]]:
    """A run per setting of noise and seed: pairs, and towers, which noise topples."""
    runs = []
    for lost, placement in product(LOST_GRIPS, PLACEMENT_NOISES):
        name, kinds = f"noise-{placement * 1000:g}mm-{lost:g}", (PAIR, "tower of three")
        noise: dict[str, Any] = {"placement_noise": placement, "lost_grips": lost}
        runs += runs_with(name, seeds, quick, kinds, NOISY_PROBLEMS, **noise)
    return runs


def image_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[Any]]:
    """A run per way in which pictures are made, and seed."""
    return [run for mode in MODES for run in runs_with(mode, seeds, quick, training={"images": mode})]


def light(config: PaintingLightConfig) -> dict[str, Any]:
    """Train one model and let it name colours."""
    from pdsketch_paper.experiments.painting import measure_light

    return measure_light(config)


def light_runs(seeds: Seeds, quick: bool) -> list[ExperimentRun[PaintingLightConfig]]:
    """A run per seed, of the model of fewest demonstrations."""
    small: dict[str, Any] = {"episodes": 4, "steps": 6, "batch": 16} if quick else {}
    configs = {}
    for seed, (name, brightness) in product(seeds_for(seeds, FRESH[:5], quick), AUGMENTED.items()):
        training = PaintingTraining(**{"episodes": FEW, "seed": seed, "brightness": brightness, **small})
        configs[f"painting-light{name}-seed{seed}"] = PaintingLightConfig(training, LIT_TABLES, LIGHTS)
    return runs_of(light, configs, quick, tables=2)


def _models(records: Records) -> Records:
    return [record for record in records if "train" in record["config"]]


def _note(records: Records, more: str) -> str:
    models = _models(records)
    search = models[0]["config"]["search"]
    how = f"{search['search']} with `{search['heuristic']}`, at most {search['max_expansions']} expansions"
    return f"{seeds_of(models)}; {more} {how} a plan. {made_by(records)}"


def _tried(records: Records) -> str:
    config = _models(records)[0]["config"]
    blocks, bowls = (config[what] or config["train"][what] for what in ("blocks", "bowls"))
    return f"{config['problems']} held-out tables a goal and seed, with {blocks} blocks and {bowls} bowls."


def main_table(records: Records) -> ResultTable:
    """Success on the demonstrated kind of goal, by number of demonstrations."""
    sizes = every(_models(records), "episodes")
    by_size = [select(records, episodes=size) for size in sizes]
    rows = [
        (
            f"{title}, {loop} loop",
            *(rate(values_at(some, PAIR, loop, "success", method=asdict(method))) for some in by_size),
        )
        for title, method in METHODS.values()
        for loop in _LOOPS
    ]
    rows += [
        (
            name + ", told what the models are" * labels,
            *(rate(values_at(some, "success", kind=kind, labels=labels)) for some in by_size),
        )
        for kind, name in AGENTS.items()
        for labels in (False, True)
    ]
    rows.append(("PDS (paper, open loop)", *(PRINTED.get(size, "–") for size in sizes)))
    if tuple(sizes) == SIZES:
        rows += [(name, "–", *printed) for name, *printed in PAPER_BASELINES]
    head = ("model", *(f"@{size}" for size in sizes))
    note = _note(records, f"{_tried(records)} Agents see the world after each action.")
    return ResultTable("Painting Factory: planning success", note, head, tuple(rows))


def unseen_table(records: Records) -> ResultTable:
    """By kind of goal that was never demonstrated: success, lengths and expansions."""
    rows = tuple(
        (
            kind,
            *(rate(values_at(records, kind, loop, "success")) for loop in _LOOPS),
            PAPER_UNSEEN[kind],
            spread(values_at(records, kind, "open", "planned")),
            spread(values_at(records, kind, "closed", "steps"), 1),
            spread(values_at(records, kind, "closed", "replans"), 1),
            spread(values_at(records, kind, "open", "expanded"), 0),
        )
        for kind in UNSEEN
    )
    episodes = records[0]["config"]["train"]["episodes"]
    more = f"learned from {episodes:,} demonstrations of pairs; {_tried(records)}"
    head = ("goal", "open loop", "closed loop", "paper, open", "plans found", "steps", "replans", "expanded")
    return ResultTable("Painting Factory: goals of unseen kinds", _note(records, more), head, rows)


def hard_table(records: Records) -> ResultTable:
    """By setting: success, and what it takes."""
    rows = []
    for (blocks, clutter), kind in ((key, kind) for key, kinds in HARD.items() for kind in kinds):
        own = select(records, blocks=blocks, clutter=clutter)
        cells = (rate(values_at(own, kind, loop, "success")) for loop in _LOOPS)
        more = (spread(values_at(own, kind, "closed", what), 1) for what in ("replans", "expanded"))
        rows.append((kind, str(blocks), str(clutter), *cells, *more))
    head = ("goal", "blocks", "of them in the box", "open loop", "closed loop", "replans", "expanded")
    problems, train = records[0]["config"]["problems"], records[0]["config"]["train"]
    more_ = (
        f"learned from {train['episodes']:,} demonstrations of pairs, with {train['blocks']} blocks and"
        f" {train['bowls']} bowls; {problems} held-out tables a row and seed, with {MOST_BOWLS} bowls."
    )
    return ResultTable("Painting Factory: fuller tables", _note(records, more_), head, tuple(rows))


def noise_table(records: Records) -> ResultTable:
    """By noise of the controller: success of pairs and towers in both loops."""
    kinds = records[0]["config"]["goals"]
    rows = []
    for lost in LOST_GRIPS:
        for placement in PLACEMENT_NOISES:
            own = select(records, placement_noise=placement, lost_grips=lost)
            cells = [rate(values_at(own, kind, loop, "success")) for kind in kinds for loop in _LOOPS]
            again = spread(values_at(own, kinds[-1], "closed", "replans"), 1)
            rows.append((f"{placement * 100:g} cm", f"{lost:.0%}", *cells, again))
    head = (
        "placement noise",
        "lost grips",
        *(f"{kind}, {loop} loop" for kind in kinds for loop in _LOOPS),
        f"replans, {kinds[-1]}",
    )
    more = f"learned from demonstrations without such noise; {_tried(records)}"
    return ResultTable("Painting Factory: noise of the controller", _note(records, more), head, tuple(rows))


def noise_plot(records: Records, path: Path) -> None:
    """Success against placement noise: a panel per kind of goal, in it the loops and parts of lost grips."""
    panels: dict[str, dict[str, Curves]] = {}
    for kind, loop, lost in product(records[0]["config"]["goals"], _LOOPS, LOST_GRIPS):
        own = select(records, lost_grips=lost)
        panels.setdefault(kind, {})[f"{loop} loop, {lost:.0%} of grips lost"] = by_seed(
            {
                noise * 100: values_at(own, kind, loop, "success", placement_noise=noise)
                for noise in PLACEMENT_NOISES
            }
        )
    plot_lines(panels, path, x="placement noise (cm)", y="success")


def image_table(records: Records) -> ResultTable:
    """Trained and tried on pictures of either kind: success and what it takes."""
    rows = []
    for mode in MODES:
        values = partial(values_at, records, PAIR, images=mode)
        success = (rate(values(loop, "success")) for loop in _LOOPS)
        rows.append((mode, *success, spread(values("open", "planned"))))
    head = ("pictures", "open loop", "closed loop", "plans found")
    title = "Painting Factory: pictures of MuJoCo's and of our own"
    return ResultTable(title, _note(records, _tried(records)), head, tuple(rows))


def light_table(records: Records) -> ResultTable:
    """By light: the part of crops whose colour is named as it is."""
    lights, crops = list(records[0]["result"]), next(iter(records[0]["result"].values()))["crops"]
    kinds = [select(records, brightness=brightness) for brightness in AUGMENTED.values()]
    rows = [
        (f"± {float(name):.0%}", *(spread(values_at(own, name, "agreement")) for own in kinds))
        for name in lights
    ]
    train = records[0]["config"]["train"]
    note = (
        f"Learned from {train['episodes']:,} demonstrations in light of ± 10%; {crops:,} crops of held-out"
        f" tables a light and seed: the model calls the block's colour true, and the seven others false."
        f" {made_by(records)}"
    )
    title = "Painting Factory: colours in changed light"
    head = ("brightness and lamp", "agreement", f"trained with brightness ± {AUGMENTED['-augmented']:.0%}")
    return ResultTable(title, note, head, tuple(rows))


_WORLD = ("blocks", "bowls")

EXPERIMENTS: dict[str, Experiment] = {
    "painting-main": Experiment(main_runs, main_table, options=_WORLD),
    "painting-unseen": Experiment(unseen_runs, unseen_table, options=_WORLD),
    "painting-hard": Experiment(hard_runs, hard_table, options=_WORLD),
    "painting-noise": Experiment(noise_runs, noise_table, noise_plot, options=_WORLD),
    "painting-images": Experiment(image_runs, image_table, options=_WORLD),
    "painting-light": Experiment(light_runs, light_table, options=_WORLD),
}
"""What ``pdsketch reproduce`` knows of the Painting Factory."""
