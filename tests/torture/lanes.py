"""Lanes: processes that take one try after the other. One that dies or hangs is a loss, and replaced."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.torture.losses import Group, Loss

PATIENCE = 180.0
"""Seconds after which a try is a hang, whatever it waits for itself."""

Case = tuple[str, int]


@dataclass
class Lane:
    """One process, the case that it is at, and the pipes to it."""

    pid: int
    cases: int
    results: int
    watch: int
    case: Case | None = None
    since: float = 0.0
    rest: bytes = b""
    tries: list[Case] = field(default_factory=list)


def attempt(group: Group, seed: int, root: Path) -> list[Loss]:
    """One try in a folder of its own, which is removed afterwards."""
    place = root / f"{group.name}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        return group.attempt(seed, place)
    except Exception:
        return [Loss("crash", traceback.format_exc()[-1500:])]
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run_all(
    groups: Mapping[str, Group], cases: Sequence[Case], root: Path, lanes: int, until: float
) -> Iterator[tuple[Case, list[Loss], float]]:
    """Every case with its losses and its seconds, as they end; none is begun after ``until``."""
    waiting = list(reversed(cases))
    running = [_open(groups, root / str(i)) for i in range(lanes)]
    try:
        while True:
            for lane in running:
                if lane.case is None and waiting and time.monotonic() < until:
                    _give(lane, waiting.pop())
            busy = [lane for lane in running if lane.case is not None]
            if not busy:
                return
            ready, _, _ = select.select([f for lane in busy for f in (lane.results, lane.watch)], [], [], 1.0)
            for lane in busy:
                case = lane.case
                assert case is not None
                seconds = time.monotonic() - lane.since
                losses = _answer(lane) if lane.results in ready else None
                if losses is None and lane.watch not in ready and seconds < PATIENCE:
                    continue
                if losses is None:
                    how = _close(lane)
                    running[running.index(lane)] = _open(groups, root / f"{case[0]}-{case[1]}-after")
                    losses = [Loss("hang" if seconds >= PATIENCE else "crash", f"the lane {how}")]
                lane.case = None
                yield case, losses, seconds
    finally:
        for lane in running:
            _close(lane)


def _open(groups: Mapping[str, Group], root: Path) -> Lane:
    (cases_in, cases_out), (results_in, results_out) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(cases_out)
        os.close(results_in)
        _serve(groups, root, cases_in, results_out)
    os.close(cases_in)
    os.close(results_out)
    return Lane(pid, cases_out, results_in, os.pidfd_open(pid))


def _serve(groups: Mapping[str, Group], root: Path, cases: int, results: int) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with open(cases) as lines:
            for line in lines:
                name, seed = json.loads(line)
                losses = attempt(groups[name], seed, root)
                os.write(results, json.dumps([asdict(loss) for loss in losses]).encode() + b"\n")
        os._exit(0)
    finally:
        os._exit(1)


def _give(lane: Lane, case: Case) -> None:
    lane.case, lane.since, lane.rest = case, time.monotonic(), b""
    with suppress(BrokenPipeError):
        os.write(lane.cases, json.dumps(case).encode() + b"\n")


def _answer(lane: Lane) -> list[Loss] | None:
    """The losses of the case at hand, if the lane has told them whole."""
    lane.rest += os.read(lane.results, 1 << 20)
    if not lane.rest.endswith(b"\n"):
        return None
    return [Loss(**loss) for loss in json.loads(lane.rest)]


def _close(lane: Lane) -> str:
    with suppress(ProcessLookupError):
        os.kill(lane.pid, signal.SIGKILL)
    _, status = os.waitpid(lane.pid, 0)
    for file in (lane.cases, lane.results, lane.watch):
        os.close(file)
    code = os.waitstatus_to_exitcode(status)
    return f"was killed by signal {-code}" if code < 0 else f"ended with {code}"


def print_progress(say: Callable[[str], None], done: int, total: int, losses: int, started: float) -> None:
    """A line on how far the tries are."""
    say(f"{done:,} of {total:,} tries, {losses} losses, {time.monotonic() - started:.0f} s")
    sys.stdout.flush()
