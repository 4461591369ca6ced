"""The nodes of a search over a task, as others may look at them."""

from __future__ import annotations

from collections.abc import Sequence

from pdsketch.lang import Step
from pdsketch.search.packed.nodes import CLOSED, DEAD, OPEN, Nodes
from pdsketch.search.result import Fate, SearchNode

_FATES: dict[int, Fate] = {OPEN: "open", CLOSED: "expanded", DEAD: "dead-end"}


def tree(
    nodes: Nodes, first: int, last: int, operators: Sequence[Step], weights: tuple[float, float], goal: int
) -> list[SearchNode]:
    """Nodes ``first`` to ``last``; ``weights`` are those of g and h in f, ``goal`` is -1 or the one found."""
    columns = (nodes.parent, nodes.operator, nodes.g, nodes.h, nodes.status)
    found = []
    rows = zip(*(column[first:last].tolist() for column in columns), strict=True)
    for number, (parent, operator, g, h, status) in enumerate(rows, first):
        step = operators[operator] if parent >= 0 else None
        fate = "goal" if number == goal else _FATES[status]
        found.append(SearchNode(parent, step, g, h, weights[0] * g + weights[1] * h, fate))
    return found
