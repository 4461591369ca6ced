"""How fast ordinary problems are solved, beside other planners: ``python benchmarks/classical.py DIR``.

DIR holds folders with a ``domain.pddl`` and problems ``p*.pddl``, or beside each
``NAME.pddl`` a folder NAME with its problems, as the folder ``pddl`` of the PyPI package
pddlgym does. Each problem is solved by pdsketch (lazy greedy search with preferred
operators, and eager greedy search, both with hFF), by Fast Downward with the same
searches and heuristic, by pyperplan (``gbf hff``) and by pymimir (eager greedy, FF,
grounded), one after the other on one core. Peers run under ``--peers PYTHON``, an
interpreter that has the PyPI packages up-fast-downward, pyperplan and pymimir; those
that are missing are left out.

With ``--cold``, ours are whole commands, too: a ``pdsketch plan`` for each problem, with the interpreter's
start and imports; all modules are compiled before. ``--searches astar --heuristic lmcut`` compares optimal
planning; the problems that both solve are small ones, as pddlgym has them: ``--limit 5 --each 2 --only
'baking|^blocks p|hanoi p|hiking|manyb|manyf|manyg|manyl|manym|maze|^newsp|spanner'``. With ``--seconds S``,
searches end after so long, and evaluations per second are what counts: ``--seconds 2 --searches astar``
compares them on the problems that both search for that long.

Times are CPU seconds from the text to the plan: parsing, grounding and search. Ours
are taken in one warm process (a fork of it for each problem, so that the peak of
memory is the problem's own); Fast Downward's are those of its translator and its
search, with the interpreters' start. Every plan is replayed by
``pdsketch.lang.validator``. Evaluations per second count the search alone.
"""

from __future__ import annotations

import argparse
import compileall
import json
import math
import os
import platform
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pdsketch as pds
from pdsketch.lang.source import Source
from pdsketch.lang.steps import read_plan
from pdsketch.lang.validator import validate

SEARCHES = {
    "lazy-gbfs": "lazy_greedy([h], preferred=[h])",
    "gbfs": "eager_greedy([h])",
    "astar": "astar(h)",
}
PEERS_WORDS = {"max": "hmax"}
LATE = 23
LONG = 0.1
"""Seconds from which on a search tells how many evaluations it makes in one."""
WHERE = """
import importlib.util
spec = importlib.util.find_spec({!r})
print(spec.submodule_search_locations[0] if spec else "")
"""
PYPERPLAN = "from pyperplan.__main__ import main; main()"
PYMIMIR = """
import sys, pymimir
problem = pymimir.Problem(pymimir.Domain(sys.argv[1]), sys.argv[2], mode="grounded")
found = pymimir.gbfs_eager(problem, problem.get_initial_state(), pymimir.FFHeuristic(problem))
with open(sys.argv[3], "w") as file:
    for step in found.solution or ():
        names = [step.get_action().get_name(), *(o.get_name() for o in step.get_objects())]
        print("(" + " ".join(names) + ")", file=file)
sys.exit(found.solution is None)
"""


@dataclass
class Run:
    """One planner on one problem. ``seconds`` is None where the limit was reached or the run failed."""

    planner: str
    problem: str
    seconds: float | None = None
    search_seconds: float | None = None
    evaluated: int | None = None
    cost: float | None = None
    megabytes: float | None = None
    failure: str | None = None

    @property
    def rate(self) -> float | None:
        """Evaluations per second of search, where the search was long enough to tell."""
        if not self.evaluated or not self.search_seconds or self.search_seconds < LONG:
            return None
        return self.evaluated / self.search_seconds


def ours(search: str, heuristic: str, seconds: float | None = None) -> Callable[[Path, Path, float], Run]:
    """Plan in a fork of this warm process."""

    def run(domain: Path, problem: Path, limit: float) -> Run:
        found = Run(f"pdsketch {search}", name_of(problem))
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _child(domain, problem, (search, heuristic, seconds), limit, writer)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        _, status, used = os.wait4(child, 0)
        found.megabytes = used.ru_maxrss / 1024
        if status != 0 or not text:
            found.failure = "out-of-time" if os.waitstatus_to_exitcode(status) == LATE else "crash"
            return found
        told = json.loads(text)
        found.evaluated, found.search_seconds = told["evaluated"], told["search"]
        if told["status"] == "solved":
            found.seconds, found.cost = told["cpu"], told["cost"]
        else:
            found.failure = told["status"]
        return found

    return run


