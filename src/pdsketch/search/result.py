"""What a search returns, and what it tells while it runs: its counters, and the nodes that it has met."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from math import inf, isinf, nan
from typing import Literal, final

from pdsketch.lang import Step, dataclass, short, show_atom

Status = Literal["solved", "unsolvable", "out-of-time", "out-of-memory", "gave-up"]


class UntrainedWarning(UserWarning):
    """A goal reads a blank that was never trained."""


_SHOWN = 10
"""Steps of a plan in its ``repr``."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The outcome of a search, with its counters.

    ``plan`` is a list of steps if ``status`` is ``solved``, else None.
    ``expanded`` counts nodes removed from the open list, ``evaluated`` calls of
    the heuristic, ``generated`` successors made. ``seconds`` is the wall time of
    the whole call; ``phases`` splits it (``ground``, ``search``, ``replay``, …). ``best`` is the
    most promising trajectory of a search that found no plan, and ``reasons`` says
    in words why there is none. ``warnings`` say what a plan rests on that the model
    does not know: untrained blanks, inputs unlike the training data, predictions
    that are not finite. ``best_h`` is the lowest heuristic value that was
    seen, None where nothing was evaluated. ``refinements`` is how often a plan of the model's
    abstraction was not accepted by the model: then its rules were corrected, or the search went on from
    where they differ.
    """

    status: Status
    plan: list[Step] | None = None
    cost: float | None = None
    expanded: int = 0
    evaluated: int = 0
    generated: int = 0
    seconds: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)
    best: list[Step] | None = None
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    best_h: float | None = None
    refinements: int = 0

    def __repr__(self) -> str:
        """The status, the plan's first steps, and what it took."""
        found = f"Result({self.status}"
        if self.plan is not None:
            steps = [show_atom(short(tuple(step))) for step in self.plan]
            more = f" … {len(steps)} steps" if len(steps) > _SHOWN else ""
            found += f": {' '.join(steps[:_SHOWN]) or 'nothing to do'}{more}; cost {self.cost:g}"
        elif self.reasons:
            found += f": {self.reasons[0]}"
        return f"{found}; {self.expanded} expanded, {self.seconds:.3g} s)"

    def _repr_html_(self) -> str:
        """The plan as a numbered list, and what is to be said about it, for notebooks."""
        from html import escape

        cost = "" if self.cost is None else f", cost {self.cost:g}"
        head = f"<b>{self.status}</b>{cost}; {self.expanded} expanded, {self.seconds:.3g} s"
        steps = "".join(
            f"<li><code>{escape(show_atom(short(tuple(s))))}</code></li>" for s in self.plan or ()
        )
        said = "".join(f"<li>{escape(line)}</li>" for line in dict.fromkeys((*self.reasons, *self.warnings)))
        return f"<div>{head}</div>" + (f"<ol>{steps}</ol>" * bool(steps)) + (f"<ul>{said}</ul>" * bool(said))

    @property
    def solved(self) -> bool:
        """Whether there is a plan."""
        return self.status == "solved"


# How a search is going, and how it ended: what is the same over tasks and over models.


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


# The nodes of a search while it runs, for who wants to look at them.

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
