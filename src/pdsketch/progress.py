"""A line on stderr while something takes long: what it is, for how long, how far it has come.

Nobody needs to say anything for it: a thread writes the line. Where one thing is done within another, as a
plan within a rollout, one line says both.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ClassVar, Final, ParamSpec, Self, TypeVar, final

FIRST: Final = 2.0
"""Seconds before there is a line at all."""

RENEWED: Final = 0.5
"""Seconds after which the line is renewed in place, on a terminal or in a notebook."""

LINES: Final = 10.0
"""Seconds without a word after which there is a line elsewhere, as in the log of a job."""


@final
class Ticker:
    """Within, a line says that ``what`` goes on, and what it was told last: call it with a few words.

    ``shown`` is whether there are lines; None: where somebody watches, on a terminal or in a notebook. Within
    another one, a ticker is shown as that is.
    """

    _open: ClassVar[list[Ticker]] = []
    _lock: ClassVar[threading.RLock] = threading.RLock()
    _spoke: ClassVar[float] = 0.0

    def __init__(self, what: str, shown: bool | None = None) -> None:
        self.what = what
        self._shown = shown
        self._said = ""
        self._since = 0.0
        self._ended = threading.Event()
        self._line = False
        self._runs = False

    def __call__(self, said: str) -> None:
        """Say how far it has come; this costs next to nothing."""
        self._said = said

    def __enter__(self) -> Self:
        self._since = time.monotonic()
        if threading.current_thread() is not threading.main_thread():
            return self
        with Ticker._lock:
            Ticker._open.append(self)
            outermost = len(Ticker._open) == 1
        if outermost and (watched() if self._shown is None else self._shown):
            self._runs = True
            threading.Thread(target=self._run, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with Ticker._lock:
            self._ended.set()
            if self in Ticker._open:
                Ticker._open.remove(self)
            self._clear()

    def _run(self) -> None:
        """Write lines until it is over."""
        renews = watched()
        while not self._ended.wait(RENEWED):
            with Ticker._lock:
                now = time.monotonic()
                quiet = now - max(self._since, Ticker._spoke)
                due = now - self._since >= FIRST if renews else quiet >= LINES
                if due and not self._ended.is_set():
                    text = "; ".join(one._text(now) for one in Ticker._open)
                    _write(f"\r{text}\x1b[K" if renews else f"{text}\n")
                    self._line, Ticker._spoke = renews, now

    def _text(self, now: float) -> str:
        return f"{self.what}: {now - self._since:.0f} s" + (f", {self._said}" if self._said else "")

    def _clear(self) -> None:
        if self._line:
            self._line = False
            _write("\r\x1b[K")

    @property
    def visible(self) -> bool:
        """Whether what is said can be seen."""
        return any(one._runs for one in Ticker._open[:1])

    @classmethod
    @contextmanager
    def paused(cls) -> Iterator[None]:
        """Within, somebody else writes to stderr: the line is taken away first."""
        with cls._lock:
            for one in cls._open[:1]:
                one._clear()
            cls._spoke = time.monotonic()
            yield


Given = ParamSpec("Given")
Found = TypeVar("Found")


def ticking(what: str) -> Callable[[Callable[Given, Found]], Callable[Given, Found]]:
    """A function that says how long it takes, where somebody watches."""

    def decorate(function: Callable[Given, Found]) -> Callable[Given, Found]:
        @wraps(function)
        def run(*args: Given.args, **options: Given.kwargs) -> Found:
            with Ticker(what):
                return function(*args, **options)

        return run

    return decorate


def watched() -> bool:
    """Whether somebody sees stderr as it is written: on a terminal, or in a notebook."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # a courtesy, and nobody is left to be told
        return
