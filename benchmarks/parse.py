"""How fast problems are loaded and checked, beside other parsers: ``python benchmarks/parse.py DIR``.

DIR holds folders with a ``domain.pddl`` and problems. The largest problems and a
generated problem of 1 MB are loaded with their domains by pdsketch, and by the
PyPI packages pddl, unified-planning and pyperplan where they are installed (under
``--peers PYTHON``, the interpreter of an environment that has them). Each figure is
the median CPU time of several loads in one warm process; each load is of the
domain and the problem. Then: time against size, and the cold start of ``pdsketch check``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 120
"""Seconds that one loader may take for one problem, all repetitions together."""
OURS = "pdsketch"
PEERS = ("pddl", "unified-planning", "pyperplan")
DOMAIN = """(define (domain roads)
  (:requirements :strips :typing)
  (:types place truck)
  (:predicates (road ?from - place ?to - place) (at ?t - truck ?p - place))
  (:action drive :parameters (?t - truck ?from - place ?to - place)
    :precondition (and (at ?t ?from) (road ?from ?to))
    :effect (and (at ?t ?to) (not (at ?t ?from)))))
"""


# What is measured.


def load_ours(domain: str, problem: str) -> None:
    import pdsketch

    pdsketch.load_problem(problem, pdsketch.load_domain(domain))


def load_pddl(domain: str, problem: str) -> None:
    from pddl import parse_domain, parse_problem

    parse_domain(domain)
    parse_problem(problem)


def load_unified_planning(domain: str, problem: str) -> None:
    from unified_planning.io import PDDLReader

    PDDLReader().parse_problem(domain, problem)


def load_pyperplan(domain: str, problem: str) -> None:
    from pyperplan.pddl.parser import Parser

    parser = Parser(domain, problem)
    parser.parse_problem(parser.parse_domain())


LOADERS: dict[str, Callable[[str, str], None]] = {
    OURS: load_ours,
    "pddl": load_pddl,
    "unified-planning": load_unified_planning,
    "pyperplan": load_pyperplan,
}


def work(name: str, domain: str, problem: str, repeat: int) -> None:
    """Load once to warm up, then ``repeat`` times; print the median of the CPU seconds."""
    load = LOADERS[name]
    seconds = []
    for _ in range(repeat + 1):
        start = time.process_time()
        load(domain, problem)
        seconds.append(time.process_time() - start)
    print(json.dumps(statistics.median(seconds[1:] or seconds)))


# The run.


def measure(python: str, name: str, domain: Path, problem: Path, repeat: int) -> float | None:
    """The median seconds of one loader on one problem, or None if it fails or takes too long."""
    command = [python, __file__, "--worker", name, "--repeat", str(repeat), str(domain), str(problem)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None
    return float(json.loads(done.stdout.splitlines()[-1])) if done.returncode == 0 else None


def has(python: str, name: str) -> bool:
    module = name.replace("-", "_")
    return (
        subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0
    )


def generate(folder: Path, size: int) -> tuple[Path, Path]:
    """A problem of about ``size`` bytes: places along a road, and nothing that depends on the order."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "domain.pddl").write_text(DOMAIN)
    places = max(2, size // 45)
    names = " ".join(f"place-{i}" for i in range(places))
    roads = "\n".join(f"    (road place-{i} place-{(i * 7 + 1) % places})" for i in range(places))
    text = (
        f"(define (problem generated)\n  (:domain roads)\n  (:objects {names} - place van - truck)\n"
        f"  (:init\n    (at van place-0)\n{roads})\n  (:goal (and (at van place-{places - 1}))))\n"
    )
    (folder / "problem.pddl").write_text(text)
    return folder / "domain.pddl", folder / "problem.pddl"


def largest(folder: Path, count: int) -> list[tuple[Path, Path]]:
    """The largest problems, at most two of a domain."""
    problems = [
        p for p in folder.glob("**/*.pddl") if "domain" not in p.name and (p.parent / "domain.pddl").exists()
    ]
    chosen: list[Path] = []
    for path in sorted(problems, key=lambda p: -p.stat().st_size):
        if sum(path.parent == other.parent for other in chosen) < 2:
            chosen.append(path)
    return [(path.parent / "domain.pddl", path) for path in chosen[:count]]


def cold_start() -> float:
    """The least CPU seconds of ``pdsketch check`` on a small file, over ten runs with byte code at hand."""
    command = [sys.executable, "-m", "pdsketch", "check", str(ROOT / "examples/blocks/domain.pddl")]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        seconds = []
        for _ in range(11):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds[1:])


