"""The clock of time limits. It stands still while kernels are compiled.

That happens once on a machine and takes longer than many a limit: a first plan
must not run out of time for it.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, final

from numba.core import event


@final
class _Compilation(event.Listener):
    """How many seconds numba has compiled for; one compilation may contain others."""

    def __init__(self) -> None:
        self._total = 0.0
        self._depth = 0
        self._since = 0.0

    def on_start(self, _: Any) -> None:
        """A compilation begins."""
        if self._depth == 0:
            self._since = monotonic()
        self._depth += 1

    def on_end(self, _: Any) -> None:
        """It has ended."""
        self._depth -= 1
        if self._depth == 0:
            self._total += monotonic() - self._since

    @property
    def seconds(self) -> float:
        """The time spent, that of a compilation under way included."""
        return self._total + (monotonic() - self._since if self._depth else 0.0)


_COMPILATION = _Compilation()
event.register("numba:compile", _COMPILATION)  # type: ignore[no-untyped-call]


def now() -> float:
    """Seconds since some moment, those of compilation left out."""
    return monotonic() - _COMPILATION.seconds