def _child(
    domain: Path, problem: Path, way: tuple[str, str, float | None], limit: float, writer: int
) -> None:
    signal.signal(signal.SIGPROF, lambda *_: os._exit(LATE))  # a limit of CPU time, as for the peers
    signal.setitimer(signal.ITIMER_PROF, limit)
    begin, wall = time.process_time(), time.monotonic()
    search, heuristic, seconds = way
    task = pds.load_problem(problem, pds.load_domain(domain))
    result = pds.plan(task, search=search, heuristic=heuristic, memory_limit=8000, time_limit=seconds)
    cpu = time.process_time() - begin
    told = {
        "status": result.status,
        "cpu": cpu,
        "search": result.phases["search"] * min(1.0, cpu / (time.monotonic() - wall)),
        "evaluated": result.evaluated,
        "cost": result.cost,
    }
    with os.fdopen(writer, "w") as pipe:
        json.dump(told, pipe)
    os._exit(0)


def command(words: Sequence[str], limit: float, stdin: Path | None = None) -> tuple[int, str, float, float]:
    """Exit code, output, CPU seconds and peak megabytes of a command that may use ``limit`` CPU seconds."""
    with tempfile.TemporaryFile("w+") as out:
        shell = f"ulimit -t {math.ceil(limit)}; exec " + shlex.join(words)
        redirect = f" < {shlex.quote(str(stdin))}" if stdin is not None else " < /dev/null"
        process = subprocess.Popen(["bash", "-c", shell + redirect], stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return process.returncode, out.read(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def fast_downward(
    python: str, home: Path, search: str, heuristic: str, seconds: float | None = None
) -> Callable[[Path, Path, float], Run]:
    """Translate and search, each as its own process."""
    binaries = home / "downward" / "builds" / "release" / "bin"
    plan = SEARCHES[search]
    if seconds is not None:
        plan = f"{plan[:-1]}, max_time={seconds})"
    words = ["--search", f"let(h, {PEERS_WORDS.get(heuristic, heuristic)}(), {plan})"]

    def run(domain: Path, problem: Path, limit: float) -> Run:
        found = Run(f"Fast Downward {search}", name_of(problem))
        with tempfile.TemporaryDirectory() as folder:
            sas, file = Path(folder, "output.sas"), Path(folder, "plan")
            translate = [python, "-m", "fast_downward.translate", str(domain), str(problem)]
            code, out, first, memory = command([*translate, "--sas-file", str(sas)], limit)
            if code != 0:
                found.failure = out.strip().splitlines()[-1][:80] if out.strip() else f"exit {code}"
                return found
            solve = [str(binaries / "downward"), *words, "--internal-plan-file", str(file)]
            code, out, second, peak = command(solve, limit, sas)
            found.megabytes = max(memory, peak)
            evaluated = re.search(r"Evaluated (\d+) state", out)
            found.evaluated = int(evaluated.group(1)) if evaluated else None
            timed = re.search(r"Search time: ([\d.]+)s", out)
            found.search_seconds = float(timed.group(1)) if timed else second
            if code != 0 or first + second > limit:
                found.failure = "out-of-time" if code in (-9, -24, 23, 247) or code == 0 else f"exit {code}"
                return found
            found.seconds = first + second
            found.cost = judged(domain, problem, file)
        return found

    return run


def script(name: str, words: Callable[[Path, Path, Path], list[str]]) -> Callable[[Path, Path, float], Run]:
    """A planner that is one Python command and writes its plan to a file."""

    def run(domain: Path, problem: Path, limit: float) -> Run:
        found = Run(name, name_of(problem))
        with tempfile.TemporaryDirectory() as folder:
            copies = [Path(folder, "domain.pddl"), Path(folder, "problem.pddl")]
            for copy, original in zip(copies, (domain, problem), strict=True):
                copy.write_bytes(original.read_bytes())
            file = Path(folder, "problem.pddl.soln")
            code, out, seconds, found.megabytes = command(words(copies[0], copies[1], file), limit)
            evaluations = re.search(r"(\d+) Nodes expanded", out)
            found.evaluated = int(evaluations.group(1)) if evaluations else None
            if code != 0 or not file.exists():
                late = code in (-9, -24)
                found.failure = (
                    "out-of-time" if late else (out.strip().splitlines() or [f"exit {code}"])[-1][:80]
                )
                return found
            found.seconds = seconds
            found.cost = judged(domain, problem, file)
        return found

    return run


def judged(domain: Path, problem: Path, plan: Path) -> float | None:
    """The cost of a plan as the reference semantics sees it; NaN if it is not a plan."""
    task = pds.load_problem(problem, pds.load_domain(domain))
    verdict = validate(task, read_plan(Source(str(plan), plan.read_text()), task.universe))
    return verdict.cost if verdict.valid else math.nan


def problems_in(folder: Path, only: str, each: int | None) -> list[tuple[Path, Path]]:
    """The problems of a folder with their domains; of each domain at most so many, spread evenly over all."""
    found = [(p.parent / "domain.pddl", p) for p in sorted(folder.glob("*/p*.pddl"))]
    found = [(domain, problem) for domain, problem in found if domain.exists()]
    for domain in sorted(folder.glob("*.pddl")):
        found += [(domain, problem) for problem in sorted((folder / domain.stem).glob("*.pddl"))]
    chosen = [pair for pair in found if re.search(only, name_of(pair[1]))]
    if each is None:
        return chosen
    by_domain: dict[Path, list[tuple[Path, Path]]] = {}
    for pair in chosen:
        by_domain.setdefault(pair[0], []).append(pair)
    return [
        own[len(own) * i // min(each, len(own))]
        for own in by_domain.values()
        for i in range(min(each, len(own)))
    ]


def name_of(problem: Path) -> str:
    return f"{problem.parent.name} {problem.stem}"


def whole_command(search: str, heuristic: str) -> Callable[[Path, Path, float], Run]:
    """Plan as a shell would."""
    plan = [sys.executable, "-m", "pdsketch", "plan", "--search", search, "--heuristic", heuristic]
    plan += ["--memory-limit", "8000"]
    return script(f"pdsketch {search}", lambda d, p, f: [*plan, str(d), str(p), "-o", str(f)])


def planners(
    peers: str, searches: Sequence[str], heuristic: str, seconds: float | None, *, cold: bool
) -> dict[str, Callable[[Path, Path, float], Run]]:
    """Ours, and those peers that the interpreter has."""
    found = {
        f"pdsketch {search}": whole_command(search, heuristic) if cold else ours(search, heuristic, seconds)
        for search in searches
    }
    homes = {}
    for package in ("up_fast_downward", "pyperplan", "pymimir"):
        done = subprocess.run(
            [peers, "-c", WHERE.format(package)], capture_output=True, text=True, check=False
        )
        homes[package] = done.stdout.strip()
    if homes["up_fast_downward"]:
        for search in searches:
            home = Path(homes["up_fast_downward"])
            found[f"Fast Downward {search}"] = fast_downward(peers, home, search, heuristic, seconds)
    if homes["pyperplan"]:
        flags = ["-H", "hff", "-s", "gbf"]
        found["pyperplan"] = script(
            "pyperplan", lambda d, p, f: [peers, "-c", PYPERPLAN, *flags, str(d), str(p)]
        )
    if homes["pymimir"]:
        found["pymimir"] = script("pymimir", lambda d, p, f: [peers, "-c", PYMIMIR, str(d), str(p), str(f)])
    return found


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(max(value, 1e-3)) for value in values)) if values else math.nan


def compare(runs: dict[tuple[str, str], Run], mine: str, theirs: str) -> dict[str, object]:
    """Both planners over the problems that both solve, and our slowest ratio."""
    names = [name for planner, name in runs if planner == mine]
    pairs = [(runs[mine, n], runs[theirs, n]) for n in names]
    both = [(a, b) for a, b in pairs if a.seconds is not None and b.seconds is not None]
    rates = [(a.rate, b.rate) for a, b in pairs if a.rate is not None and b.rate is not None]
    worst = max(both, key=lambda pair: pair[0].seconds / pair[1].seconds, default=None)
    over = [a.problem for a, b in both if a.seconds > 5 * b.seconds + 0.2]
    memory = [a.problem for a, b in both if (a.megabytes or 0) > 2 * (b.megabytes or 0) + 200]
    return {
        "ours": mine,
        "theirs": theirs,
        "solved": [
            sum(a.seconds is not None for a, _ in pairs),
            sum(b.seconds is not None for _, b in pairs),
        ],
        "both": len(both),
        "geometric_means": [geometric_mean([r.seconds for r in side]) for side in zip(*both, strict=True)],
        "worst": f"{worst[0].problem}: {worst[0].seconds:.2f} s, {worst[1].seconds:.2f} s" if worst else None,
        "over_5x_and_0.2s": over,
        "over_2x_memory_and_200MB": memory,
        "ratio": geometric_mean([a.seconds / b.seconds for a, b in both]),
        "over_1.2x": [a.problem for a, b in both if a.seconds > 1.2 * b.seconds],
        "other_costs": [a.problem for a, b in both if a.cost != b.cost],
        "rates": len(rates),
        "ratio_of_rates": geometric_mean([mine / theirs for mine, theirs in rates]),
    }


def shown(run: Run) -> str:
    if run.seconds is None:
        return (run.failure or "-")[:11]
    mark = "!" if run.cost is None or math.isnan(run.cost) else ""
    rate = f" {run.rate / 1000:.1f}k/s" if run.rate else ""
    return f"{run.seconds:.2f}{mark} ({run.cost:g}){rate}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument(
        "--peers", default=sys.executable, metavar="PYTHON", help="an interpreter that has the peers"
    )
    parser.add_argument("--limit", type=float, default=60, metavar="S", help="CPU seconds for each run")
    parser.add_argument("--searches", default="lazy-gbfs,gbfs")
    parser.add_argument("--heuristic", default="ff", help="ours and Fast Downward's: ff, lmcut, max, add")
    parser.add_argument("--seconds", type=float, metavar="S", help="end each search then: compare rates")
    parser.add_argument("--cold", action="store_true", help="time whole commands of ours, too")
    parser.add_argument("--only", default="", metavar="TEXT", help="problems whose name matches")
    parser.add_argument("--each", type=int, metavar="N", help="at most N problems of each domain")
    parser.add_argument("--planners", default="", metavar="TEXT", help="planners whose name matches")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    args = parser.parse_args()
    problems = problems_in(args.folder, args.only, args.each)
    chosen = planners(args.peers, args.searches.split(","), args.heuristic, args.seconds, cold=args.cold)
    chosen = {name: run for name, run in chosen.items() if re.search(args.planners, name)}
    if args.cold:  # as an installed package is
        compileall.compile_dir(Path(pds.__file__).parent, quiet=1)
    first_domain, first = problems[0]
    pds.plan(pds.load_problem(first, pds.load_domain(first_domain)))  # imports
    runs: dict[tuple[str, str], Run] = {}
    failed: set[tuple[str, str]] = set()
    print("\t".join(["problem", *chosen]))
    for domain, problem in problems:
        for planner, run in chosen.items():
            if (planner, problem.parent.name) in failed and planner in ("pyperplan", "pymimir"):
                runs[planner, name_of(problem)] = Run(planner, name_of(problem), failure="(skipped)")
                continue
            found = run(domain, problem, args.limit)
            runs[planner, name_of(problem)] = found
            if found.seconds is None:
                failed.add((planner, problem.parent.name))
        row = [runs[planner, name_of(problem)] for planner in chosen]
        print("\t".join([name_of(problem), *map(shown, row)]), flush=True)
    tables = [
        compare(runs, f"pdsketch {search}", theirs)
        for search in args.searches.split(",")
        for theirs in chosen
        if theirs in (f"Fast Downward {search}", "pyperplan", "pymimir") and f"pdsketch {search}" in chosen
    ]
    print(json.dumps(tables, indent=1))
    if args.json is not None:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "limit": args.limit}
        figures = {"machine": machine, "summary": tables, "runs": [asdict(run) for run in runs.values()]}
        args.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
