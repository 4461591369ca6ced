"""The command: ``python -m tests.agree --cases 100000 --seed 0 --jobs 2``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: the cases run in parallel already

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from tests.agree import files
from tests.agree.faults import FAULTS, planted
from tests.agree.kinds import KINDS
from tests.agree.run import Batch, Figures, batches, failure
from tests.agree.shrink import shrink
from tests.agree.workers import work

from pdsketch.lang.printer import format_source
from pdsketch.lang.source import Source

MOST_SHOWN = 10
"""So many differences of a kind are made small and written down; the rest are counted."""


def main() -> int:
    """Exit code 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.agree", description=sys.modules["tests.agree"].__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="all", help=f"one or several, by commas: {', '.join(KINDS)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; 0: in this one")
    parser.add_argument("--keep", type=Path, default=Path("build/agree"), help="where differences are written")
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
    console = Console(stderr=False)
    started = time.monotonic()
    figures = {name: Figures() for name in kinds}
    found: list[tuple[str, int, str]] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("cases", total=cases)
        told = 0
        for batch in work(batches(kinds, cases, seed), jobs):
            figures[batch.kind].add(batch.figures)
            found += [(batch.kind, at, said) for at, said in batch.found]
            progress.update(bar, advance=batch.figures.cases, description=f"{len(found)} differ")
            done = sum(f.cases for f in figures.values())
            if not console.is_terminal and done * 20 // cases > told:
                told = done * 20 // cases
                console.print(f"{done:,} of {cases:,} cases, {len(found)} differ, {time.monotonic() - started:.0f} s")
            for at, said in batch.found:
                console.print(f"{batch.kind} {at}: {said[:300]}", markup=False, highlight=False)
    keep_small(found, keep, console)
    console.print(table(figures))
    spent = time.monotonic() - started
    console.print(f"{sum(f.cases for f in figures.values()):,} cases from seed {seed} in {spent:.0f} s: {len(found)} differ")
    return int(bool(found))


def keep_small(found: list[tuple[str, int, str]], keep: Path, console: Console) -> None:
    """Make differences small, write them down, and say how to see each."""
    seen: dict[tuple[str, str], int] = {}
    for kind, seed, said in found:
        group = (kind, said.split(",")[0])
        seen[group] = seen.get(group, 0) + 1
        if seen[group] > MOST_SHOWN:
            continue
        case = KINDS[kind].case(seed)
        if "the process ended" not in said and "more than" not in said:
            case, said = shrink(case, failure)
        folder = files.write(laid_out(case), keep / f"{kind}-{seed}", said)
        console.print(f"\n{said[:600]}", markup=False, highlight=False)
        console.print(f"  python -m tests.agree --show {folder}", markup=False, highlight=False)


def laid_out(case):
    """The case with its texts as `fmt` writes them."""
    from dataclasses import replace

    texts = {
        name: format_source(Source(name, getattr(case.sample, name))) for name in ("domain_text", "problem_text")
    }
    return replace(case, sample=replace(case.sample, **texts))


def table(figures: dict[str, Figures]) -> Table:
    """Cases and differences of each kind, and what the problems were like."""
    outcomes = ("several steps", "one step", "holds at once", "unsolvable", "open")
    found = Table(title="engines against the reference")
    for column in ("kind", "cases", "differ", "ms a case", "states", *outcomes):
        found.add_column(column, justify="left" if column == "kind" else "right")
    whole = Figures()
    for own in figures.values():
        whole.add(own)
    for name, own in {**figures, "all": whole}.items():
        cases = max(own.cases, 1)
        shares = [f"{100 * own.outcomes[outcome] / cases:.0f} %" for outcome in outcomes]
        speed = f"{1000 * own.seconds / cases:.1f}"
        found.add_row(name, f"{own.cases:,}", str(own.differences), speed, f"{own.states / cases:.1f}", *shares)
    return found


def plant(cases: int, seed: int) -> int:
    """Plant each fault and look for it; the number of cases that it took."""
    missed = 0
    for fault in FAULTS:
        with planted(fault):
            batch = Batch(fault.kind, range(seed * 10**9, seed * 10**9 + cases))
            for at in batch.seeds:
                batch.one(at)
                if batch.found:
                    break
        missed += not batch.found
        said = batch.found[0][1][:100] if batch.found else "not found"
        print(f"{batch.figures.cases:6,} cases  {fault.kind:10} {fault.name}: {said}", flush=True)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
