"""The command: ``python -m tests.agree --cases 100000 --seed 0 --jobs 2``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: the cases run in parallel already

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tests.agree import files
from tests.agree.case import Case
from tests.agree.faults import FAULTS, look_for
from tests.agree.kinds import KINDS
from tests.agree.run import Figures, batches, failure
from tests.agree.shrink import shrink
from tests.agree.workers import ENDED, HUNG, work

from pdsketch.lang.printer import format_source
from pdsketch.lang.source import Source

MOST_SHOWN = 5
"""So many differences of a kind are made small and written down; the rest are counted."""


def main() -> int:
    """Exit code 1 if anything differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.agree", description=sys.modules["tests.agree"].__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="all", help=f"one or several, by commas: {', '.join(KINDS)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; 0: in this one")
    parser.add_argument(
        "--keep", type=Path, default=Path("build/agree"), help="where differences are written"
    )
    parser.add_argument("--show", type=Path, metavar="FOLDER", help="check a case that was written down")
    parser.add_argument("--faults", action="store_true", help="plant errors, and say how soon each is found")
    args = parser.parse_args()
    if args.show is not None:
        return show(args.show)
    if args.faults:
        return plant(args.cases, args.seed)
    kinds = list(KINDS) if args.kind == "all" else args.kind.split(",")
    for name in kinds:
        if name not in KINDS:
            parser.error(f"there is no kind `{name}`; known are {', '.join(KINDS)}")
    return run(kinds, args.cases, args.seed, args.jobs, args.keep)


def show(folder: Path) -> int:
    """Check one case from its files, and say what differs."""
    case = files.read(folder)
    said = failure(case)
    print(case.sample)
    print(f"\n{case.kind}: {said or 'all agree'}")
    return int(said is not None)


def run(kinds: list[str], cases: int, seed: int, jobs: int, keep: Path) -> int:
    """So many random cases; the number of differences is what counts."""
    started = time.monotonic()
    figures = {name: Figures() for name in kinds}
    found: list[tuple[str, int, str]] = []
    with Bar(cases) as bar:
        for batch in work(batches(kinds, cases, seed), jobs):
            figures[batch.kind].add(batch.figures)
            for at, said in batch.found:
                found.append((batch.kind, at, said))
                bar.say(f"{batch.kind} {at}: {said[:300]}")
            bar.at(sum(own.cases for own in figures.values()), len(found))
    keep_small(found, keep)
    print(table(figures))
    spent = time.monotonic() - started
    print(f"{cases:,} cases from seed {seed} in {spent:.0f} s: {len(found)} differ")
    return int(bool(found))


class Bar:
    """How far the run is: a bar on a terminal, else a line now and then."""

    def __init__(self, cases: int) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._cases = cases
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("0 differ", total=cases)
        self._lines = 0
        self._started = time.monotonic()

    def __enter__(self) -> Bar:
        if self._progress.console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def at(self, done: int, differ: int) -> None:
        """So many cases are done."""
        self._progress.update(self._task, completed=done, description=f"{differ} differ")
        if not self._progress.console.is_terminal and done * 10 // self._cases > self._lines:
            self._lines = done * 10 // self._cases
            spent = time.monotonic() - self._started
            self.say(f"{done:,} of {self._cases:,} cases, {differ} differ, {spent:.0f} s")

    def say(self, line: str) -> None:
        """A line that stays."""
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)


def keep_small(found: list[tuple[str, int, str]], keep: Path) -> None:
    """Make differences small, write them down, and say how to see each."""
    seen: Counter[tuple[str, str]] = Counter()
    for kind, seed, said in found:
        group = (kind, said.split(",")[0])
        seen[group] += 1
        if seen[group] > MOST_SHOWN:
            continue
        case, why = KINDS[kind].case(seed), said
        if failure_is_told(said):
            case, why = shrink(case, failure)
        folder = files.write(laid_out(case), keep / f"{kind}-{seed}", why)
        print(f"\n{why[:600]}\n  python -m tests.agree --show {folder}")
    for (kind, engine), count in seen.items():
        if count > MOST_SHOWN:
            print(f"\n{count - MOST_SHOWN} more of {kind} differ: {engine}")


def failure_is_told(said: str) -> bool:
    """Whether the case can be checked again in this process: it neither killed its own nor hung."""
    return ENDED not in said and HUNG not in said


def laid_out(case: Case) -> Case:
    """The case with its texts as `fmt` writes them."""
    texts = {
        name: format_source(Source(name, getattr(case.sample, name)))
        for name in ("domain_text", "problem_text")
    }
    return replace(case, sample=replace(case.sample, **texts))


OUTCOMES = {
    "several steps": "2+ steps",
    "one step": "1 step",
    "holds at once": "0 steps",
    "unsolvable": "no plan",
    "open": "open",
}
"""What problems are like, and the heads of their columns."""


def table(figures: dict[str, Figures]) -> str:
    """Cases and differences of each kind, and what the problems were like."""
    whole = Figures()
    for own in figures.values():
        whole.add(own)
    heads = ("cases", "differ", "ms each", "states", *OUTCOMES.values())
    lines = [f"{'kind':10}" + "".join(f"{head:>10}" for head in heads)]
    for name, own in {**figures, "all": whole}.items():
        cases = max(own.cases, 1)
        cells = [f"{own.cases:,}", str(own.differences), f"{1000 * own.seconds / cases:.1f}"]
        cells += [f"{own.states / cases:.1f}", *(f"{100 * own.outcomes[o] / cases:.0f} %" for o in OUTCOMES)]
        lines.append(f"{name:10}" + "".join(f"{cell:>10}" for cell in cells))
    return "\n".join(lines)


def plant(cases: int, seed: int) -> int:
    """Plant each fault and look for it; the number of cases that it took."""
    missed = 0
    for fault in FAULTS:
        looked, said = look_for(fault, cases, seed)
        missed += said is None
        print(f"{looked:6,} cases  {fault.kind:10} {fault.name}: {(said or 'not found')[:100]}", flush=True)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
