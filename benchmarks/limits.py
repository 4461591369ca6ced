"""How well limits of time and memory hold, on problems that grow: ``python benchmarks/limits.py``.

Each case runs in a process of its own, which is killed after ``--patience`` seconds.
Seconds are those of the call, or of the processor where these are fewer, since a busy machine is nobody's
fault; megabytes are the peak by which the process grew in it. A
limit is held if it is passed by at most a tenth and half a second, or 50 MB.
``--only WORD`` chooses cases by their names.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

import pdsketch as pds

SLACK, SLACK_SECONDS, SLACK_MEGABYTES = 0.10, 0.5, 50.0


class Near(torch.nn.Module):
    """A perceptron whose answer is always no, so that the search goes on."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()
        )
        self.last = torch.nn.Linear(width, 1)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """The truth, below one half."""
        return torch.sigmoid(self.last(self.layers(torch.cat([a, b], -1)))) * 0.4


# -- problems that grow -------------------------------------------------------


def pairs(items: int) -> tuple[pds.Model, pds.State, str]:
    """A binary blank over items, changed by an action over pairs: OPT asks it of every pair in a state."""
    domain = pds.parse_domain(
        """(define (domain pairs) (:types item - object)
          (:predicates (pose [return_type=vector[float32, 2]] ?o - item))
          (:derived (near [return_type=bool] ?a - item ?b - item) (??f (pose ?a) (pose ?b)))
          (:action push :parameters (?a - item ?b - item) :precondition (not (= ?a ?b))
            :effect (pose::assign ?a (??g (pose ?a) (pose ?b)))))"""
    )
    names = [f"o{i}" for i in range(items)]
    state = pds.State(
        domain, objects={"item": names}, values={"pose": [[i / items, (i * i % 7) / 7] for i in range(items)]}
    )
    torch.manual_seed(0)
    modules = {"derived::near::f": Near(), "action::push::g": lambda a, b: a + 0.01 * (b - a)}
    goal = "(forall (?a - item) (exists (?b - item) (and (not (= ?a ?b)) (near ?a ?b) (near ?b ?a))))"
    return pds.Model(domain, modules=modules), state, goal


def conjuncts(count: int) -> pds.Problem:
    """One action whose precondition is so many ground facts."""
    facts = " ".join(f"(p o{i})" for i in range(count))
    domain = pds.parse_domain(
        f"""(define (domain wide) (:constants {" ".join(f"o{i}" for i in range(count))})
          (:predicates (p ?x) (start) (done))
          (:action begin :precondition (start) :effect (and {facts}))
          (:action end :precondition (and {facts}) :effect (done)))"""
    )
    return pds.parse_problem("(define (problem q) (:domain wide) (:init (start)) (:goal (done)))", domain)


def nullary(count: int) -> tuple[str, str]:
    """So many actions without parameters, each one step of a chain."""
    actions = "\n".join(
        f"(:action a{i} :precondition (f{i}) :effect (and (not (f{i})) (f{i + 1})))" for i in range(count)
    )
    facts = " ".join(f"(f{i})" for i in range(count + 1))
    domain = f"(define (domain steps) (:predicates {facts}) {actions})"
    return domain, f"(define (problem q) (:domain steps) (:init (f0)) (:goal (f{count})))"


def derived_chain(count: int) -> str:
    """Derived predicates, each read by the next."""
    rules = "\n".join(f"(:derived (d{i + 1} ?x) (d{i} ?x))" for i in range(count))
    names = " ".join(f"(d{i} ?x)" for i in range(1, count + 1))
    return f"""(define (domain chain) (:predicates (d0 ?x) {names}) {rules}
      (:action go :parameters (?x) :precondition (not (d0 ?x)) :effect (d0 ?x)))"""


def wide_either(count: int) -> str:
    """Predicates and an action over so many types."""
    types = [f"t{i}" for i in range(count)]
    every = f"(either {' '.join(types)})"
    return f"""(define (domain wide) (:types {" ".join(types)} - object)
      (:predicates (p ?x - {every}) (q ?x - {every}))
      (:action go :parameters (?x - {every}) :precondition (p ?x) :effect (q ?x)))"""


