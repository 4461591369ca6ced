"""The nodes of a search while it runs, for who wants to look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from math import nan
from typing import Literal, final

from pdsketch.lang import Step, dataclass

Fate = Literal["open", "expanded", "dead-end", "visited", "goal"]


@final
@dataclass(frozen=True, slots=True)
class SearchNode:
    """A state that a search has met, by the step that led to it from ``parent`` (-1: the initial state).

    ``fate`` is ``dead-end`` where the heuristic sees no way to the goal, and ``visited`` where the same state
    was met before at no higher cost: such states are not expanded. Where h is not known, it is NaN.
    """

    parent: int
    step: Step | None
    g: float
    h: float
    f: float
    fate: Fate


Nodes = Callable[[int, int], list[SearchNode]]
"""``nodes(first, last)``: those with these numbers, as far as there are any, in the order they were met.

Two of them are equal where they are of the same search.
"""

Trace = Callable[[Nodes], None]
"""Called between the slices of a search and at its end; a search that begins again numbers its nodes anew."""


@final
@dataclass(frozen=True, slots=True)
class Continued:
    """The nodes of a search over a task that goes on from where some steps of its model have led.

    ``steps`` are the model's, by the operators of the task.
    """

    nodes: Nodes
    done: tuple[Step, ...]
    steps: Mapping[Step, Step] = field(compare=False)

    def __call__(self, first: int, last: int) -> list[SearchNode]:
        """The steps that were done, then the search's nodes, from the last of these states on."""
        shift = len(self.done)
        found = [self._reached(number) for number in range(first, min(last, shift))]
        for node in self.nodes(max(0, first - shift), max(0, last - shift)):
            if node.step is None:
                found.append(replace(node, parent=shift - 1, step=self.done[-1] if shift else None))
            else:
                found.append(replace(node, parent=node.parent + shift, step=self.steps[node.step]))
        return found

    def _reached(self, number: int) -> SearchNode:
        step = self.done[number - 1] if number else None
        return SearchNode(number - 1, step, float(number), nan, nan, "expanded")


def continued(trace: Trace, done: Sequence[Step], steps: Mapping[Step, Step]) -> Trace:
    """A trace of a search over a task as one over its model."""

    def look(nodes: Nodes) -> None:
        trace(Continued(nodes, tuple(done), steps))

    return look
