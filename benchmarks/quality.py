"""Does the library still learn as well as it did? Some of the benchmarks beside the figures that are kept.

    python benchmarks/quality.py --jobs 2              # `make quality`: compare with benchmarks/quality.json
    python benchmarks/quality.py --write               # keep this code's figures instead
    python benchmarks/quality.py --write --seeds 3     # and measure how far each differs between seeds
    python benchmarks/quality.py --only latent --go-on

A row is one figure between 0 and 1: a whole sketch (`sketches.py`: the mean of
steps, goals and plans in larger scenes), a small task (`zoo.py`), the part of
problems solved by the model of `latent.py`, success in BabyAI from 100
demonstrations, success of painting, and one fit with the paper's losses. A row
that falls by more than its tolerance is named, and the command exits with 1.

The sketches are of the half by which settings may be chosen: whoever looks at
these figures while changing the learner does not spend the other half.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

EXPERIMENTS = "pdsketch_paper.experiments"
"""The package of the paper's experiments."""
KEPT = Path(__file__).with_name("quality.json")
UNFINISHED = Path("build/quality-unfinished.json")
"""What an interrupted run had found, for ``--go-on``."""

SKETCHES = (
    "wall-blocks",
    "walls-four",
    "push-row",
    "keys-fit",
    "between",
    "kinds-of-goals",
    "at-least-two",
    "exactly-one",
    "all-lamps",
    "recipes",
    "charge",
    "boxes",
    "rare-refusals",
    "executions-alone",
    "never-tried",
    "same-object-twice",
    "either-or-both",
    "random-walks",
)
ZOO = (
    ("colour", 100),
    ("near", 100),
    ("facing", 1000),
    ("two-warm", 1000),
    ("table-5x5", 1000),
    ("step-by-direction", 1000),
    ("gated-next-mod-8", 1000),
    ("locked-door", 1000),
    ("blocked-step", 1000),
    ("red-and-big", 1000),
)
PAPER = "all-lamps"
"""The sketch that is also learned with ``paper=True``."""
PROBLEMS = {"latent": 200, "babyai": 100, "painting": 20}
"""How many problems a model is tried on."""
TOLERANCE = {"sketch": 0.05, "zoo": 0.02, "latent": 0.03, "babyai": 0.04, "painting": 0.05, "paper": 0.05}
"""How far a figure may fall, by the kind of its row: four problems of BabyAI, one of painting. Set by hand;
what differs more between seeds, by ``--write --seeds 3``, may fall as far as that."""


# -- what is measured ------------------------------------------------------------------------------------


def sketch(name: str, seed: int, **options: Any) -> float:
    """A whole sketch, learned with the defaults: the mean of its three figures."""
    import sketches

    found = sketches.measure(sketches.TASKS[name], seed, "default", options)
    return float(np.mean([found[part] for part in sketches.PARTS]))


def paper(name: str, seed: int) -> float:
    """The same with the losses and the logic of the paper."""
    return sketch(name, seed, paper=True)


def zoo(name: str, seed: int) -> float:
    """A small task, from so many examples."""
    import zoo as suite

    task, size = name.split("@")
    return float(np.mean(list(suite.run((task, int(size), seed, "ours", 2000, {}))["scores"].values())))


def latent(name: str, seed: int) -> float:
    """The part of problems near by that the model of random walks solves."""
    import latent as search

    moves = tuple(name.split("-"))
    domain = search.sketch(moves)
    functions = {k: f for k, f in search.exact_modules("abs").items() if k in domain.blanks}
    exact = search.pds.Model(domain, functions)
    model = search.pds.Model(domain, seed=seed)
    episodes = search.walks(exact, 800, 4, random.Random(seed))
    search.pds.fit(model, episodes, steps=800, seed=seed)
    return float(search.problems(model, exact, PROBLEMS["latent"], 4, 16)["solved"])


def babyai(name: str, seed: int) -> float:
    """Success of closed-loop acting with a sketch learned from so many demonstrations."""
    experiment = import_module(f"{EXPERIMENTS}.babyai")
    own, episodes = name.split("@")
    model, _ = experiment.train(experiment.TrainConfig(sketch=own, episodes=int(episodes), seed=seed))
    seeds = experiment.held_out(PROBLEMS["babyai"], seed)
    return float(experiment.both_loops(model, seeds, experiment.SearchConfig())["closed"]["success"])


def painting(name: str, seed: int) -> float:
    """Success of blind acting in the Painting Factory, learned from so many demonstrations."""
    experiment = import_module(f"{EXPERIMENTS}.painting")
    model, _ = experiment.train_painting(experiment.PaintingTraining(episodes=int(name), seed=seed))
    seeds = experiment.painting_seeds(PROBLEMS["painting"], seed)
    return float(experiment.measure_painting(model, seeds, experiment.PaintingSearch())["open"]["success"])


MEASURES: Mapping[str, Callable[[str, int], float]] = {
    "painting": painting,
    "babyai": babyai,
    "latent": latent,
    "sketch": sketch,
    "paper": paper,
    "zoo": zoo,
}
ROWS = (
    "painting 100",
    "babyai abs@100",
    "babyai rob@100",
    "latent lturn-rturn-forward",
    *[f"sketch {name}" for name in SKETCHES],
    f"paper {PAPER}",
    *[f"zoo {name}@{size}" for name, size in ZOO],
)
"""All rows, those that take longest first."""


