"""Exported abstractions beside Fast Downward: ``python benchmarks/export.py MODEL --peers PYTHON``.

For each of the problems, BabyAI missions in rooms with so many things and doors, the model's abstraction
is exported to PDDL and solved optimally (A* with the blind heuristic) by Fast Downward and by pdsketch,
both from the files; and by A* in the model itself, which knows nothing of the abstraction. The plans are
read back as steps of the model, replayed through it, and taken in Minigrid, which says whether the
mission is accomplished.

MODEL is a trained PDS-Abs, or ``exact``: exact functions in its blanks. ``--peers`` is an interpreter that
has the PyPI package up-fast-downward; without one, Fast Downward is left out. Seconds are CPU seconds a
problem: Fast Downward's of its translator and its search, with the interpreter's start; ours in one warm
process.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pdsketch as pds
from classical import WHERE, command
from pdsketch.lang.steps import Step, write_plan
from pdsketch.lang.validator import validate
from pdsketch_paper.babyai.modules import exact_modules

PLANNERS = ("Fast Downward", "pdsketch", "the model")


@dataclass
class Run:
    """One planner on one problem; ``valid`` by the reference semantics of the files."""

    planner: str
    seed: int
    cost: float | None = None
    expanded: int | None = None
    seconds: float = 0.0
    valid: bool = False
    replayed: bool = False
    success: bool = False
    plan: list[Step] = field(default_factory=list)


def fast_downward(peers: str, folder: Path, limit: float, run: Run) -> Path | None:
    """Solve the files in a folder; where the plan was written."""
    where = [peers, "-c", WHERE.format("up_fast_downward")]
    home = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
    downward = Path(home, "downward", "builds", "release", "bin", "downward")
    files = [str(folder / name) for name in ("domain.pddl", "problem.pddl")]
    sas, plan = folder / "output.sas", folder / "sas_plan"
    translate = [peers, "-m", "fast_downward.translate", *files, "--sas-file", str(sas)]
    code, out, first, _ = command(translate, limit)
    if code != 0:
        raise SystemExit(f"Fast Downward does not read {folder}: {out[-400:]}")
    search = [str(downward), "--search", "astar(blind())", "--internal-plan-file", str(plan)]
    code, out, second, _ = command(search, limit, sas)
    run.seconds = first + second
    expanded = re.search(r"Expanded (\d+) state", out)
    run.expanded = int(expanded[1]) if expanded else None
    return plan if code == 0 else None


def ours(folder: Path, limit: float, run: Run) -> Path | None:
    """Solve the files in a folder; where the plan was written."""
    begin = time.process_time()
    problem = pds.load_problem(folder / "problem.pddl", pds.load_domain(folder / "domain.pddl"))
    result = pds.plan(problem, search="astar", heuristic="blind", time_limit=limit)
    run.seconds, run.expanded = time.process_time() - begin, result.expanded
    if not result.solved:
        return None
    plan = folder / "our_plan"
    plan.write_text(write_plan(result.plan or (), result.cost or 0))
    return plan


def follow(model: pds.Model, world: pds.World, run: Run) -> None:
    """Replay a plan through the model, and take it in the world."""
    state = world.reset(run.seed)
    believed = model.encode(state, crisp=True)
    run.replayed = True
    for step in run.plan:
        run.replayed &= bool(model.applicable(believed, step, crisp=True) > 0.5)
        believed = model.step(believed, step, crisp=True)
        world.step(step)
    run.replayed &= bool(model.holds(believed, world.goal, crisp=True) > 0.5)
    run.success = bool(world.success)


def solve(model: pds.Model, world: pds.World, seed: int, peers: str | None, limit: float) -> list[Run]:
    """One problem: exported, and solved by everybody."""
    state = world.reset(seed)
    runs = [Run(name, seed) for name in PLANNERS if peers is not None or name != "Fast Downward"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "export")
        task = pds.export(model, state, world.goal, folder)
        for run in runs:
            if run.planner == "the model":
                begin = time.process_time()
                found = pds.plan(model, state, world.goal, heuristic="blind", k=1, time_limit=limit)
                run.seconds, run.expanded = time.process_time() - begin, found.expanded
                run.plan, run.cost, run.valid = found.plan or [], found.cost, found.solved
                continue
            if run.planner == "pdsketch":
                plan = ours(folder, limit, run)
            else:
                assert peers is not None
                plan = fast_downward(peers, folder, limit, run)
            if plan is not None:
                run.plan = pds.read_abstract_plan(folder, plan)
                run.cost = float(len(run.plan))
                back = {model_name: name for name, model_name in task.objects.items()}
                steps = [(action, *(back[o] for o in row)) for action, *row in run.plan]
                run.valid = validate(task.problem, steps).valid
    for run in runs:
        if run.cost is not None:
            follow(model, world, run)
    return runs


def table(runs: Sequence[Run]) -> str:
    """A line a planner; `as the others`: problems for which all planners found the same cost."""
    costs: dict[int, set[float | None]] = {}
    for run in runs:
        costs.setdefault(run.seed, set()).add(run.cost)
    equal = {seed for seed, found in costs.items() if len(found) == 1 and None not in found}
    lines = [
        "| planner | problems | solved | valid PDDL plans | replayed in the model | Minigrid's success "
        "| cost as the others' | mean cost | mean expansions | CPU s a problem |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(run.planner for run in runs):
        own = [run for run in runs if run.planner == name]
        solved = [run for run in own if run.cost is not None]
        cells = [
            name,
            len(own),
            len(solved),
            sum(run.valid for run in solved),
            sum(run.replayed for run in solved),
            sum(run.success for run in solved),
            sum(run.seed in equal for run in own),
            f"{statistics.fmean(run.cost or 0.0 for run in solved):.2f}" if solved else "–",
            f"{statistics.fmean(run.expanded or 0 for run in solved):.1f}" if solved else "–",
            f"{statistics.fmean(run.seconds for run in own):.2f}",
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="the folder of a trained PDS-Abs, or `exact`")
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has up-fast-downward")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--first", type=int, default=10_000, metavar="SEED", help="of the first problem")
    parser.add_argument("--objects", type=int, default=4)
    parser.add_argument("--doors", type=int, default=4)
    parser.add_argument("--limit", type=float, default=120.0, metavar="S", help="seconds for each planner")
    parser.add_argument("--json", metavar="FILE", help="write every run there")
    args = parser.parse_args()
    world = pds.make_world("babyai", objects=args.objects, doors=args.doors)
    exact = args.model == "exact"
    model = pds.Model(world.domain, modules=exact_modules("abs")) if exact else pds.load_model(args.model)
    runs: list[Run] = []
    for seed in range(args.first, args.first + args.problems):
        runs += solve(model, world, seed, args.peers, args.limit)
    print(table(runs))
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")


if __name__ == "__main__":
    main()