def table(
    instances: list[tuple[Path, Path]], tools: dict[str, str], repeat: int
) -> dict[str, dict[str, float | None]]:
    """Print a row for each instance: our milliseconds, and each peer's as a multiple of ours."""
    peers = [name for name in tools if name != OURS]
    print("| problem | KB | pdsketch ms |" + "".join(f" {name} ms | × ours |" for name in peers))
    print("|---|---|---|" + "---|---|" * len(peers))
    rows: dict[str, dict[str, float | None]] = {}
    for domain, problem in instances:
        size = problem.stat().st_size
        many = repeat if size < 200_000 else 3
        seconds = {name: measure(python, name, domain, problem, many) for name, python in tools.items()}
        title = f"{problem.parent.name} {problem.stem}"
        rows[title] = seconds
        ours = seconds[OURS]
        cells = [f"{ours * 1000:.2f}" if ours else "fails"]
        for name in peers:
            theirs = seconds[name]
            cells += [f"{theirs * 1000:.2f}", f"{theirs / ours:.1f}"] if theirs and ours else ["fails", "–"]
        print(f"| {title} | {size / 1000:.0f} | " + " | ".join(cells) + " |", flush=True)
    for name in peers:
        ratios = [s[name] / s[OURS] for s in rows.values() if s[name] and s[OURS]]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            print(f"{name}: {mean:.1f} × our time (geometric mean), {min(ratios):.1f} at the least")
    return rows


def linearity(folder: Path) -> dict[str, float]:
    """Print milliseconds a MB for growing files; linear if the column stays level."""
    found = {}
    for size in (125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000):
        domain, problem = generate(folder / f"generated-{size}", size)
        seconds = measure(sys.executable, OURS, domain, problem, 3)
        megabytes = problem.stat().st_size / 1e6
        if seconds is not None:
            found[f"{megabytes:.2f} MB"] = seconds / megabytes
            print(
                f"{megabytes:.2f} MB: {seconds * 1000:.0f} ms, {seconds / megabytes * 1000:.0f} ms a MB",
                flush=True,
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", metavar="DIR", help="a folder with folders of PDDL files")
    parser.add_argument(
        "--peers", default=sys.executable, metavar="PYTHON", help="an interpreter with the peers"
    )
    parser.add_argument("--count", type=int, default=8, help="how many of the largest problems")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures there, too")
    parser.add_argument("--worker", choices=LOADERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker, args.paths[0], args.paths[1], args.repeat)
        return
    tools = {OURS: sys.executable} | {name: args.peers for name in PEERS if has(args.peers, name)}
    for name in PEERS:
        if name not in tools:
            print(f"{name} is not installed under {args.peers}: left out")
    with tempfile.TemporaryDirectory() as scratch:
        generated = generate(Path(scratch) / "generated", 1_000_000)
        rows = table([*largest(Path(args.paths[0]), args.count), generated], tools, args.repeat)
        print()
        slopes = linearity(Path(scratch))
    start = cold_start()
    print(f"\ncold start of `pdsketch check` on a small file: {start:.3f} s of CPU time")
    if args.json:
        figures = {"seconds": rows, "seconds_a_megabyte": slopes, "cold_start_seconds": start}
        args.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
