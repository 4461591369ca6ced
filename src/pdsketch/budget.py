"""How much time and memory a call may take: one budget, which every long loop asks.

A call makes a `Budget` and lets it run; whatever it calls asks `current`. Loops in
Python `tick` or `check`, the engine is given what is left, and who is
about to allocate much asks whether it `fits`. A limit that is reached raises a
`LimitError`, which the call turns into the status of its result.

The clock stands still while packages are imported, and the memory that this
takes is not counted: it happens once, and is nobody's search.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from math import inf
from threading import Lock
from time import monotonic
from typing import Final, Literal, final

MEGABYTE: Final = 1_000_000

DEFAULT_MEGABYTES: Final = 2000.0
"""What planning may take where nobody says otherwise."""

PORTION: Final = 32 * MEGABYTE
"""About how many bytes of tensors are worked on at a time; set by hand."""

ON_A_GPU: Final = 32
"""So many times as many on a GPU, where a call takes some microseconds, whatever it is given; set by hand."""

_TICKS: Final = 256
"""How many ticks pass between two looks at the clock."""

_LOOK: Final = 0.01
"""Seconds between two looks at the memory of the process, which cost some microseconds each."""

_GRACE: Final = 0.05
_GRACE_SECONDS: Final = 0.25
_GRACE_BYTES: Final = 25 * MEGABYTE


class LimitError(Exception):
    """A limit was reached. The arguments are reasons in words, if there is more to say than that."""

    status: Literal["out-of-time", "out-of-memory"]


@final
class OutOfTimeError(LimitError):
    """The deadline passed."""

    status = "out-of-time"


@final
class OutOfMemoryError(LimitError):
    """There is no room for what is to be done."""

    status = "out-of-memory"


@final
class Aside:
    """Time or memory that is not counted: what passes within, nested or not, in any thread."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self._measure = measure
        self._lock = Lock()
        self._total = 0.0
        self._depth = 0
        self._since = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._depth:
                self._since = self._measure()
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth:
                self._total += max(0.0, self._measure() - self._since)

    @property
    def total(self) -> float:
        """How much there was, what is under way included."""
        return self._total + (max(0.0, self._measure() - self._since) if self._depth else 0.0)


