"""What a search returns, and what it tells while it runs: its counters, and the nodes that it has met."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from math import inf, isinf
from typing import Literal, final

from pdsketch.lang import Step, dataclass, short, show_atom

Status = Literal["solved", "unsolvable", "out-of-time", "out-of-memory", "gave-up"]


class UntrainedWarning(UserWarning):
    """A goal reads a blank that was never trained, or a state has labels that no data had."""


@final
@dataclass(frozen=True, slots=True)
class StageReport:
    """A stage of the strategy that a problem went through: its seconds, its expansions, and why it ended.

    Of many problems that are planned for together, ``seconds`` is each one's share.
    """

    name: str
    seconds: float
    expanded: int
    ended: str

    def __str__(self) -> str:
        """A line of ``pdsketch plan --verbose``."""
        return f"{self.name}: {self.seconds:.3f} s, {self.expanded} expanded: {self.ended}"


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
    that are not finite; those about answers that the data do not decide are its ``guesses``.
    ``best_h`` is the lowest heuristic value that was seen, None where nothing was evaluated.
    ``refinements`` is how often a plan of the model's abstraction was not accepted by the model, and its
    rules were corrected. ``stages`` are those of the strategy, in their order.
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
    stages: tuple[StageReport, ...] = ()
    guesses: tuple[str, ...] = ()

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

    def __str__(self) -> str:
        return (
            f"{self.expanded} expanded, {self.evaluated} evaluated, lowest h {self.best_h:g}, "
            f"{self.bytes / 1e6:.0f} MB"
        )


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
class NamedNodes:
    """The nodes of a search over a task with the steps of its model: ``steps``, by the task's operators."""

    nodes: Nodes
    steps: Mapping[Step, Step] = field(compare=False)

    def __call__(self, first: int, last: int) -> list[SearchNode]:
        """The search's nodes."""
        return [
            node if node.step is None else replace(node, step=self.steps[node.step])
            for node in self.nodes(first, last)
        ]
