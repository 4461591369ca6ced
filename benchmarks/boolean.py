"""Boolean domains as problems and as models: ``python benchmarks/boolean.py DIR [--learn STEPS]``.

DIR holds folders with a ``domain.pddl`` and problems ``p*.pddl``. Each problem is planned for in three ways:
as a problem; through a `Model` of the same domain, which has no blanks; and through a model that does not
know what its actions write, whose blanks have exact functions, or are learned from 500 random tries in each
of p01 and p02 with ``--learn``. Times are CPU seconds of one thread in a warm process: of the first plan of a
model for such a problem (its rules are made, and what it grounds), and of the next. Where a cell is empty, no
plan was found in 60 seconds. Plans of the second model are carried out by an interpreter that shares no code
with the library: ``!`` marks one that fails.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

import pdsketch as pds
from sketch_tasks.pddl import World, read
from sketch_tasks.published import TRIES, Sketch, recorded, tries

LIMIT = 60.0
WAYS = ("model", "again", "blanks", "blanks again")


def timed(target, *rest):
    """CPU seconds and steps of a plan; None where there is none."""
    started = time.process_time()
    result = (
        pds.plan(target, *rest, time_limit=LIMIT, threads=1) if rest else pds.plan(target, time_limit=LIMIT)
    )
    return (time.process_time() - started if result.solved else None), result


def succeeds(world, plan):
    """Whether a plan reaches the goal in the exact domain."""
    facts = world.first
    for action in plan:
        facts = world.simulate(facts, action)
        if facts is None:
            return False
    return world.holds(world.goal, facts, {})


def blank(folder, steps, seed):
    """A sketch of a domain that does not know what its actions write, and its model."""
    paths = sorted(folder.glob("p*.pddl"))
    worlds = [World(read(folder / "domain.pddl"), read(path)) for path in paths]
    sketch = Sketch(worlds[0], "V1")
    if not steps:
        return sketch, worlds, pds.Model(sketch.domain, modules=sketch.exact)
    rng = np.random.default_rng([seed, 7])
    drawn = [(w, tries(w, TRIES // 2, rng)) for w in worlds[:2]]
    model = pds.Model(sketch.domain, seed=seed)
    episodes = [episode for w, found in drawn for episode in recorded(sketch, w, found, rng)]
    pds.fit(model, episodes, steps=steps, seed=seed, progress=False)
    return sketch, worlds, model


def measured(folder, steps, seed):
    """A row for each problem of a domain."""
    domain = pds.load_domain(folder / "domain.pddl")
    sketch, worlds, learned = blank(folder, steps, seed)
    exact = pds.Model(domain)
    for path, world in zip(sorted(folder.glob("p*.pddl")), worlds, strict=True):
        problem = pds.load_problem(path, domain)
        row = {"problem": f"{folder.name} {path.stem}", "objects": len(problem.universe)}
        timed(problem)
        row["as a problem"], _ = timed(problem)
        row["model"], _ = timed(exact, problem.state, problem.goal)
        row["again"], _ = timed(exact, problem.state, problem.goal)
        asked = learned, sketch.states(world)(world.first), sketch.goal_of(world)
        row["blanks"], found = timed(*asked)
        row["blanks again"], _ = timed(*asked)
        row["fails"] = found.plan is not None and not succeeds(world, found.plan)
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--only", default="", metavar="TEXT", help="domains whose name holds TEXT")
    parser.add_argument("--learn", type=int, default=0, metavar="STEPS", help="learn the blanks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    print("\t".join(["problem", "objects", "as a problem", *WAYS]))
    for path in sorted(args.folder.glob("*/domain.pddl")):
        if args.only not in path.parent.name:
            continue
        for row in measured(path.parent, args.learn, args.seed):
            rows.append(row)
            cells = [row[way] for way in ("as a problem", *WAYS)]
            shown = ["" if cell is None else f"{cell:.3f}" for cell in cells]
            print(
                "\t".join([row["problem"], str(row["objects"]), *shown]) + "!" * row["fails"],
                flush=True,
            )
    for way in WAYS:
        ratios = [row[way] / row["as a problem"] for row in rows if row[way] and row["as a problem"]]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            print(f"{way}: {mean:.2f} times the problem's, at most {max(ratios):.1f}; {len(ratios)} solved")
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
