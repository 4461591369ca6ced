"""Numba's work does not count: the clock of budgets stands still while it compiles, its memory is put aside.

That happens once on a machine and takes longer than many a limit: a first plan
must not run out of time for it, and who waits is told what for. Kernels that are kept on disk are
loaded once a process.
"""

from __future__ import annotations

import sys
from threading import Timer
from time import monotonic
from typing import Any, Final, final

from numba.core import event

from pdsketch.budget import COMPILING, LOADING, Aside


@final
class _Listener(event.Listener):
    def __init__(self, aside: Aside) -> None:
        self._aside = aside

    def on_start(self, _: Any) -> None:
        """Numba begins with something, perhaps within something else."""
        self._aside.begin()

    def on_end(self, _: Any) -> None:
        """It has ended."""
        self._aside.end()


ANNOUNCED_AFTER: Final = 1.5
"""Seconds of compiling after which the user is told; set by hand."""


@final
class Announcement(event.Listener):
    """Says, once, that kernels are compiled, if that takes a while in all."""

    def __init__(self, after: float = ANNOUNCED_AFTER) -> None:
        self._left = after
        self._depth = 0
        self._since = 0.0
        self._timer: Timer | None = None
        self._told = False

    def on_start(self, _: Any) -> None:
        """A kernel is compiled, perhaps within another one."""
        self._depth += 1
        if self._depth > 1 or self._told:
            return
        self._since = monotonic()
        self._timer = Timer(max(0.0, self._left), self._tell)
        self._timer.daemon = True
        self._timer.start()

    def on_end(self, _: Any) -> None:
        """It has been."""
        self._depth -= 1
        if not self._depth and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left -= monotonic() - self._since

    def _tell(self) -> None:
        self._told = True
        sys.stderr.write("pdsketch: compiling the planner's kernels (once, up to a minute) ...\n")
        sys.stderr.flush()


event.register("numba:compile", _Listener(COMPILING))  # type: ignore[no-untyped-call]
event.register("numba:compiler_lock", _Listener(LOADING))  # type: ignore[no-untyped-call]
event.register("numba:compile", Announcement())  # type: ignore[no-untyped-call]
