"""A line on stderr now and then, while a search runs."""

from __future__ import annotations

import time
from typing import Self, TextIO, final

from pdsketch.search import SearchProgress

EVERY = 5.0
"""Seconds between two lines; on a terminal the line is renewed in place, and more often."""


@final
class Ticker:
    """Writes how a search is going; call it with each `SearchProgress`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._renews = stream.isatty()
        self._every = 0.5 if self._renews else EVERY
        self._last = time.monotonic()
        self._open = False

    def __call__(self, progress: SearchProgress) -> None:
        """Write a line if the last one is old enough."""
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        line = (
            f"pdsketch: {progress.seconds:.0f} s, {progress.expanded} expanded, "
            f"{progress.evaluated} evaluated, lowest h {progress.best_h:g}, {progress.bytes / 1e6:.0f} MB"
        )
        self._stream.write(f"\r{line}\x1b[K" if self._renews else f"{line}\n")
        self._stream.flush()
        self._open = self._renews

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
