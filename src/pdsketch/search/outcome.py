"""How a search is going, and how it ended: what is the same over tasks and over models."""

from __future__ import annotations

from math import inf, isinf
from typing import final

from pdsketch.lang import dataclass
from pdsketch.search.result import Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended: its counters, and the lowest h that was seen."""

    status: Status
    expanded: int = 0
    evaluated: int = 0
    generated: int = 0
    best_h: float = inf

    @property
    def lowest_h(self) -> float | None:
        """The lowest h, None where no finite one was seen."""
        return None if isinf(self.best_h) else self.best_h


@final
@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How a search is going; ``open_problems`` of those that are searched together have no answer yet."""

    seconds: float
    expanded: int
    evaluated: int
    generated: int
    best_h: float
    bytes: int
    open_problems: int = 1
