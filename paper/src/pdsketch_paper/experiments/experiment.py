"""What an experiment is: runs, and what is made of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from pdsketch_paper.experiments.runs import ExperimentRun
from pdsketch_paper.experiments.tables import Records, ResultTable


@final
@dataclass(frozen=True, slots=True)
class Experiment:
    """A table: its runs for so many seeds (quick or not), how to print them, and how to draw them.

    A run's config has `in_world`, which gives it the ``options`` of the world that a user has set.
    """

    runs: Callable[[int, bool], Sequence[ExperimentRun[Any]]]
    table: Callable[[Records], ResultTable]
    plot: Callable[[Records, Path], None] | None = None
    options: tuple[str, ...] = ("objects", "doors")
