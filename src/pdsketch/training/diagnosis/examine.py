"""A model looked at closely, once: measures, blanks, worst predictions and warnings."""

from __future__ import annotations

from typing import final

from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.diagnosis.behaviour import BlankReport, Watched
from pdsketch.training.diagnosis.counts import Measures
from pdsketch.training.diagnosis.holes import warnings_of
from pdsketch.training.diagnosis.measure import measure
from pdsketch.training.diagnosis.worst import Worst, WrongGoal, WrongStep
from pdsketch.training.training_set import TrainingSet


@final
class Examination:
    """What was found on the examples of a training set, and on those held out (None without any).

    Measured are the ``states``, as places in the data of ``training``, and ``held_out`` apart from them.
    ``elsewhere``: they are not those that the model was trained on.
    """

    def __init__(
        self, training: TrainingSet, states: Array, held_out: Array | None = None, *, elsewhere: bool = False
    ) -> None:
        watched, worst = Watched(training, elsewhere=elsewhere), Worst(training)
        with watched.watching():
            self.measures: Measures = measure(training, states, watcher=worst)
        self.blanks: dict[str, BlankReport] = watched.reports(self.measures)
        self.held_out: Measures | None = None
        if held_out is not None and len(held_out):
            self.held_out = measure(training, held_out, watcher=worst)
        self.wrong_steps: tuple[WrongStep, ...] = worst.steps()
        self.wrong_goals: tuple[WrongGoal, ...] = worst.wrong_goals()
        self.warnings: tuple[str, ...] = warnings_of(training, self.measures, self.blanks, self.held_out)
