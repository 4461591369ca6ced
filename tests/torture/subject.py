"""A process that is made to suffer: forked, with its output in files, and killed at a chosen moment.

Forking a process that has imported everything takes milliseconds, where a new one takes seconds.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.torture.losses import Loss

INTERRUPTED = 130
FAILED = 70
"""The exit code of a subject in which an exception was not caught."""


@dataclass(frozen=True)
class Ended:
    """How a subject ended: its exit code, or minus the signal; what it wrote; how long it took and grew."""

    code: int
    out: str
    err: str
    seconds: float
    cpu: float
    megabytes: float
    hung: bool

    def crashes(self, killed: bool = False) -> list[Loss]:
        """What must never happen: a traceback, a signal that nobody sent, or no end."""
        found = []
        if self.hung:
            found.append(Loss("hang", f"still there after {self.seconds:.1f} s"))
        elif self.code < 0 and not killed:
            found.append(Loss("crash", f"killed by signal {-self.code}: {self.err[-300:]}"))
        elif self.code == FAILED or "Traceback (most recent call last)" in self.err:
            found.append(Loss("crash", self.err[-1500:]))
        return found


def run(
    work: Callable[[], int | None],
    place: Path,
    *,
    after: float | None = None,
    what: int = signal.SIGKILL,
    patience: float = 60.0,
    before: Callable[[], None] | None = None,
) -> Ended:
    """Do some work in a fork; send it a signal ``after`` so many seconds, and wait for its end.

    ``before`` is done in the fork first: it may close streams and set limits.
    """
    out, err = place / "out", place / "err"
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _suffer(work, out, err, before)
    ended = False
    with _Watch(pid) as watch:
        if after is not None:
            ended = watch.wait(after)
            if not ended:
                os.kill(pid, what)
        since = time.monotonic()
        hung = not ended and not watch.wait(patience)
        if hung:
            os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    seconds = time.monotonic() - (since if after is not None and not ended else started)
    code = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Ended(code, _text(out), _text(err), seconds, cpu, usage.ru_maxrss / 1024, hung)


def command(*words: str) -> Callable[[], int]:
    """``pdsketch`` with these words, as a process of its own would run it."""

    def work() -> int:
        from pdsketch.cli.main import main

        sys.argv = ["pdsketch", *words]
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        except KeyboardInterrupt:  # it came before the command had begun
            return INTERRUPTED
        return main()

    return work


def limit_files(size: int) -> Callable[[], None]:
    """For ``before``: no file may grow beyond a size."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def limit_memory(megabytes: int) -> Callable[[], None]:
    """For ``before``: the process may not ask for so much more memory than it has."""

    def limit() -> None:
        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + (megabytes << 20), resource.RLIM_INFINITY))

    return limit


def all_of(steps: Sequence[Callable[[], None]]) -> Callable[[], None]:
    """For ``before``: several things."""

    def do() -> None:
        for step in steps:
            step()

    return do


def _suffer(
    work: Callable[[], int | None], out: Path, err: Path, before: Callable[[], None] | None
) -> None:
    code = FAILED
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, file in ((1, out), (2, err)):
            opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)
        if before is not None:
            before()
        code = work() or 0
        sys.stdout.flush()
    except BaseException:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with suppress(BaseException):
            traceback.print_exc()
    finally:
        os._exit(code)


class _Watch:
    """Waits for the end of a process without reaping it."""

    def __init__(self, pid: int) -> None:
        self._file = os.pidfd_open(pid)
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        return bool(self._poll.poll(max(0, round(1000 * seconds))))

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def _text(path: Path) -> str:
    with suppress(FileNotFoundError):
        return path.read_text(errors="replace")
    return ""