# -- comparing -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What became of a row; ``by`` is how far its figure rose."""

    row: str
    kept: float | None
    found: float
    tolerance: float

    @property
    def by(self) -> float:
        """How far the figure rose; below 0, fell."""
        return 0.0 if self.kept is None else self.found - self.kept

    @property
    def word(self) -> str:
        """``fell``, ``rose``, ``new``, or nothing."""
        if self.kept is None:
            return "new"
        if abs(self.by) <= self.tolerance + 1e-9:
            return ""
        return "rose" if self.by > 0 else "FELL"


def compare(kept: Mapping[str, Mapping[str, float]], found: Mapping[str, float]) -> list[Verdict]:
    """Each figure beside the one that is kept."""
    return [
        Verdict(
            row,
            kept[row]["figure"] if row in kept else None,
            figure,
            kept[row]["tolerance"] if row in kept else TOLERANCE[row.split()[0]],
        )
        for row, figure in found.items()
    ]


def table(verdicts: Sequence[Verdict]) -> str:
    """The rows as Markdown, and what they come to."""
    lines = ["| row | kept | now | tolerance | |", "|---|---|---|---|---|"]
    for one in verdicts:
        kept = "" if one.kept is None else f"{one.kept:.3f}"
        lines.append(f"| {one.row} | {kept} | {one.found:.3f} | {one.tolerance:.3f} | {one.word} |")
    fallen = [one for one in verdicts if one.word == "FELL"]
    risen = [one for one in verdicts if one.word == "rose"]
    lines += [
        "",
        f"{len(fallen)} of {len(verdicts)} rows fell"
        + "".join(f"\n  {one.row}: {one.kept:.3f} → {one.found:.3f}" for one in fallen),
        f"{len(risen)} rose" + "".join(f"\n  {one.row}: {one.kept:.3f} → {one.found:.3f}" for one in risen),
    ]
    return "\n".join(lines)


def keeping(found: Mapping[str, Mapping[int, float]]) -> dict[str, dict[str, float]]:
    """What is kept of figures by seed: that of seed 0, and how far the others are off at most."""
    kept = {}
    for row, figures in found.items():
        spread = max(figures.values()) - min(figures.values())
        tolerance = max(TOLERANCE[row.split()[0]], spread)
        kept[row] = {"figure": round(figures[0], 4), "tolerance": round(tolerance, 4), "seeds": len(figures)}
    return kept


# -- the command -----------------------------------------------------------------------------------------


def measure(row: str, seed: int) -> tuple[float, float]:
    """The figure of a row, and the CPU seconds that it took."""
    torch.set_num_threads(1)
    started = time.process_time()
    kind, name = row.split(" ", 1)
    return MEASURES[kind](name, seed), time.process_time() - started


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", metavar="WORD", help="rows that hold one of these words")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", action="store_true", help="keep what is found")
    parser.add_argument("--seeds", type=int, default=1, help="with --write: as many, for the tolerances")
    parser.add_argument("--go-on", action="store_true", help="keep what an interrupted run had found")
    return parser.parse_args()


def main() -> int:
    """Measure, compare or keep."""
    args = parsed()
    rows = [row for row in ROWS if not args.only or any(word in row for word in args.only)]
    found: dict[str, dict[int, float]] = {}
    if args.go_on and UNFINISHED.exists():
        held = json.loads(UNFINISHED.read_text())
        found = {row: {int(s): x for s, x in held[row].items()} for row in rows if row in held}
    seeds = range(args.seeds if args.write else 1)
    jobs = [(row, seed) for seed in seeds for row in rows if seed not in found.get(row, {})]

    def keep(row: str, seed: int, figure: float, seconds: float, at: int) -> None:
        found.setdefault(row, {})[seed] = figure
        UNFINISHED.parent.mkdir(parents=True, exist_ok=True)
        UNFINISHED.write_text(json.dumps(found, indent=1))
        print(f"{at} of {len(jobs)}: {row} {figure:.3f} ({seconds:.0f} s)", file=sys.stderr, flush=True)

    if args.jobs == 1:
        for at, (row, seed) in enumerate(jobs, 1):
            keep(row, seed, *measure(row, seed), at)
    else:
        with ProcessPoolExecutor(args.jobs) as pool:
            waiting = {pool.submit(measure, *job): job for job in jobs}
            for at, future in enumerate(as_completed(waiting), 1):
                keep(*waiting[future], *future.result(), at)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    verdicts = compare(kept, {row: found[row][0] for row in rows})
    print(table(verdicts))
    if args.write:
        merged = {**kept, **keeping({row: found[row] for row in rows})}
        KEPT.write_text(json.dumps({row: merged[row] for row in ROWS if row in merged}, indent=1) + "\n")
        return 0
    UNFINISHED.unlink(missing_ok=True)
    return int(any(one.word == "FELL" for one in verdicts))


if __name__ == "__main__":
    sys.exit(main())