def quantified_effect(objects: int, word: str) -> pds.Problem:
    """An effect over four variables; where the word is `or`, its condition is asked of every combination."""
    domain = pds.parse_domain(
        f"""(define (domain all) (:requirements :adl) (:predicates (p ?a ?b) (q ?a) (start) (done))
          (:action go :precondition (start)
            :effect (and (done) (not (start))
              (forall (?a ?b ?c ?d) (when ({word} (p ?a ?b) (p ?c ?d)) (q ?a))))))"""
    )
    names = " ".join(f"o{i}" for i in range(objects))
    facts = " ".join(f"(p o{i} o{i})" for i in range(objects)) if word == "and" else ""
    return pds.parse_problem(
        f"(define (problem q) (:domain all) (:objects {names}) (:init (start) {facts}) (:goal (done)))",
        domain,
    )


def explosion(objects: int, parameters: int) -> pds.Problem:
    """An action with more instances than memory holds."""
    names = " ".join(f"?x{i}" for i in range(parameters))
    domain = pds.parse_domain(
        f"""(define (domain wide) (:predicates (p {names}) (done))
          (:action act :parameters ({names}) :effect (and (p {names}) (done))))"""
    )
    things = " ".join(f"o{i}" for i in range(objects))
    return pds.parse_problem(
        f"(define (problem q) (:domain wide) (:objects {things}) (:init) (:goal (done)))", domain
    )


def switches(count: int) -> pds.Problem:
    """More states than memory holds: so many switches, and a goal that none of them brings about."""
    domain = pds.parse_domain(
        """(define (domain switches) (:predicates (on ?x) (both ?x ?y) (never))
          (:action flip :parameters (?x) :precondition (not (on ?x)) :effect (on ?x))
          (:action back :parameters (?x) :precondition (on ?x) :effect (not (on ?x)))
          (:action end :parameters (?x) :precondition (and (on ?x) (not (on ?x))) :effect (never))
          (:action join :parameters (?x ?y) :precondition (both ?x ?y) :effect (never)))"""
    )
    names = " ".join(f"s{i}" for i in range(count))
    everything = " ".join(f"(on s{i})" for i in range(count))
    return pds.parse_problem(
        f"(define (problem q) (:domain switches) (:objects {names}) (:init) (:goal (and {everything})))",
        domain,
    )


def doubling(levels: int, width: int) -> pds.Problem:
    """A chain whose costs double in hadd, and an action that needs many of its ends at once."""
    rules = "\n".join(
        f"(:action up{i} :parameters (?x) :precondition (and (l{i} ?x) (m{i} ?x)) "
        f":effect (and (l{i + 1} ?x) (m{i + 1} ?x)))"
        for i in range(levels)
    )
    facts = " ".join(f"(l{i} ?x) (m{i} ?x)" for i in range(levels + 1))
    domain = pds.parse_domain(
        f"""(define (domain double) (:predicates {facts} (done)) {rules}
          (:action end :precondition (forall (?x) (l{levels} ?x)) :effect (done)))"""
    )
    names = " ".join(f"o{i}" for i in range(width))
    init = " ".join(f"(l0 o{i}) (m0 o{i})" for i in range(width))
    return pds.parse_problem(
        f"(define (problem q) (:domain double) (:objects {names}) (:init {init}) (:goal (done)))", domain
    )


def mixing(items: int) -> tuple[str, str]:
    """Numbers and a relation of three items: of 120 there are 1.7 million facts, and as many actions."""
    domain = """(define (domain mixing) (:types item - object)
      (:predicates (amount [return_type=int64] ?i - item) (mixed ?a ?b ?c - item) (hot ?i - item))
      (:action pour :parameters (?a ?b ?c - item) :precondition (mixed ?a ?b ?c)
        :effect (amount::assign ?a (+ (amount ?a) (amount ?b))))
      (:action mix :parameters (?a ?b ?c - item) :effect (mixed ?a ?b ?c))
      (:action heat :parameters (?a - item)
        :precondition (exists (?b ?c - item) (and (mixed ?a ?b ?c) (> (amount ?b) 5))) :effect (hot ?a)))"""
    names = [f"i{i}" for i in range(items)]
    problem = f"""(define (problem p) (:domain mixing) (:objects {" ".join(names)} - item)
      (:init {" ".join(f"(= (amount {name}) 1)" for name in names)})
      (:goal (forall (?i - item) (hot ?i))))"""
    return domain, problem


