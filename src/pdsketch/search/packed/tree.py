"""The nodes of a search over a task, as others may look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pdsketch.core import SearchColumns
from pdsketch.lang import Step
from pdsketch.search.result import Fate, SearchNode

_FATES: Final[tuple[Fate, ...]] = ("open", "expanded", "dead-end")
"""By the engine's number."""


def tree(
    columns: SearchColumns, first: int, operators: Sequence[Step], weights: tuple[float, float], goal: int
) -> list[SearchNode]:
    """Nodes from ``first`` on, of which ``columns`` are the engine's; ``operators`` are named by number.

    ``weights`` are those of g and h in f, ``goal`` is -1 or the one found.
    """
    found = []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (parent, operator, g, h, status) in enumerate(rows, first):
        step = operators[operator] if parent >= 0 else None
        fate: Fate = "goal" if number == goal else _FATES[status]
        found.append(SearchNode(parent, step, g, h, weights[0] * g + weights[1] * h, fate))
    return found
