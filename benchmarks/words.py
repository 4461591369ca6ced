"""Are the blanks of BabyAI's sketches learned exactly, and does the report say which are not? One table.

    python benchmarks/words.py                        # ten seeds from 100 demonstrations, five from 30
    python benchmarks/words.py --jobs 16 --json words.json
    python benchmarks/words.py --seeds 1000-1009 --demos 100 --sketches abs

Each row is one model with the defaults of the paper's experiments: the part of
problems that it solves when it acts with replanning, as Minigrid judges. Then
each blank is asked what the exact functions are asked in scenes of 1,000 fresh
rooms, by all predicates and by all actions. A blank that says something else
anywhere is *wrong*; the report should call it *undecided* or *thin* (`DOUBTS`).
Few of those that are right should be called so.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import pdsketch as pds
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.modules import exact_modules
from pdsketch_paper.experiments import babyai

DOUBTS = ("undecided", "thin")
SCENES = 1000
PROBLEMS = 100
NEAR = 0.3
"""Poses are whole numbers: nearer than this is the same."""
AIMS = {100: 0.99, 30: 0.9}
"""Mean success, by demonstrations."""
MOST_DOUBTED = 0.1
"""The part of right blanks that may be doubted."""

Job = tuple[str, int, int]
"""A sketch, demonstrations, and a seed."""


def scenes(domain: Any, seed: int, count: int) -> Any:
    """States of as many rooms, one of each, somewhere on the way of an expert."""
    rng = np.random.default_rng(seed)
    episodes = BabyAIWorld(sketch=domain).demonstrations(count, seed, split="words")
    return pds.StateBatch.of([one.states[rng.integers(len(one.states))] for one in episodes])


class Asked:
    """An exact function that remembers what it is asked."""

    def __init__(self, exact: Callable[..., Tensor]) -> None:
        self.exact = exact
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any) -> Tensor:
        """Its answer."""
        self.calls.append(args)
        return self.exact(*args)


@torch.no_grad()
def asked(sketch: str, domain: Any, states: Any) -> dict[str, Asked]:
    """What each blank is asked in some states, by all predicates and all actions."""
    found = {name: Asked(exact) for name, exact in exact_modules(sketch).items()}
    model = pds.Model(domain, modules=found)
    for name, predicate in domain.predicates.items():
        if predicate.role == "derived" and predicate.type.is_bool:
            variables = [p.name for p in predicate.parameters]
            over = " ".join(f"{p.name} - {p.type}" for p in predicate.parameters)
            model.holds(states, f"(exists ({over}) ({name} {' '.join(variables)}))", crisp=True)
    for name in domain.actions:
        model.step(states, (name, "agent"), crisp=True)
    return {name: one for name, one in found.items() if name in domain.blanks}


@torch.no_grad()
def wrong(model: Any, name: str, exact: Asked) -> float:
    """The part of inputs on which a blank says something else."""
    returns, bad, count = model.domain.blanks[name].returns, 0, 0
    for args in exact.calls or [()]:
        said = model.blanks.network(name)(*args)
        wanted = exact.exact(*args).to(torch.float32).reshape(said.shape)
        if returns.choices is not None:
            off = said.argmax(-1) != wanted.argmax(-1)
        elif returns.prim == "bool":
            off = (said > 0.5) != (wanted > 0.5)
        else:
            off = (said - wanted).abs() > NEAR
        own = len(returns.shape or ()) + (not returns.shape and returns.choices is None)
        each = off.flatten(-own).any(-1) if own else off
        bad, count = bad + int(each.sum()), count + each.numel()
    return bad / max(1, count)


def run(job: Job) -> dict[str, Any]:
    """Fit one model, let it act, and compare its blanks."""
    torch.set_num_threads(1)
    sketch, demos, seed = job
    started = time.process_time()
    model, report = babyai.train(babyai.TrainConfig(sketch=sketch, episodes=demos, seed=seed))
    fitted = time.process_time() - started
    problems = babyai.held_out(PROBLEMS, seed)
    acted = babyai.both_loops(model, problems, babyai.SearchConfig())
    exact = asked(sketch, model.domain, scenes(model.domain, seed, SCENES))
    return {
        "sketch": sketch,
        "demos": demos,
        "seed": seed,
        "success": acted["closed"]["success"],
        "open": acted["open"]["success"],
        "steps": report.steps,
        "fit_cpu": round(fitted, 1),
        "blanks": {
            name: {
                "wrong": wrong(model, name, one),
                "verdict": report.blanks[name].verdict,
                "form": str(model.forms.get(name, "network")),
            }
            for name, one in exact.items()
        },
    }


# -- the table -------------------------------------------------------------------------------------------


def table(rows: Sequence[dict[str, Any]]) -> str:
    """All models as Markdown, what they come to, and each blank that is wrong."""
    lines = [
        "| sketch | demonstrations | seed | success | blanks wrong | of these doubted | right ones doubted "
        "| CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ordered = sorted(rows, key=lambda row: (row["sketch"], -row["demos"], row["seed"]))
    for row in ordered:
        bad, told, right, doubted = counts([row])
        cells = [row["sketch"], row["demos"], row["seed"], f"{row['success']:.2f}"]
        cells += [bad, told, f"{doubted} of {right}", f"{row['fit_cpu']:.0f}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines.append("")
    for sketch, demos in dict.fromkeys((row["sketch"], row["demos"]) for row in ordered):
        some = [row for row in rows if (row["sketch"], row["demos"]) == (sketch, demos)]
        bad, told, right, doubted = counts(some)
        success = [row["success"] for row in some]
        lines.append(
            f"{sketch}, {demos} demonstrations, {len(some)} seeds: success {np.mean(success):.3f} (least "
            f"{min(success):.2f}, aim {AIMS.get(demos, 0.0)}); {bad} blanks are wrong, {told} of them are "
            f"doubted; of {right} right ones {doubted} are ({doubted / max(1, right):.0%}, at most "
            f"{MOST_DOUBTED:.0%})"
        )
    lines.append("")
    for row in ordered:
        for name, one in row["blanks"].items():
            doubted = one["verdict"] in DOUBTS
            if one["wrong"] or doubted:
                lines.append(
                    f"{row['sketch']} {row['demos']} {row['seed']} {name}: wrong on {one['wrong']:.4f}, "
                    f"{one['verdict']}: {one['form'][:150]}"
                )
    return "\n".join(lines)


def counts(rows: Sequence[dict[str, Any]]) -> tuple[int, int, int, int]:
    """Of the blanks of some models: how many are wrong, and doubted of these; right, and doubted of these."""
    blanks = [one for row in rows for one in row["blanks"].values()]
    bad = [one["verdict"] in DOUBTS for one in blanks if one["wrong"]]
    good = [one["verdict"] in DOUBTS for one in blanks if not one["wrong"]]
    return len(bad), sum(bad), len(good), sum(good)


# -- the command -----------------------------------------------------------------------------------------


def seeds_of(text: str) -> list[int]:
    """``3`` or ``0-9``."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main() -> None:
    """Run, show the table, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("0-9"), help="as in 0-9")
    parser.add_argument("--demos", type=int, nargs="*", default=[100, 30])
    parser.add_argument("--sketches", nargs="*", choices=("abs", "rob"), default=["abs", "rob"])
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go, as they come")
    args = parser.parse_args()
    jobs: list[Job] = [
        (sketch, demos, seed)
        for demos in args.demos
        for sketch in args.sketches
        for seed in (args.seeds if demos >= 100 else args.seeds[: (len(args.seeds) + 1) // 2])
    ]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(args.jobs) as pool:
        for future in as_completed([pool.submit(run, job) for job in jobs]):
            row = future.result()
            rows.append(row)
            print(f"{len(rows)} of {len(jobs)}: {row['sketch']}@{row['demos']}, seed {row['seed']}: "
                  f"{row['success']:.2f}", file=sys.stderr, flush=True)  # fmt: skip
            if args.json:
                args.json.write_text(json.dumps(rows, indent=1))
    print(table(rows))


if __name__ == "__main__":
    main()
