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
    """How a subject ended: its exit code, or minus the signal, what it wrote, and how large it was.

    ``seconds`` are of the clock and ``cpu`` of the processor, since it was sent a signal, or since its start.
    ``signalled``: it was sent one, and had not ended by itself before.
    """

    code: int
    out: str
    err: str
    seconds: float
    cpu: float
    megabytes: float
    hung: bool
    signalled: bool

    @property
    def took(self) -> float:
        """Seconds: on a busy machine less than the clock says. One that sleeps is noticed as a hang."""
        return min(self.seconds, self.cpu)

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
    started = time.monotonic()
    pipes = [os.pipe() for _ in range(2)]
    pid = os.fork()
    if pid == 0:
        os.chdir(place)
        _suffer(work, [theirs for _, theirs in pipes], before)
    for _, theirs in pipes:
        os.close(theirs)
    ended, spent = False, 0.0
    with _Watch(pid, [ours for ours, _ in pipes]) as watch:
        if after is not None:
            ended = watch.wait(after)
            if not ended:
                spent = _cpu_of(pid)
                os.kill(pid, what)
        since = time.monotonic()
        hung = not ended and not watch.wait(patience)
        if hung:
            os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    signalled = after is not None and not ended
    seconds = time.monotonic() - (since if signalled else started)
    code = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime - spent
    out, err = watch.texts()
    return Ended(code, out, err, seconds, cpu, usage.ru_maxrss / 1024, hung, signalled)


def command(*words: str) -> Callable[[], int]:
    """``pdsketch`` with these words, as a process of its own would run it."""

    def work() -> int:
        from pdsketch.cli.main import main

        sys.argv = ["pdsketch", *words]
        return main()

    return work


def new_process(*words: str) -> Callable[[], None]:
    """``pdsketch`` with these words, in an interpreter of its own."""

    def work() -> None:
        os.execv(sys.executable, [sys.executable, "-m", "pdsketch", *words])

    return work


def _cpu_of(pid: int) -> float:
    """The seconds of the processor that a process has taken so far."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


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


def _suffer(work: Callable[[], int | None], pipes: Sequence[int], before: Callable[[], None] | None) -> None:
    code = FAILED
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for number, pipe in enumerate(pipes, start=1):
            os.dup2(pipe, number)
            os.close(pipe)
        if before is not None:
            before()
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1, closefd=False)
        code = work() or 0
        sys.stdout.flush()
    except BaseException:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with suppress(BaseException):
            traceback.print_exc()
    finally:
        os._exit(code)


class _Watch:
    """Waits for the end of a process without reaping it, and takes what it writes."""

    def __init__(self, pid: int, pipes: Sequence[int]) -> None:
        self._process = os.pidfd_open(pid)
        self._written = {pipe: bytearray() for pipe in pipes}
        self._poll = select.poll()
        for file in (self._process, *pipes):
            self._poll.register(file, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        """Whether the process ends within some seconds."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            ready = dict(self._poll.poll(max(0, round(1000 * left))))
            for pipe in self._written.keys() & ready.keys():
                self._take(pipe)
            if self._process in ready:
                return True
            if left <= 0:
                return False

    def _take(self, pipe: int) -> bool:
        data = os.read(pipe, 1 << 16)
        self._written[pipe] += data
        if not data:
            self._poll.unregister(pipe)
        return bool(data)

    def texts(self) -> list[str]:
        """What the process has written, once it has ended."""
        return [bytes(data).decode(errors="replace") for data in self._written.values()]

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._written:
            os.set_blocking(pipe, False)
            with suppress(BlockingIOError):
                while self._take_rest(pipe):
                    pass
            os.close(pipe)
        os.close(self._process)

    def _take_rest(self, pipe: int) -> bool:
        data = os.read(pipe, 1 << 16)
        self._written[pipe] += data
        return bool(data)