# -- cases --------------------------------------------------------------------

Prepared = Callable[[], str]
"""Does the work that is measured, and says how it ended."""


def opt(items: int, heuristic: str = "opt", **options) -> Prepared:
    small = pairs(3)
    pds.plan(*small, heuristic=heuristic, max_expansions=2)
    model, state, goal = pairs(items)
    return lambda: pds.plan(model, state, goal, heuristic=heuristic, **options).status


def solving(make: Callable[[], pds.Problem], **options) -> Prepared:
    pds.plan(conjuncts(2), **{k: v for k, v in options.items() if k in ("search", "heuristic")})
    problem = make()
    return lambda: pds.plan(problem, **options).status


def grounding(count: int) -> Prepared:
    from pdsketch.task.grounding import ground

    ground(conjuncts(2))
    problem = conjuncts(count)
    return lambda: f"{len(ground(problem).operators)} operators"


def checking(text: str) -> Prepared:
    return lambda: f"{len(pds.parse_domain(text).predicates)} predicates"


def commanded(texts: tuple[str, str], *words: str, first: tuple[str, str] | None = None) -> Prepared:
    """The command line, whose time limit holds for parsing, too; ``first`` it plans for something small."""
    import contextlib
    import io
    import tempfile

    from pdsketch.cli.main import main

    pds.plan(conjuncts(2))
    folder = Path(tempfile.mkdtemp())
    files = [folder / "domain.pddl", folder / "problem.pddl"]

    def run(texts: tuple[str, str] = texts) -> str:
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            sys.argv = ["pdsketch"]
            main(["plan", *map(str, files), "--json", *words])
        return json.loads(out.getvalue()).get("status", "refused")

    if first is not None:
        run(first)
    return run


def cases() -> dict[str, tuple[Callable[[], Prepared], float | None, float | None]]:
    """What is measured: its name, how to get ready for it, and its limits (seconds, megabytes)."""
    found: dict[str, tuple[Callable[[], Prepared], float | None, float | None]] = {}
    limited = {"time_limit": 3, "memory_limit": 500}
    for items in (20, 60, 100):
        found[f"opt, {items} objects"] = (lambda items=items: opt(items, **limited)), 3, 500
    free = {"time_limit": None, "memory_limit": 20_000, "max_expansions": 1}
    for items in (10, 20, 30):
        found[f"opt, {items} objects, one expansion"] = (lambda items=items: opt(items, **free)), None, None
    tight = {"time_limit": 60, "memory_limit": 200}
    found["blind, 100 objects"] = (lambda: opt(100, "blind", **tight)), 60, 200
    for count in (100, 200, 300, 600, 1000):
        found[f"rules, {count} conjuncts"] = (lambda count=count: grounding(count)), None, None
    found["rules, 1000 conjuncts, planned"] = (
        (lambda: solving(lambda: conjuncts(1000), time_limit=5)),
        5,
        2000,
    )
    found["20,000 nullary actions"] = (
        (lambda: commanded(nullary(20_000), "--time-limit", "20")),
        20,
        2000,
    )
    found["20,000 nullary actions, short"] = (
        (lambda: commanded(nullary(20_000), "--time-limit", "2")),
        2,
        2000,
    )
    # No plan is found, so that the reasons are looked for, too.
    bounds = ("--time-limit", "3", "--memory-limit", "300")
    for items in (20, 60, 120):
        for search in ("portfolio", "abstract", "gbfs"):
            words = ("--search", search, *(("--heuristic", "blind") if search == "gbfs" else ()), *bounds)
            found[f"mixing, {items} items, {search}"] = (
                (lambda n=items, w=words: commanded(mixing(n), *w, first=mixing(3))),
                3,
                300,
            )
    for count in (2500, 5000, 10_000):
        found[f"{count:,} derived predicates in a chain"] = (
            (lambda count=count: checking(derived_chain(count))),
            None,
            None,
        )
    for count in (500, 1000, 2000):
        found[f"either of {count:,} types"] = (lambda count=count: checking(wide_either(count))), None, None
    for word in ("and", "or"):
        for objects in (40, 60):
            found[f"replay, {objects} objects, `{word}`"] = (
                (lambda n=objects, w=word: solving(lambda: quantified_effect(n, w), time_limit=5)),
                5,
                2000,
            )
    for megabytes in (200, 2000):
        found[f"grounding explodes, {megabytes} MB"] = (
            (lambda m=megabytes: solving(lambda: explosion(60, 5), time_limit=120, memory_limit=m)),
            120,
            megabytes,
        )
    for seconds in (1, 2):
        found[f"grounding explodes, {seconds} s"] = (
            (lambda s=seconds: solving(lambda: explosion(60, 5), time_limit=s)),
            seconds,
            2000,
        )
    for search in ("lazy-gbfs", "astar"):
        for megabytes in (200, 1000):
            found[f"{search}, {megabytes} MB"] = (
                (
                    lambda s=search, m=megabytes: solving(
                        lambda: switches(60), search=s, heuristic="blind", time_limit=120, memory_limit=m
                    )
                ),
                120,
                megabytes,
            )
    found["hadd beyond an int"] = (lambda: solving(lambda: doubling(45, 2100), time_limit=60)), 60, 2000
    return found


