"""The nodes of a search while it runs, for who wants to look at them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

from pdsketch.lang.steps import Step

Fate = Literal["open", "expanded", "dead-end", "goal"]


@final
@dataclass(frozen=True, slots=True)
class SearchNode:
    """A state that a search has met, by the step that led to it from ``parent`` (-1: the initial state).

    ``fate`` is ``dead-end`` where the heuristic sees no way to the goal: the state is not expanded.
    """

    parent: int
    step: Step | None
    g: float
    h: float
    f: float
    fate: Fate


Nodes = Callable[[int, int], list[SearchNode]]
"""``nodes(first, last)``: those with these numbers, as far as there are any, in the order they were met."""

Trace = Callable[[Nodes], None]
"""Called between the slices of a search and at its end; a search that begins again numbers its nodes anew."""
