"""How fast latent search is: expansions a second, problems a second, and what OPT saves.

    python benchmarks/latent.py [--device cuda] [--json FILE]

The model is PDS-Abs with the default networks, trained here on random walks of
the same sketch with exact functions in its blanks (no simulator is needed). Each
figure is the median of several runs of one process on one core.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import time
from pathlib import Path

import torch

import pdsketch as pds
from pdsketch_paper.babyai.modules import exact_modules
from pdsketch_paper.babyai.observation import SKETCHES

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
KINDS = {"door": 4, "key": 5, "ball": 6, "box": 7}
SIDE = 7


def sketch(actions):
    """PDS-Abs with some of its actions only."""
    text = (SKETCHES / "abs.pdsketch").read_text()
    parts = re.split(r"(?=\n  \(:action )", text.rstrip().removesuffix(")"))
    kept = [
        part for part in parts if "(:action" not in part or re.search(r"\(:action (\S+)", part)[1] in actions
    ]
    return pds.parse_domain("".join(kept) + ")")


def scene(domain, items, rng):
    """A state: a robot among items on distinct cells, without walls."""
    cells = rng.sample([(x, y) for x in range(SIDE) for y in range(SIDE)], items + 1)
    codes = [(rng.choice([*KINDS.values()]), rng.randrange(6), 1) for _ in range(items)]
    return pds.State(
        domain,
        objects={"item": [f"item#{i}" for i in range(items)]},
        values={
            "robot-pose": [cells[0]],
            "robot-direction": [rng.randrange(4)],
            "item-pose": cells[1:],
            "item-feature": codes,
        },
    )


def goal(state, rng):
    """Something that the robot can do to one of the items."""
    kind, colour, _ = state["item-feature"][rng.randrange(len(state.members("item")))].tolist()
    noun = next(name for name, code in KINDS.items() if code == kind)
    return f"(exists (?o - item) (and (robot-facing agent ?o) (is-{COLOURS[colour]} ?o) (is-{noun} ?o)))"


def walks(exact, count, items, rng, length=12):
    """Random walks of many robots at once, simulated by the exact model."""
    domain = exact.domain
    first = [scene(domain, items, rng) for _ in range(count)]
    goals = [goal(state, rng) for state in first]
    batch = pds.StateBatch.of(first)
    batches, taken = [batch], []
    for _ in range(length):
        steps = [(rng.choice([*domain.actions]), "agent") for _ in range(count)]
        batch = exact.step(batch, steps, crisp=True)
        batches.append(batch)
        taken.append(steps)
    labels = torch.stack([exact.holds(b, goals, crisp=True) for b in batches], 1).long().tolist()
    return [
        pds.Episode([b[i] for b in batches], [t[i] for t in taken], goals[i], labels[i]) for i in range(count)
    ]


def trained(actions, items, device):
    """A model learned on the processor, where small steps are quick, and put on the device; the exact one."""
    domain = sketch(actions)
    exact = pds.Model(domain, {k: f for k, f in exact_modules("abs").items() if k in domain.blanks})
    model = pds.Model(domain, seed=0)
    report = pds.fit(model, walks(exact, 800, items, random.Random(0)), steps=800, seed=0, progress=False)
    return model.to(device), exact, report


def median(measure, repeats=5):
    return statistics.median(measure() for _ in range(repeats))


def expansions(model, items, k, most):
    """Expansions a second of blind search for a goal that never holds."""
    state = scene(model.domain, items, random.Random(7))
    model.notes.pop("codes", None)  # learned poses then differ a little each time: the space does not run out
    never = "(exists (?o - item) (and (is-red ?o) (not (is-red ?o))))"
    pds.plan(model, state, never, heuristic="blind", k=k, max_expansions=k)

    def measure():
        started = time.perf_counter()
        result = pds.plan(
            model,
            state,
            never,
            heuristic="blind",
            k=k,
            max_expansions=most,
            time_limit=None,
            memory_limit=8000,
        )
        return result.expanded / (time.perf_counter() - started)

    return median(measure)


def near_problems(exact, count, items, rng):
    """States and goals that take blind search with the exact model about thirty expansions."""
    states, goals = [], []
    while len(states) < count:
        some = [scene(exact.domain, items, rng) for _ in range(200)]
        wanted = [goal(state, rng) for state in some]
        results = pds.plan_many(exact, some, wanted, heuristic="blind", max_expansions=60, time_limit=None)
        for state, formula, result in zip(some, wanted, results, strict=True):
            if result.solved and result.expanded >= 10:
                states.append(state)
                goals.append(formula)
    return states[:count], goals[:count]


def problems(model, exact, count, items, k):
    """Problems a second of `plan_many`, with the successors generated and the expansions of one problem."""
    states, goals = near_problems(exact, count, items, random.Random(11))
    states = [state.to(model.device) for state in states]
    pds.plan_many(model, states[:8], goals[:8], heuristic="blind", k=k, max_expansions=100)
    started = time.perf_counter()
    results = pds.plan_many(model, states, goals, heuristic="blind", k=k, max_expansions=100, time_limit=None)
    seconds = time.perf_counter() - started
    return {
        "problems/s": round(count / seconds, 1),
        "solved": sum(r.solved for r in results) / count,
        "expansions each": statistics.mean(r.expanded for r in results),
        "successors/s": round(sum(r.generated for r in results) / seconds),
    }


def throughput(model, count, items, k, rounds=4):
    """Successors a second of `plan_many` on goals that never hold: how much a device can generate.

    With few ``rounds`` of k expansions of each problem, half of the time is what each problem takes at all.
    """
    rng = random.Random(17)
    model.notes.pop("codes", None)
    states = [scene(model.domain, items, rng).to(model.device) for _ in range(count)]
    never = "(exists (?o - item) (and (is-red ?o) (not (is-red ?o))))"
    options = {
        "heuristic": "blind",
        "k": k,
        "max_expansions": rounds * k,
        "time_limit": None,
        "memory_limit": 60_000,
    }
    pds.plan_many(model, states, never, **{**options, "max_expansions": k})
    started = time.perf_counter()
    results = pds.plan_many(model, states, never, **options)
    return sum(r.generated for r in results) / (time.perf_counter() - started)


def alone(model, exact, items, count=40):
    """The median time of one problem at k = 16, in milliseconds."""
    states, goals = near_problems(exact, count, items, random.Random(13))
    times = []
    for state, wanted in zip(states, goals, strict=True):
        started = time.perf_counter()
        pds.plan(model, state, wanted, heuristic="blind", k=16, max_expansions=100)
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def guided(exact, items=4, count=3):
    """Expansions of blind search and of OPT, on goals over several objects (exact model, k = 1)."""
    rows = []
    wanted = {
        "face one": "(exists (?o - item) (and (robot-facing agent ?o) (is-key ?o)))",
        "key in hand, every door open": "(and (exists (?o - item) (and (is-key ?o) (robot-holding agent ?o)))"
        " (forall (?o - item) (implies (is-door ?o) (is-open ?o))))",
        "no box is left": "(forall (?o - item) (not (and (is-box ?o) (not (= (item-pose ?o) [-2, -2])))))",
    }
    codes = [(KINDS["key"], 0, 0), (KINDS["door"], 1, 1), (KINDS["door"], 2, 1), (KINDS["box"], 3, 0)]
    for name, formula in wanted.items():
        counts = {"blind": [], "opt": []}
        for seed in range(count):
            state = scene(exact.domain, items, random.Random(seed))
            values = {**state.values, "item-feature": codes[:items]}
            state = pds.State(exact.domain, state.objects, values)
            for heuristic, found in counts.items():
                result = pds.plan(
                    exact, state, formula, heuristic=heuristic, max_expansions=4000, time_limit=60
                )
                found.append(result.expanded)
        rows.append({"goal": name, **{h: statistics.mean(found) for h, found in counts.items()}})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--k", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--many-k", type=int, default=16)
    args = parser.parse_args()
    torch.set_num_threads(1)
    table = {"device": args.device, "torch": torch.__version__}

    def record(name, figure):
        table[name] = figure
        print(f"{name}: {figure:,.1f}" if isinstance(figure, float) else f"{name}: {figure}", flush=True)

    moves = ("lturn", "rturn", "forward")
    every = (*moves, "pickup", "drop", "toggle")
    small, small_exact, _ = trained(moves, 4, args.device)
    large, exact, report = trained(every, 8, args.device)
    record("training", f"{report}".splitlines()[1])
    most = 8000 if args.device == "cpu" else 50_000
    for k in args.k:
        record(f"expansions/s, 4 items, 3 actions, k={k}", expansions(small, 4, k, most))
        record(f"expansions/s, 8 items, 6 actions, k={k}", expansions(large, 8, k, most))
    record("one problem alone, k=16, 4 items, 3 actions, ms", alone(small, small_exact, 4))
    record("plan_many, 4 items, 3 actions", problems(small, small_exact, args.problems, 4, args.many_k))
    record("plan_many, 8 items, 6 actions", problems(large, exact, args.problems, 8, args.many_k))
    for rounds in (4, 32):
        for name, model, items in (("4 items, 3 actions", small, 4), ("8 items, 6 actions", large, 8)):
            figure = throughput(model, args.problems, items, args.many_k, rounds)
            record(f"plan_many, successors/s, {name}, {rounds} rounds", figure)
    if args.device == "cpu":
        record("expansions, blind and OPT", guided(exact))
    if args.json:
        args.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