# -- measuring ----------------------------------------------------------------


def resident() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def _measured(name: str, answer: object) -> None:
    prepare, _, _ = cases()[name]
    run = prepare()
    forget_peak()
    before, started, spent = resident(), time.monotonic(), time.process_time()
    status = run()
    seconds = min(time.monotonic() - started, time.process_time() - spent)
    answer.send({"status": status, "seconds": seconds, "megabytes": peak() - before})


def measure(name: str, patience: float) -> dict:
    """One case in a process of its own."""
    here, there = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_measured, args=(name, there))
    process.start()
    there.close()
    try:
        found = here.recv() if here.poll(patience) else {"status": "killed", "seconds": patience}
    except EOFError:
        process.join()
        found = {"status": f"died ({process.exitcode})", "seconds": 0.0}
    process.kill()
    process.join()
    return {"case": name, "megabytes": float("nan"), **found}


def held(row: dict, seconds: float | None, megabytes: float | None) -> str:
    """What is to be said of the limits."""
    broken = []
    if row["status"].startswith(("killed", "died")):
        return row["status"]
    if seconds is not None and row["seconds"] > seconds * (1 + SLACK) + SLACK_SECONDS:
        broken.append("time")
    if megabytes is not None and row["megabytes"] > megabytes * (1 + SLACK) + SLACK_MEGABYTES:
        broken.append("memory")
    if seconds is None and megabytes is None:
        return ""
    return "broken: " + ", ".join(broken) if broken else "held"


def main() -> int:
    """Exit code 1 if a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--patience", type=float, default=150.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(f"{'case':44} {'limits':>14} {'status':>16} {'seconds':>8} {'MB':>7}  limits")
    rows = []
    for name, (_, seconds, megabytes) in cases().items():
        if args.only not in name:
            continue
        row = measure(name, args.patience)
        limits = " ".join(f"{v:g} {u}" for v, u in ((seconds, "s"), (megabytes, "MB")) if v is not None)
        row["limits"] = held(row, seconds, megabytes)
        rows.append(row)
        print(
            f"{name:44} {limits:>14} {row['status']:>16} {row['seconds']:8.2f} {row['megabytes']:7.0f}  "
            f"{row['limits']}",
            flush=True,
        )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2))
    return 1 if any(row["limits"] not in ("", "held") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
