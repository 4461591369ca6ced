"""What a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
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
