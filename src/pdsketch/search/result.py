"""What a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, final

from pdsketch.lang.steps import Step

Status = Literal["solved", "unsolvable", "out-of-time", "out-of-memory", "gave-up"]


class UntrainedWarning(UserWarning):
    """A goal reads a blank that was never trained."""


@final
@dataclass(frozen=True, slots=True)
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
    abstraction was not accepted by the model, and the search went on from where they differ.
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

    @property
    def solved(self) -> bool:
        """Whether there is a plan."""
        return self.status == "solved"
