"""Does memory stay flat for a long time? ``python -m tests.soak --scale 0.01``, or ``make soak``.

At scale 1: 200,000 plans with ever new goals, 2,000 fits and 50,000 requests of the page, about a day of one
core. Each part runs in a process of its own, or in several that share its work (``--jobs``), which say ten
times how large they are. One is flat if it is no larger at the end than after the first three tenths, but for
`ALLOWED` megabytes: by then, all that is kept is full.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import multiprocessing
import random
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pdsketch as pds
from pdsketch.budget import MEGABYTE, resident

ALLOWED = 8.0
"""Megabytes by which a process may grow: allocators give back what is freed in their own time."""
BLOCKS = Path(__file__).parents[1] / "examples" / "blocks"

LAMPS = """(define (domain lamps) (:types lamp - object)
  (:predicates (lit ?l - lamp) (level [return_type=int64] ?l - lamp))
  (:action on :parameters (?l - lamp) :precondition (not (lit ?l)) :effect (lit ?l))
  (:action up :parameters (?l - lamp) :precondition (lit ?l) :effect (level::assign ?l (+ (level ?l) 1))))"""
NAMES = "abcdefgh"
PROBLEM = f"""(define (problem p) (:domain lamps) (:objects {" ".join(NAMES)} - lamp)
  (:init {" ".join(f"(= (level {name}) 0)" for name in NAMES)}) (:goal (lit a)))"""

Work = Callable[[int], object]


def new_goals() -> Iterator[str]:
    """Goals over lamps, 40,000 of them before one comes again."""
    while True:
        for order in itertools.permutations(NAMES, 5):
            for number in range(3):
                lit = " ".join(f"(lit {name})" for name in order[: 2 + number])
                yield f"(and {lit} (= (level {order[0]}) {number}))"


def plans() -> Iterator[Work]:
    """Plans: through one model, for problems with values (each makes a model), for classical ones."""
    domain = pds.parse_domain(LAMPS)
    problem, model, goals = pds.parse_problem(PROBLEM, domain), pds.Model(domain), new_goals()
    classical = pds.load_problem(str(BLOCKS / "p01.pddl"), pds.load_domain(str(BLOCKS / "domain.pddl")))
    blocks = [name for name, type_ in classical.universe.items() if str(type_) == "block"] or ["a", "b"]

    def work(i: int) -> None:
        if i % 20 == 0:
            pds.plan(problem, goal=next(goals))
        elif i % 4 == 0:
            above, below = random.Random(i).sample(blocks, 2)
            pds.plan(classical, goal=f"(on {above} {below})", max_expansions=200)
        else:
            pds.plan(model, problem.state, next(goals), max_expansions=200)

    yield work


def fits() -> Iterator[Work]:
    """Fits of a few steps, each of a model of its own."""
    from tests.training.rooms import world

    domain, episodes = world(8, 0)

    def work(i: int) -> None:
        model = pds.Model(domain, seed=i)
        forms = i % 10 == 0  # which take most of the time
        pds.fit(model, episodes, steps=4, seed=i, batch=16, evaluate_every=2, progress=False, forms=forms)

    yield work


def requests() -> Iterator[Work]:
    """Requests of the page: states, truths of ever new goals, and now and then a plan."""
    from pdsketch.serve import Exploration, ModelSubject, PageServer

    domain = pds.parse_domain(LAMPS)
    state, goals = pds.parse_problem(PROBLEM, domain).state, new_goals()
    with PageServer(Exploration(ModelSubject(pds.Model(domain), state), "(lit a)"), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}"

        def ask(where: str, said: dict[str, Any] | None = None) -> Any:
            body = None if said is None else json.dumps(said).encode()
            question = urllib.request.Request(f"{home}{where}", body, {"X-Token": server.token})
            with urllib.request.urlopen(question, timeout=600) as answer:
                return json.load(answer)

        def work(i: int) -> None:
            if i % 25 == 0:
                ask("/api/plan", {"goal": next(goals), "max_expansions": 100})
                while ask("/api/search?from=0")["running"]:
                    time.sleep(0.005)
            elif i % 3 == 0:
                ask("/api/state?step=0")
            else:
                ask("/api/truth", {"goal": next(goals), "step": 0})

        yield work
        server.shutdown()


PARTS: dict[str, tuple[Callable[[], Iterator[Work]], int]] = {
    "plans": (plans, 200_000),
    "fits": (fits, 2_000),
    "requests": (requests, 50_000),
}


def sizes(part: Iterator[Work], numbers: range) -> list[float]:
    """Megabytes of this process after each tenth of the work."""
    work, found, count = next(part), [], len(numbers)
    for tenth in range(10):
        for i in numbers[tenth * count // 10 : (tenth + 1) * count // 10]:
            work(i)
        gc.collect()
        found.append(resident() / MEGABYTE)
    next(part, None)
    return found


def _told(share: tuple[str, range]) -> tuple[str, int, list[float], float]:
    (name, numbers), began = share, time.monotonic()
    return name, len(numbers), sizes(PARTS[name][0](), numbers), time.monotonic() - began


def main() -> int:
    """Exit code 1 if a part grows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=0.01, help="part of the work (0.01)")
    parser.add_argument("--only", action="append", default=[], choices=list(PARTS))
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the work of a part (1)")
    args = parser.parse_args()
    shares = []
    for name, (_, whole) in PARTS.items():
        if not args.only or name in args.only:
            every = range(max(10 * args.jobs, round(args.scale * whole)))
            size = -(-len(every) // args.jobs)
            shares += [(name, every[at : at + size]) for at in range(0, len(every), size)]
    grown = 0
    # A process for each share: what one has kept is not another's.
    with multiprocessing.get_context("spawn").Pool(args.jobs, maxtasksperchild=1) as pool:
        for name, count, found, seconds in pool.imap(_told, shares):
            more = max(found[-2:]) - found[2]
            grown += more > ALLOWED
            shown = " ".join(f"{size:.0f}" for size in found)
            print(f"{name:9} {count:8,}  {shown} MB; {more:+.1f} MB after three tenths", end="")
            print(f"{', GROWS' if more > ALLOWED else ''}; {seconds:.0f} s", flush=True)
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
