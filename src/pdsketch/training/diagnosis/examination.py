"""A model looked at closely, once: measures, blanks, worst predictions, warnings; and the notes it leaves."""

from __future__ import annotations

from collections.abc import Iterable

from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.diagnosis.blanks import Watched
from pdsketch.training.diagnosis.measures import Measures, measure
from pdsketch.training.diagnosis.notes import note_verdicts, take_notes
from pdsketch.training.diagnosis.report import Evaluation
from pdsketch.training.diagnosis.warnings import warnings_of
from pdsketch.training.diagnosis.worst import Worst
from pdsketch.training.training_set import TrainingSet


def examine(
    training: TrainingSet,
    states: Array,
    held_out: Array | None = None,
    *,
    reached: Iterable[str] | None = None,
) -> tuple[Evaluation, Measures | None]:
    """What is found on some examples of a training set, and measures of those held out, if there are any.

    ``training`` holds the model and the data, ``states`` and ``held_out`` are examples of it by their number.
    ``reached`` names the blanks that a fit has just trained on these examples: the model then gets notes of
    it. None: it was trained on others.
    """
    if reached is not None:
        take_notes(training, states, reached)
    watched, worst = Watched(training), Worst(training)
    with watched.watching():
        found = measure(training, states, watcher=worst)
    blanks = watched.reports(found)
    if reached is not None:
        note_verdicts(training.model.notes, {name: blank.verdict for name, blank in blanks.items()})
    # Held-out examples come after the reports: what blanks do is told of the examples trained on alone.
    other: Measures | None = None
    if held_out is not None and len(held_out):
        other = measure(training, held_out, watcher=worst)
    warnings = warnings_of(training, found, blanks, other)
    return Evaluation(blanks, warnings, worst.steps(), worst.wrong_goals(), found), other
