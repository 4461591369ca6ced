"""The tables of the Painting Factory: which runs each needs, and how their results become rows."""

from __future__ import annotations

from typing import Any

from pdsketch.experiments.experiment import Experiment
from pdsketch.experiments.painting_config import PaintingConfig, PaintingSearch, PaintingTraining
from pdsketch.experiments.runs import ExperimentRun
from pdsketch.experiments.tables import Records, ResultTable, made_by, spread

SIZES = (100, 1000)

PROBLEMS, UNSEEN_PROBLEMS = 100, 10
"""Held-out tables for each seed: of the demonstrated kind of goal, and of each other kind."""

PAPER = {100: "0.91", 1000: "0.99"}
PAPER_BASELINES = (("BC (paper)", "0.70", "0.95"), ("DT (paper)", "0.56", "0.97"))
PAPER_UNSEEN = {"row of three": "0.99", "all painted": "0.98", "tower of three": "0.87"}
"""What the paper reports, for three kinds of goals that its figure shows: more objects, `forall`, stacks."""

_LOOPS = ("open", "closed")


def measure(config: PaintingConfig) -> dict[str, Any]:
    """Train one model and try it on everything that the config asks for."""
    from pdsketch.envs.painting.goals import PAIR, UNSEEN
    from pdsketch.experiments.painting import measure_painting, painting_seeds, train_painting

    model, _ = train_painting(config.train)
    found: dict[str, Any] = {}
    train = config.train
    if config.problems:
        seeds = painting_seeds(config.problems, train.seed)
        found[PAIR] = measure_painting(model, seeds, config.search, blocks=train.blocks, bowls=train.bowls)
    if config.unseen:
        seeds = painting_seeds(config.unseen, train.seed)
        fuller = {"blocks": config.unseen_blocks, "bowls": config.unseen_bowls}
        found["unseen"] = {
            kind: measure_painting(model, seeds, config.search, goals=kind, **fuller) for kind in UNSEEN
        }
    return found


def _run(size: int, seed: int, quick: bool, unseen: bool) -> ExperimentRun[PaintingConfig]:
    name = f"painting-{size}-seed{seed}"
    if quick:
        little = PaintingTraining(4 + size // 500, seed, steps=6, batch=16)
        search = PaintingSearch(max_expansions=4)
        config = PaintingConfig(little, search, problems=2, unseen=int(unseen))
    else:
        asked = UNSEEN_PROBLEMS if unseen else 0
        config = PaintingConfig(
            PaintingTraining(size, seed), problems=0 if unseen else PROBLEMS, unseen=asked
        )
    return ExperimentRun(name, measure, config)


def main_runs(seeds: int, quick: bool) -> list[ExperimentRun[PaintingConfig]]:
    """A run per number of demonstrations and seed."""
    return [_run(size, seed, quick, False) for size in SIZES for seed in range(seeds)]


def unseen_runs(seeds: int, quick: bool) -> list[ExperimentRun[PaintingConfig]]:
    """A run per seed, of the model of fewest demonstrations, which takes minutes to train."""
    return [_run(SIZES[0], seed, quick, True) for seed in range(seeds)]


def _note(records: Records, more: str) -> str:
    seeds = sorted({record["config"]["train"]["seed"] for record in records})
    search = records[0]["config"]["search"]
    how = f"{search['search']} with `{search['heuristic']}`, at most {search['max_expansions']} expansions"
    return f"Seeds {', '.join(map(str, seeds))}; {more} {how} a plan. {made_by(records)}"


def main_table(records: Records) -> ResultTable:
    """Success on the demonstrated kind of goal, by number of demonstrations."""
    sizes = sorted({record["config"]["train"]["episodes"] for record in records})

    def values(size: int, loop: str) -> list[float]:
        here = [record for record in records if record["config"]["train"]["episodes"] == size]
        return [record["result"]["pair"][loop]["success"] for record in here]

    rows = [(f"PDS, {loop} loop", *(spread(values(size, loop)) for size in sizes)) for loop in _LOOPS]
    rows.append(("PDS (paper, open loop)", *(PAPER.get(size, "–") for size in sizes)))
    if tuple(sizes) == SIZES:
        rows += PAPER_BASELINES
    config = records[0]["config"]
    more = (
        f"{config['problems']} held-out tables a seed, with {config['train']['blocks']} blocks and "
        f"{config['train']['bowls']} bowls as in the demonstrations."
    )
    head = ("model", *(f"@{size}" for size in sizes))
    return ResultTable("Painting Factory: planning success", _note(records, more), head, tuple(rows))


def unseen_table(records: Records) -> ResultTable:
    """By kind of goal that was never demonstrated: success, lengths and expansions."""

    def values(kind: str, loop: str, what: str) -> list[float]:
        return [record["result"]["unseen"][kind][loop][what] for record in records]

    rows = tuple(
        (
            kind,
            *(spread(values(kind, loop, "success")) for loop in _LOOPS),
            PAPER_UNSEEN[kind],
            spread(values(kind, "open", "planned")),
            spread(values(kind, "closed", "steps"), 1),
            spread(values(kind, "closed", "replans"), 1),
            spread(values(kind, "open", "expanded"), 0),
        )
        for kind in records[0]["result"]["unseen"]
    )
    config = records[0]["config"]
    more = (
        f"learned from {config['train']['episodes']:,} demonstrations of pairs; {config['unseen']} tables a "
        f"kind and seed, with {config['unseen_blocks']} blocks and {config['unseen_bowls']} bowls."
    )
    head = ("goal", "open loop", "closed loop", "paper, open", "plans found", "steps", "replans", "expanded")
    return ResultTable("Painting Factory: goals of unseen kinds", _note(records, more), head, rows)


_WORLD = ("blocks", "bowls")

EXPERIMENTS: dict[str, Experiment] = {
    "painting-main": Experiment(main_runs, main_table, options=_WORLD),
    "painting-unseen": Experiment(unseen_runs, unseen_table, options=_WORLD),
}
"""What ``pdsketch reproduce`` knows of the Painting Factory."""
