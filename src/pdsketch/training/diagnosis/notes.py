"""What a fit leaves behind on the model, beside its weights.

Which blanks were trained and on what, what is said of each, how finely variables
are told apart, and how far encodings move without a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import Action, Predicate
from pdsketch.tensor import (
    CODEBOOKS,
    CRISP,
    MOST_NUMBERS,
    SPREAD,
    TRAINED,
    VERDICTS,
    Codes,
    ExperienceRecorder,
    note_codes,
    note_labels,
    note_rows,
    note_samples,
)
from pdsketch.training.data.device_dataset import ROWS, evenly
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.diagnosis.blanks import Verdict
from pdsketch.training.diagnosis.measures import Compared, measure
from pdsketch.training.time_slice import encode
from pdsketch.training.training_set import TrainingSet

MOST_SEEN: Final = 50_000
"""States whose values make codes; set by hand."""

DEVIATIONS: Final = 2 / 0.6745
"""Times the median of normal errors it is two of their deviations. To be wrong altogether, now and then, is
not to be noisy, and leaves the median as it is."""

MOST_NOISE: Final = 0.5
"""Noise is at most this part of a variable's deviation: more is ignorance. Set by hand."""


@torch.no_grad()
def take_notes(training: TrainingSet, states: Array, reached: Iterable[str]) -> None:
    """Remember on the model what it was trained on, from the examples of the training data."""
    notes = training.model.notes
    notes[TRAINED] = sorted({*notes.get(TRAINED, ()), *reached})
    errors, recorder = _Errors(), ExperienceRecorder(notes[TRAINED])
    once = states[training.dataset.once[states]]
    shown = [evenly(states, ROWS), evenly(once, ROWS), _extremes(training, once)]
    with training.model.blanks.watched(recorder):
        measure(training, np.unique(np.concatenate(shown)), watcher=errors)
    recorder.write(notes)
    every, spread = _seen(training, evenly(once, MOST_SEEN)), errors.spread()
    seen = {n: v for n, v in every.items() if training.domain.predicates[n].type.prim == "float32"}
    codes = {name: _codes(training, name, values, spread) for name, values in seen.items()}
    note_codes(notes, codes)
    note_rows(notes, every, codes)
    note_labels(notes, training.domain, every)
    note_samples(notes, seen)
    notes.pop(CODEBOOKS, None)  # encoders are others now
    # What is further off than this part of how far a variable moves at all is not known, rather than noisy.
    notes[SPREAD] = {
        name: torch.minimum(own, MOST_NOISE * seen[name].std(0, correction=0).double().cpu()).tolist()
        for name, own in spread.items()
        if name in seen
    }


def note_verdicts(notes: dict[str, Any], verdicts: Mapping[str, Verdict]) -> None:
    """Remember the word on each blank; of one that nothing called this time, what was said before stays."""
    before = notes.get(VERDICTS, {})
    notes[VERDICTS] = {
        name: before.get(name, word) if word == "never-called" else word for name, word in verdicts.items()
    }


def _extremes(training: TrainingSet, states: Array) -> Array:
    """The states in which an observed number is the least or the most of all, however rare they are."""
    dataset, found = training.dataset, [states[:0]]
    for name, shape in dataset.arrays.shapes.items():
        if training.domain.predicates[name].type.prim != "float32" or prod(shape) > MOST_NUMBERS:
            continue
        parts = dataset.parts(states, len(states)) if name in dataset.gathered else [states]
        ends: list[tuple[Tensor, Tensor, Array]] = []
        for some in parts:
            tensor = dataset.values(name, dataset.rows(dataset.place(some)))
            if tensor.numel():
                values = tensor.reshape(len(some), -1, prod(shape))
                least, most = values.amin(1), values.amax(1)
                rows = torch.cat([least.argmin(0), most.argmax(0)]).cpu().numpy()
                ends.append((least.amin(0), most.amax(0), some[rows]))
        if ends:
            least, most = torch.stack([e[0] for e in ends]), torch.stack([e[1] for e in ends])
            part = torch.cat([least.argmin(0), most.argmax(0)]).cpu().numpy()
            found.append(np.stack([e[2] for e in ends])[part, np.arange(len(part))])
    return np.unique(np.concatenate(found))


def _seen(training: TrainingSet, states: Array) -> dict[str, Tensor]:
    """All values of each variable over numbers in some states, ``[n, d]``."""
    some, tensors = evenly(states, training.dataset.at_once(len(states))), dict[str, Tensor]()
    for predicate in training.domain.state_predicates:
        seen = some if predicate.name in training.dataset.gathered else states
        tensors |= training.observed(training.dataset.place(seen), [predicate.name])
    for part in training.dataset.parts(states, len(states)):
        for name, tensor in encode(training, training.dataset.place(part), CRISP).items():
            tensors[name] = torch.cat([tensors[name], tensor]) if name in tensors else tensor
    found = {}
    for name, tensor in tensors.items():
        predicate = training.domain.predicates[name]
        if predicate.type.prim != "bool" and tensor.numel():
            own = tensor.shape[1 + len(predicate.parameters) :]
            found[name] = tensor.reshape(-1, own.numel())
    return found


def _codes(training: TrainingSet, name: str, values: Tensor, noise: Mapping[str, Tensor]) -> Codes:
    """The codes of a variable; noise counts where it is encoded, and where the data never varied."""
    predicate = training.domain.predicates[name]
    moves = noise.get(name, torch.zeros(values.shape[1]))
    if predicate.role != "encoded":
        low, high = (end.cpu() for end in values.aminmax(dim=0))
        moves = torch.where(low == high, 2 * moves, 0.0)
    return Codes.of(values, predicate.type.tolerance, moves.tolist())


@final
class _Errors:
    """How far float variables are from what the model predicts of them, one step ahead.

    What an action does not write moves by the encoder's noise alone; what it
    writes, by the model's own error, too. The two are kept apart, and the larger counts.
    """

    def __init__(self) -> None:
        self._amounts: dict[tuple[str, bool], list[Tensor]] = {}

    def goals(self, states: Array, truth: Array, label: Array) -> None:
        """Goals are no numbers."""

    def effect(self, action: Action, predicate: Predicate, found: Compared) -> None:
        """Take in what an action did to a predicate."""
        if predicate.type.prim == "float32" and found.found.numel():
            self._add(predicate, found)

    def _add(self, predicate: Predicate, one: Compared) -> None:
        """The largest error of each step among its objects, ``[step, d]``, of what was kept and written."""
        leading = one.found.shape[: 1 + len(predicate.parameters)]
        off = (one.found - one.wanted).abs().reshape(leading[0], leading[1:].numel(), -1)
        same = (one.found == one.before).reshape(off.shape).all(-1, keepdim=True)
        here = torch.ones_like(same) if one.real is None else one.real.reshape(same.shape) > 0
        for kept in (True, False):
            counts = here & (same == kept)
            steps = counts.flatten(1).any(1)
            if bool(steps.any()):
                amounts = torch.where(counts, off, 0.0).amax(1)[steps]
                self._amounts.setdefault((predicate.name, kept), []).append(amounts.cpu())

    def spread(self) -> dict[str, Tensor]:
        """How far variables come out from what is predicted, in each dimension: two deviations."""
        found: dict[str, Tensor] = {}
        for (name, _), parts in self._amounts.items():
            one = DEVIATIONS * torch.cat(parts).double().nan_to_num().median(0).values
            found[name] = torch.maximum(found.get(name, one), one)
        return found
