"""How many states are evaluated together: as many as a portion of memory holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from pdsketch.budget import current
from pdsketch.tensor.portions import PORTION


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
                room = min(PORTION, max(budget.memory - budget.grown(), 0.0) / 4)
                size = max(1, int(room / self._weight))
            yield slice(at, min(at + size, rows))
            at += size

    def wants(self, rows: int) -> bool:
        """Whether to tell what so many rows took: no portion was as large before."""
        return rows >= 2 * self._largest

    def learn(self, rows: int, size: float) -> None:
        """So many rows took so many bytes."""
        self._largest = max(self._largest, rows)
        self._weight = max(self._weight, size / rows, 1.0)
