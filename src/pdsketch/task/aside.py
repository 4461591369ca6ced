"""Numba's work does not count: the clock of budgets stands still while it compiles, its memory is put aside.

That happens once on a machine and takes longer than many a limit: a first plan
must not run out of time for it. Kernels that are kept on disk are loaded once a process.
"""

from __future__ import annotations

from typing import Any, final

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


event.register("numba:compile", _Listener(COMPILING))  # type: ignore[no-untyped-call]
event.register("numba:compiler_lock", _Listener(LOADING))  # type: ignore[no-untyped-call]
