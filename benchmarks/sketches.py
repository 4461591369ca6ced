"""Are whole sketches learned, in which many blanks must be found together from steps and goals? One table.

    python benchmarks/sketches.py                             # all tasks, three seeds: hours on one core
    python benchmarks/sketches.py --jobs 16 --out sketches.json
    python benchmarks/sketches.py --half choose --only ice keys-fit --seeds 1
    python benchmarks/sketches.py --quick                     # four tasks, few steps
    python benchmarks/sketches.py --pddl DIR                  # published domains with blanks, too

Each task (`sketch_tasks/`) is learned from the same episodes in three ways: with
the library's defaults (`default`), with a plain perceptron of two hidden layers
in every blank, trained as long (`plain`), and with the default networks alone, whose
places no forms take (`networks`). `exact` has the exact functions instead and must
score 1.00, else the task is wrong.

All are judged in scenes *larger* than those of the episodes:

- *steps*: the part of steps predicted right, variable by variable; steps in which
  something changes, in which nothing does, and in which the action is refused
  weigh alike. `keep` is what "nothing ever changes" would score.
- *goals*: the part of states in which a goal is judged right; true and false weigh alike.
- *plans*: the part of problems whose plan, carried out in the simulator, reaches
  the goal. A step that the simulator refuses ends the plan.

A task's *score* is the least of the three. Half of the tasks (`choose`) may be
used to choose settings; the other half (`check`) is only looked at. Published
domains (`--half published` runs these alone) have a table of their own. A run that
was cut off is taken up with `--go-on`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pdsketch as pds
from sketch_tasks import TASKS, Task
from sketch_tasks.core import Ground, Problem, Values, Walk
from zoo import Fitted

WAYS = ("default", "plain", "networks", "exact")
SAFE = "sam"
"""A way of published domains whose preconditions are blank."""
PARTS = ("steps", "goals", "plans")
PUBLISHED = "pddl:"
"""Names of tasks made from published domains begin so."""
COUNTED = ("problems", "solved", "invalid", "guessed", "guessed right")
"""Of the problems of a published domain: all, and how many were solved, and with which plans."""
QUICK = ("wall-blocks", "charge", "rare-refusals", "same-object-twice")
RIGHT = 0.98
"""A task of this score counts as learned."""
AIM = 0.01
"""The default may be this much worse than the better of `plain` and `networks`."""
WALKS, LENGTH, PROBLEMS = 16, 12, 8
"""How many walks, of how many steps, and how many problems a model is judged by."""
FREE = 0.25
"""How far a number may be off where its type states no tolerance."""


# -- models ----------------------------------------------------------------------------------------------


def learned(domain: Any, episodes: Sequence[Any], way: str, seed: int, options: dict[str, Any]) -> Any:
    """A model fitted in one way."""
    modules = {}
    if way == "plain":
        torch.manual_seed(seed)
        modules = {name: Fitted(blank) for name, blank in domain.blanks.items()}
    model = pds.Model(domain, modules=modules, seed=seed)
    if way == "networks":
        options = {**options, "forms": False}
    pds.fit(model, episodes, seed=seed, **options)
    return model


# -- judging ---------------------------------------------------------------------------------------------


@torch.no_grad()
def judge(task: Task, model: Any, seed: int, *, walks: int = WALKS, problems: int = PROBLEMS) -> dict:
    """The three figures of a model in larger scenes, and what "nothing changes" would score."""
    rng = task.rng(seed, "larger")
    drawn = [task.walk(rng, int(rng.choice(task.larger)), LENGTH) for _ in range(walks)]
    steps, keep = step_scores(task, model, drawn)
    return {
        "steps": steps,
        "goals": goal_score(task, model, drawn),
        "plans": plan_score(task, model, task.problems(seed, problems)),
        "keep": keep,
    }


def step_scores(task: Task, model: Any, walks: Iterable[Walk]) -> tuple[float, float]:
    """The part of steps predicted right, and that of "nothing changes"; kinds of steps weigh alike."""
    right, keep = defaultdict(list), defaultdict(list)
    for some in _alike(walks):
        states = [(walk, i) for walk in some for i in range(len(walk.actions))]
        batch = pds.StateBatch.of([task.state(walk.objects, walk.states[i]) for walk, i in states])
        actions = [task.step(walk.actions[i]) for walk, i in states]
        found = model.step(batch, actions, crisp=True)
        asked = model.applicable(batch, actions, crisp=True).cpu() > 0.5
        same = np.ones(len(states), dtype=bool)
        for name in walks_tables(some):
            wanted = np.stack([walk.states[i + 1][name] for walk, i in states])
            same &= _close(task, name, found[name].cpu().numpy(), wanted)
        for at, (walk, i) in enumerate(states):
            done = walk.executed[i]
            changes = any(
                not np.array_equal(walk.states[i][n], walk.states[i + 1][n]) for n in walk.states[i]
            )
            kind = "refused" if not done else "changed" if changes else "unchanged"
            right[kind].append(bool(asked[at]) == done and (not done or bool(same[at])))
            keep[kind].append(kind == "unchanged")
    return _even(right), _even(keep)


def goal_score(task: Task, model: Any, walks: Iterable[Walk]) -> float:
    """The part of states in which goals are judged right; true and false weigh alike."""
    right = defaultdict(list)
    for some in _alike(walks):
        states = [(walk, values) for walk in some for values in walk.states]
        batch = pds.StateBatch.of([task.state(walk.objects, values) for walk, values in states])
        for goal, truth in task.every_goal.items():
            told = model.holds(batch, goal, crisp=True) > 0.5
            for at, (_, values) in enumerate(states):
                holds = bool(truth(values))
                right[holds].append(bool(told[at]) == holds)
    return _even(right)


def plan_score(task: Task, model: Any, problems: Sequence[Problem]) -> float:
    """The part of problems whose plan reaches the goal in the simulator."""
    results = pds.plan_many(
        model,
        [task.state(p.objects, p.values) for p in problems],
        [p.goal for p in problems],
        search="astar",
        heuristic="blind",
        k=32,
        max_expansions=task.most_expansions,
        time_limit=None,
    )
    reached = [
        result.plan is not None and carried_out(task, p, [task.ground(step) for step in result.plan])
        for p, result in zip(problems, results, strict=True)
    ]
    return float(np.mean(reached))


def carried_out(task: Task, problem: Problem, plan: Iterable[Ground]) -> bool:
    """Whether a plan reaches the goal in the simulator, which has the last word."""
    values: Values = problem.values
    for action in plan:
        after = task.simulate(values, action)
        if after is None:
            return False
        values = after
    return bool(task.every_goal[problem.goal](values))


def walks_tables(walks: Sequence[Walk]) -> list[str]:
    """What a state holds."""
    return list(walks[0].states[0])


def _alike(walks: Iterable[Walk]) -> list[list[Walk]]:
    """Walks among the same objects, side by side."""
    groups = defaultdict(list)
    for walk in walks:
        groups[tuple((type_, len(names)) for type_, names in walk.objects.items())].append(walk)
    return list(groups.values())


def _close(task: Task, name: str, found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    type_ = task.domain.predicates[name].type
    off = np.abs(found.astype(np.float64) - wanted) > (type_.tolerance or FREE)
    return ~off.reshape(len(off), -1).any(1)


def _even(right: dict[Any, list[bool]]) -> float:
    """The mean over kinds of the part that is right."""
    return float(np.mean([np.mean(found) for found in right.values()]))


# -- runs ------------------------------------------------------------------------------------------------


Job = tuple[str, int, str, dict[str, Any]]
"""A task, a seed, a way, and options of `fit`."""


def run(job: Job) -> dict[str, Any]:
    """Fit one task in one way, and judge it."""
    name, seed, way, options = job
    torch.set_num_threads(1)
    started = time.process_time()
    if name.startswith(PUBLISHED):
        from sketch_tasks import published

        found = published.measure(name.removeprefix(PUBLISHED), seed, way, options, learned)
    else:
        found = measure(TASKS[name], seed, way, options)
    return {"task": name, "seed": seed, "way": way, **found, "cpu": time.process_time() - started}


def measure(task: Task, seed: int, way: str, options: dict[str, Any]) -> dict[str, Any]:
    """The figures of one task, learned in one way; a fit that diverges has learned nothing."""
    facts = {"half": task.half, "blanks": len(task.domain.blanks)}
    if way == "exact":
        return {**facts, "data": 0, **judge(task, pds.Model(task.domain, task.exact_modules()), seed)}
    episodes = task.data(seed)
    facts["data"] = sum(len(episode.actions) for episode in episodes)
    try:
        model = learned(task.domain, episodes, way, seed, options)
    except pds.Error as error:
        if error.diagnostics[0].code != "diverged":
            raise
        return {**facts, **dict.fromkeys(PARTS, 0.0), "keep": None, "failed": error.diagnostics[0].message}
    return {**facts, **judge(task, model, seed)}


def run_all(jobs: Sequence[Job], processes: int, keep: Callable[[dict[str, Any]], None]) -> None:
    """Run jobs, several at a time, and hand over each result as it comes; those that fail are named last."""
    failed: list[Exception] = []
    with ProcessPoolExecutor(processes) as pool:
        waiting = {pool.submit(run, job): job for job in jobs}
        for future in as_completed(waiting):
            if (error := future.exception()) is None:
                keep(future.result())
            else:
                error.add_note(f"in {waiting[future][:3]}")
                failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {len(jobs)} runs failed", failed)


# -- the table -------------------------------------------------------------------------------------------


def score(row: dict[str, Any]) -> float:
    """The least of a row's figures."""
    return float(min(row[part] for part in PARTS if row[part] is not None))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """All tasks as Markdown, means over seeds, and what they come to."""
    groups: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if not row["task"].startswith(PUBLISHED):
            groups[row["task"]][row["way"]].append(row)
    if not groups:
        return published_table(rows)
    lines = [
        "| task | half | blanks | steps of data | keep | default: steps goals plans | score | plain "
        "| networks | exact | short by | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    outcomes = []
    for name, ways in sorted(groups.items()):
        scores = {way: float(np.mean([score(row) for row in found])) for way, found in ways.items()}
        best = max((scores[way] for way in ("plain", "networks") if way in scores), default=0.0)
        short = max(0.0, best - scores["default"]) if "default" in scores else 0.0
        first = next(iter(ways.values()))[0]
        data = max(row["data"] for found in ways.values() for row in found)
        cpu = "/".join(f"{np.mean([r['cpu'] for r in ways[w]]):.0f}" for w in WAYS[:3] if w in ways)
        cells = [
            Path(name).name,
            first["half"],
            str(first["blanks"]),
            str(data),
            _shown([row["keep"] for found in ways.values() for row in found]),
            " ".join(_shown([row[part] for row in ways.get("default", ())]) for part in PARTS),
            *[f"{scores[way]:.2f}" if way in scores else "" for way in WAYS],
            f"**{short:.2f}**" if short > AIM else "",
            cpu,
        ]
        lines.append(f"| {' | '.join(cells)} |")
        if "default" in scores:
            outcomes.append((first["half"], scores["default"] >= RIGHT, short > AIM))
    for half in sorted({half for half, *_ in outcomes}):
        some = [(right, short) for kind, right, short in outcomes if kind == half]
        lines += [
            "",
            f"{half}: {sum(r for r, _ in some)} of {len(some)} tasks reach {RIGHT} in larger scenes; "
            f"{sum(s for _, s in some)} are more than {AIM} below the better of `plain` and `networks`.",
        ]
    lines += [
        f"{Path(row['task']).name}, {row['way']}, seed {row['seed']}: {row['failed']}."
        for row in rows
        if "failed" in row
    ]
    wrong = sorted({Path(row["task"]).name for row in rows if row["way"] == "exact" and score(row) < 1})
    if wrong:
        lines.append(f"With exact functions below 1.00, so wrong themselves: {', '.join(wrong)}.")
    return "\n".join([*lines, "", published_table(rows)])


def published_table(rows: Sequence[dict[str, Any]]) -> str:
    """Published domains: of all problems, sums over seeds, those solved, with invalid plans, with plans on
    guesses, and without a plan, way by way.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["task"].startswith(PUBLISHED):
            groups[Path(row["task"]).name, row["way"]].append(row)
    if not groups:
        return ""
    lines = [
        "| domain | way | blanks | steps of data | steps | problems | solved | invalid | guessed "
        "| guessed right | no plan | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    sums = {}
    for (name, way), found in sorted(groups.items()):
        counts = {one: sum(row[one] for row in found) for one in COUNTED}
        mean = {one: float(np.mean([row[one] for row in found])) for one in ("data", "steps", "cpu")}
        left = counts["problems"] - counts["solved"] - counts["invalid"] - counts["guessed"]
        first = [name, way, found[0]["blanks"], f"{mean['data']:.0f}", f"{mean['steps']:.3f}"]
        cells = [*first, *counts.values(), left, f"{mean['cpu']:.1f}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
        sums[name, way] = counts["solved"] / counts["problems"], counts["invalid"]
    wrong = sorted(f"{name} ({way})" for (name, way), (_, invalid) in sums.items() if invalid)
    fewer = sorted(
        name
        for (name, way), (solved, _) in sums.items()
        if way == "default" and solved < sums.get((name, SAFE), (0.0, 0))[0]
    )
    lines += [
        "",
        f"Plans returned that are not valid: {', '.join(wrong) or 'none'}.",
        f"Solved by the default less often than by {SAFE}: {', '.join(fewer) or 'none'}.",
    ]
    return "\n".join(lines)


def _shown(figures: Sequence[float | None]) -> str:
    known = [figure for figure in figures if figure is not None]
    return f"{np.mean(known):.2f}" if known else "–"


# -- the command -----------------------------------------------------------------------------------------


def names_of(args: argparse.Namespace) -> dict[str, str]:
    """The tasks of the half that is asked for: what the table calls them → their names."""
    found = {name: name for name, task in TASKS.items() if args.half in (None, task.half)}
    if args.pddl and args.half in (None, "published"):
        from sketch_tasks import published

        found |= {Path(name).name: f"{PUBLISHED}{name}" for name in published.names(args.pddl)}
    return found


def jobs_of(args: argparse.Namespace) -> list[Job]:
    """What is to be run."""
    known = names_of(args)
    names = [known[name] for name in args.only or known if name in known]
    options = {"device": args.device, **({"steps": args.steps} if args.steps else {})}
    return [
        (name, seed, way, options)
        for name in names
        for seed in range(args.seeds)
        for way in args.ways
        if way != SAFE or name.rpartition(":")[2] in ("V2", "V2E")
    ]


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", metavar="TASK", help="these tasks alone")
    parser.add_argument("--half", choices=("choose", "check", "published"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="of each fit, instead of the library's default")
    parser.add_argument("--ways", nargs="*", choices=(*WAYS, SAFE), default=[*WAYS, SAFE])
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--device", default="cpu", help="where models are fitted, and judged")
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(QUICK)}; one seed, 200 steps")
    parser.add_argument("--pddl", type=Path, metavar="DIR", help="published domains: a folder each")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="where the figures go, as they come")
    parser.add_argument("--go-on", action="store_true", help="keep what FILE.json has, and run the rest")
    args = parser.parse_args()
    if args.quick:
        args.only, args.seeds, args.steps = list(QUICK), 1, 200
    known = {*TASKS, *names_of(args)}
    unknown = sorted(set(args.only or ()) - known)
    if unknown:
        parser.error(f"no task {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return args


def main() -> None:
    """Run, show the table, keep the figures."""
    args = parsed()
    rows = json.loads(args.out.read_text()) if args.go_on and args.out.exists() else []
    done = {(row["task"], row["seed"], row["way"]) for row in rows}
    jobs = [job for job in jobs_of(args) if job[:3] not in done]

    def keep(row: dict[str, Any]) -> None:
        rows.append(row)
        parts = ", ".join(f"{part} {_shown([row[part]])}" for part in PARTS)
        print(
            f"{len(rows) - len(done)} of {len(jobs)}: {row['task']}, {row['way']}, {parts}",
            file=sys.stderr,
            flush=True,
        )
        if args.out:
            fresh = args.out.with_suffix(".part")
            fresh.write_text(json.dumps(rows, indent=1))
            fresh.replace(args.out)

    run_all(jobs, args.jobs, keep)
    print(table(rows))
    print(f"\nCPU seconds: {sum(row['cpu'] for row in rows):.0f}")


if __name__ == "__main__":
    main()
