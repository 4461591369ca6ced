"""Faults in anger: ``python -m tests.torture`` (``make torture``, with those of the reproduction).

Every try has a group and a seed; ``--case GROUP:SEED`` makes one again and shows what it finds. What counts
as a loss stands in `tests.torture.losses`.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.torture import lanes
from tests.torture.losses import KINDS, Group, Loss

SHOWN = 12
"""Losses that are printed for each group; the others are counted."""


def groups_in(folder: Path) -> tuple[dict[str, Group], list[str]]:
    """All groups, and what is to be said about this machine; makes what they begin from."""
    from tests.torture import doors, engine, streams
    from tests.torture.corrupt import Corrupt
    from tests.torture.disks import Disks, can_mount
    from tests.torture.fixtures import make
    from tests.torture.kills import Kills
    from tests.torture.limits import Limits

    facts = make(folder)
    mounts = can_mount(folder / "mount")
    said = [] if mounts else ["no tmpfs can be mounted here: disks are full by RLIMIT_FSIZE alone"]
    kills, disks, corrupt, limits = Kills(facts), Disks(mounts), Corrupt(), Limits(facts)
    found = [
        Group("corrupt-episodes", corrupt.episodes, 4000),
        Group("corrupt-models", corrupt.models, 2500),
        Group("corrupt-checkpoints", corrupt.checkpoints, 1800),
        Group("kill-save-data", kills.save_data, 500),
        Group("kill-save", kills.save, 350),
        Group("kill-train", kills.train, 100),
        Group("full-disk", disks.command, 100),
        Group("full-disk-save", disks.save, 150),
        Group("full-disk-output", disks.small_outputs, 200),
        Group("closed-streams", streams.closed, 40),
        Group("full-streams", streams.full, 150),
        Group("ctrl-c", streams.interrupted, 300),
        Group("ctrl-c-process", streams.really_interrupted, 12),
        Group("engine-interrupted", engine.interrupted, 300),
        Group("engine-starved", engine.starved, 150),
        Group("at-once", engine.at_once, 100),
        Group("kill-learn", engine.learn, 4),
        Group("unknown-model", engine.unknown_model, 200),
        Group("serve", doors.serve, 60),
        Group("lsp", doors.lsp, 60),
        Group("limits", limits.attempt, 150),
    ]
    return {group.name: group for group in found}, said


def table(
    groups: Iterable[Group], tries: Counter[str], losses: Counter[tuple[str, str]], took: Counter[str]
) -> str:
    """Tries and losses by group."""
    head = ["group", "tries", *KINDS.values(), "seconds"]
    rows = [
        [
            g.name,
            f"{tries[g.name]:,}",
            *(str(losses[g.name, kind] or "·") for kind in KINDS),
            f"{took[g.name]:.0f}",
        ]
        for g in groups
    ]
    total = [
        "all",
        f"{tries.total():,}",
        *(str(sum(n for (_, k), n in losses.items() if k == kind)) for kind in KINDS),
        f"{sum(took.values()):.0f}",
    ]
    widths = [max(len(row[i]) for row in (head, *rows, total)) for i in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in (head, *rows, total)
    ]
    return "\n".join(lines)


def chosen(groups: dict[str, Group], only: list[str], seed: int, scale: float) -> list[lanes.Case]:
    """All cases, mixed, so that a run that is cut short has tried something of everything."""
    cases = [
        (group.name, seed * 1_000_000 + i)
        for group in groups.values()
        if not only or group.name in only
        for i in range(max(1, round(scale * group.tries)))
    ]
    random.Random(seed).shuffle(cases)
    return cases


def main(groups_in: Callable[[Path], tuple[dict[str, Group], list[str]]] = groups_in) -> int:
    """Make the tries of some groups; exit code 1 if anything was lost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--scale", type=float, default=1.0, help="part of the tries to make")
    parser.add_argument("--minutes", type=float, default=14.0, help="no try is begun after that")
    parser.add_argument("--only", action="append", default=[], metavar="GROUP")
    parser.add_argument("--case", metavar="GROUP:SEED", help="make one try again, and show what it finds")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once (2)")
    args = parser.parse_args()
    started = time.monotonic()
    memory = Path("/dev/shm")
    base = str(memory) if os.access(memory, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="pdsketch-torture-", dir=base))
    try:
        groups, said = groups_in(folder)
        for line in said:
            print(line)
        gc.collect()
        gc.freeze()
        if args.case:
            name, _, seed = args.case.partition(":")
            found = lanes.attempt(groups[name], int(seed), folder / "case")
            for loss in found:
                print(f"{loss.kind}: {loss.text}")
            print(f"{args.case}: {len(found)} losses")
            return 1 if found else 0
        return _all(groups, args, folder, started)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _all(groups: dict[str, Group], args: argparse.Namespace, folder: Path, started: float) -> int:
    cases = chosen(groups, args.only, args.seed, args.scale)
    print(
        f"seed {args.seed}: {len(cases):,} tries, prepared in {time.monotonic() - started:.0f} s", flush=True
    )
    tries: Counter[str] = Counter()
    losses: Counter[tuple[str, str]] = Counter()
    took: Counter[str] = Counter()
    until = started + 60 * args.minutes
    for case, found, seconds in lanes.run_all(groups, cases, folder / "lanes", args.jobs, until):
        tries[case[0]] += 1
        took[case[0]] += seconds
        for loss in found:
            _tell(case, loss, losses)
        if tries.total() % 1000 == 0:
            lanes.print_progress(print, tries.total(), len(cases), losses.total(), started)
    print(table([groups[name] for name in groups if tries[name]], tries, losses, took))
    print(f"seed {args.seed}, {time.monotonic() - started:.0f} s")
    if tries.total() < len(cases):
        print(f"{len(cases) - tries.total():,} tries were not begun: the time was up")
    return 1 if losses else 0


def _tell(case: lanes.Case, loss: Loss, losses: Counter[tuple[str, str]]) -> None:
    losses[case[0], loss.kind] += 1
    if sum(n for (name, _), n in losses.items() if name == case[0]) <= SHOWN:
        print(f"{KINDS[loss.kind]}: --case {case[0]}:{case[1]}\n    {loss.text.strip()[:600]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