def resident() -> float:
    """The memory of this process in bytes; its peak where the system tells no more."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)


_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

_SECONDS: Final = Aside(monotonic)
_BYTES: Final = Aside(resident)


@contextmanager
def apart() -> Iterator[None]:
    """Within, neither time nor memory counts: for imports, which happen once a process."""
    with _SECONDS, _BYTES:
        yield


def now() -> float:
    """Seconds since some moment, those of imports left out."""
    return monotonic() - _SECONDS.total


def taken() -> float:
    """The memory of this process in bytes, that of imports left out."""
    return resident() - _BYTES.total


@final
class Budget:
    """At most so many ``seconds`` from now, and so many ``megabytes`` more than the process has now.

    ``clock`` and ``meter`` (in bytes) can be others than those of the process. A ``device`` on which small
    tensors take as long as large ones works on more at a time.
    """

    def __init__(
        self,
        seconds: float | None = None,
        megabytes: float | None = None,
        *,
        clock: Callable[[], float] = now,
        meter: Callable[[], float] = taken,
        device: Literal["cpu", "cuda"] = "cpu",
    ) -> None:
        self._device = device
        self._clock = clock
        self._meter = meter
        self._seconds = inf if seconds is None else seconds
        self.deadline = inf if seconds is None else clock() + seconds
        self.memory = inf if megabytes is None else megabytes * MEGABYTE
        self._start = 0.0 if megabytes is None else meter()
        self._grown = 0.0
        self._held = 0.0
        self._look = -inf
        self._ticks = _TICKS

    def narrowed(self, seconds: float | None = None, megabytes: float | None = None) -> Budget:
        """A budget of its own for a part of the call, which does not reach beyond this one."""
        inner = Budget(seconds, megabytes, clock=self._clock, meter=self._meter, device=self._device)
        inner._seconds = min(inner._seconds, self._seconds)
        inner.deadline = min(inner.deadline, self.deadline)
        if self.memory < inf and self.room() < inner.memory:
            inner._start, inner.memory = self._start, self.memory
        return inner

    def grace(self) -> Budget:
        """A little more, to replay what was found or to say why nothing was."""
        more = copy(self)
        more.deadline += _GRACE * self._seconds + _GRACE_SECONDS if self.deadline < inf else 0.0
        more.memory += _GRACE * self.memory + _GRACE_BYTES if self.memory < inf else 0.0
        return more

    @contextmanager
    def running(self) -> Iterator[Budget]:
        """Within, this is the `current` budget."""
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)

    def left(self) -> float:
        """Seconds until the deadline; negative after it."""
        return self.deadline - self._clock()

    def hold(self, size: float) -> None:
        """Say how many bytes the call holds, as far as it knows, and raise if that is too much.

        The process may have grown by less, if it had memory to spare.
        """
        self._held = size
        if size > self.memory:
            raise OutOfMemoryError

    def grown(self, *, fresh: bool = False) -> float:
        """The bytes taken so far; looked up anew only now and then, unless they must be ``fresh``."""
        if self.memory < inf:
            at = self._clock()
            if fresh or at >= self._look:
                self._look = at + _LOOK
                self._grown = self._meter() - self._start
        return max(self._grown, self._held)

    def room(self) -> float:
        """How many bytes are left."""
        return self.memory - self.grown(fresh=True) if self.memory < inf else inf

    def fits(self, size: float) -> bool:
        """Whether so many bytes more would fit."""
        return self.memory == inf or size <= self.memory - self.grown(fresh=size > MEGABYTE)

    def check(self) -> None:
        """Raise if a limit was reached."""
        at = self._clock()
        if at > self.deadline:
            raise OutOfTimeError
        if at >= self._look and self.grown(fresh=True) > self.memory:
            raise OutOfMemoryError

    def tick(self) -> None:
        """`check`, once in a while: for loops whose steps are short."""
        self._ticks -= 1
        if self._ticks <= 0:
            self._ticks = _TICKS
            self.check()

    def reserve(self, size: float) -> None:
        """Raise if a limit was reached, or would be by taking so many bytes."""
        self.check()
        if not self.fits(size):
            raise OutOfMemoryError

    @property
    def at_once(self) -> float:
        """About how many bytes of tensors to work on at a time, where there is room for them."""
        return PORTION if self._device == "cpu" else ON_A_GPU * PORTION

    def portion(self) -> float:
        """How many bytes to work on at a time: a quarter of what is left, and no more than `at_once`."""
        return min(self.at_once, max(self.memory - self.grown(), 0.0) / 4)


UNLIMITED: Final = Budget()

_CURRENT: ContextVar[Budget] = ContextVar("budget", default=UNLIMITED)


def current() -> Budget:
    """The budget of the call under way; one without limits where there is none."""
    return _CURRENT.get()


@final
class Portions:
    """Portions of states, or of other rows, by what earlier ones took; the first is of ``first`` rows.

    Their sizes depend on the shapes of what is computed, and not on the clock: a search
    takes the same course every time, but close to the limit of its memory.
    """

    def __init__(self, first: int = 1) -> None:
        self._first = first
        self._weight = 0.0
        self._largest = 0

    def of(self, rows: int) -> Iterator[slice]:
        """The portions of so many rows; the budget is asked before each."""
        budget = current()
        at = 0
        while at < rows:
            budget.check()
            size = self._first
            if self._weight:
                size = max(1, int(budget.portion() / self._weight))
            yield slice(at, min(at + size, rows))
            at += size

    def wants(self, rows: int) -> bool:
        """Whether to tell what so many rows took: no portion was as large before."""
        return rows >= 2 * self._largest

    def learn(self, rows: int, size: float) -> None:
        """So many rows took so many bytes."""
        self._largest = max(self._largest, rows)
        self._weight = max(self._weight, size / rows, 1.0)
