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

from pdsketch.lang import Predicate
from pdsketch.tensor import (
    CODEBOOKS,
    CRISP,
    NOISE,
    SPREAD,
    TRAINED,
    VERDICTS,
    Codes,
    ExperienceRecorder,
    note_codes,
    note_rows,
    note_samples,
)
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.diagnosis.blanks import Verdict
from pdsketch.training.losses import real_entries
from pdsketch.training.time_slice import TimeSlice, Transition, encode, where
from pdsketch.training.training_set import TrainingSet

MOST_SEEN: Final = 50_000
"""States whose values make codes; set by hand."""

MOST_WATCHED: Final = 4096
"""States on which the trained model is watched: its noise, and the inputs of its blanks."""

MOST_NUMBERS: Final = 64
"""Longer vectors are signals: their numbers have no ends of their own that matter. Set by hand."""

QUANTILE: Final = 0.9
MARGIN: Final = 1.5
"""Noise is so many times this quantile of errors: to be wrong in a tenth of the steps is not to be noisy.

Both are set by hand.
"""

DEVIATIONS: Final = 2 / 0.6745
"""Times the median of normal errors it is two of their deviations. What fails altogether, now and then,
leaves the median as it is."""

MOST_NOISE: Final = 0.5
"""Noise is at most this part of a variable's deviation: more is ignorance. Set by hand."""


@torch.no_grad()
def take_notes(training: TrainingSet, states: Array, reached: Iterable[str]) -> None:
    """Remember on the model what it was trained on, from the examples of the training data."""
    notes = training.model.notes
    notes[TRAINED] = sorted({*notes.get(TRAINED, ()), *reached})
    errors, recorder = _Errors(training), ExperienceRecorder(notes[TRAINED])
    once = states[training.dataset.once[states]]
    with training.model.blanks.watched(recorder):
        for some in _parts(np.union1d(_spread(states, MOST_WATCHED), _extremes(training, states))):
            _judge_goals(training, some)
        for some in _parts(np.union1d(_spread(once, MOST_WATCHED), _extremes(training, once))):
            _take_steps(training, some, errors)
    recorder.write(notes)
    every, noise = _seen(training, _spread(once, MOST_SEEN)), errors.noise()
    seen = {n: v for n, v in every.items() if training.domain.predicates[n].type.prim == "float32"}
    codes = {name: _codes(training, name, values, noise) for name, values in seen.items()}
    note_codes(notes, codes)
    note_rows(notes, every, codes)
    note_samples(notes, seen)
    notes.pop(CODEBOOKS, None)  # encoders are others now
    notes[NOISE] = {
        name: min(float(noise[name].max()), MOST_NOISE * float(seen[name].std(0, correction=0).max()))
        for name in noise
        if name in seen and training.domain.predicates[name].role == "encoded"
    }
    notes[SPREAD] = _spread_noted(errors.spread(), seen)


def _spread_noted(errors: Mapping[str, Tensor], seen: Mapping[str, Tensor]) -> dict[str, list[float]]:
    """The errors of what is written, at most as large as ignorance may be called noise."""
    most = {name: MOST_NOISE * values.std(0, correction=0).double().cpu() for name, values in seen.items()}
    return {name: torch.minimum(own, most[name]).tolist() for name, own in errors.items() if name in most}


def note_verdicts(notes: dict[str, Any], verdicts: Mapping[str, Verdict]) -> None:
    """Remember the word on each blank; of one that nothing called this time, what was said before stays."""
    before = notes.get(VERDICTS, {})
    notes[VERDICTS] = {
        name: before.get(name, word) if word == "never-called" else word for name, word in verdicts.items()
    }


def _spread(states: Array, most: int) -> Array:
    """At most so many of the states, evenly spread."""
    if len(states) <= most:
        return states
    found: Array = states[np.linspace(0, len(states) - 1, most).astype(np.int64)]
    return found


def _parts(states: Array) -> list[Array]:
    """The states to watch the model on, a part at a time."""
    return [some for some in np.array_split(states, 4) if len(some)]


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


def _judge_goals(training: TrainingSet, states: Array) -> None:
    """Evaluate the goals of some examples, crisply."""
    current = TimeSlice(training, CRISP, training.dataset.place(states))
    current.prepare(goals=True, step=False)
    current.truth()


def _take_steps(training: TrainingSet, states: Array, errors: _Errors) -> None:
    """Evaluate the effects of the actions taken, and their preconditions."""
    current = TimeSlice(training, CRISP, training.dataset.place(states))
    current.prepare(goals=False, step=True)
    after = current.step()
    _ask_preconditions(current)
    for transition in after.transitions:
        errors.take(current, after, transition)


def _ask_preconditions(current: TimeSlice) -> None:
    """Evaluate preconditions with blanks where the data says what the controller said."""
    training = current.training
    known = training.dataset.examples.executable[current.states]
    for at in training.guarded:
        action = training.actions[at]
        rows = where((current.action == at) & (known >= 0))
        if len(rows):
            batch = current.batch(rows, sorted(training.reads.reads(action.precondition)))
            ground = training.engine.open(batch, checked=False).ground(
                training.parameters(at, current.states[rows]), 1
            )
            training.engine.precondition(ground, action.name, CRISP)


def _seen(training: TrainingSet, states: Array) -> dict[str, Tensor]:
    """All values of each variable over numbers in some states, ``[n, d]``."""
    some, tensors = _spread(states, training.dataset.at_once(len(states))), dict[str, Tensor]()
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

    def __init__(self, training: TrainingSet) -> None:
        self._training = training
        self._floats = [p for p in training.domain.state_predicates if p.type.prim == "float32"]
        self._amounts: dict[tuple[str, bool], list[Tensor]] = {}

    def take(self, current: TimeSlice, after: TimeSlice, transition: Transition) -> None:
        """Take in the steps of one action."""
        states = after.states[transition.first : transition.first + len(transition.rows)]
        target = TimeSlice(self._training, CRISP, states)
        for predicate in self._floats:
            name = predicate.name
            before = current.value(name, transition.rows)
            found = transition.new.get(name, before)
            if found.numel():
                wanted = target.value(name, torch.arange(len(states), device=states.device))
                real = real_entries(self._training, states, predicate)
                self._add(predicate, found, found - wanted, found == before, real)

    def _add(
        self, predicate: Predicate, found: Tensor, off: Tensor, same: Tensor, real: Tensor | None
    ) -> None:
        """The largest error of each step among its objects, ``[step, d]``, of what was kept and written."""
        leading = found.shape[: 1 + len(predicate.parameters)]
        off = off.abs().reshape(leading[0], leading[1:].numel(), -1)
        same = same.reshape(off.shape).all(-1, keepdim=True)
        here = torch.ones_like(same) if real is None else real.reshape(same.shape) > 0
        for kept in (True, False):
            counts = here & (same == kept)
            steps = counts.flatten(1).any(1)
            if bool(steps.any()):
                amounts = torch.where(counts, off, 0.0).amax(1)[steps]
                self._amounts.setdefault((predicate.name, kept), []).append(amounts.cpu())

    def spread(self) -> dict[str, Tensor]:
        """How far what is written comes out from what is predicted, in each dimension: two deviations."""
        return {
            name: DEVIATIONS * torch.cat(parts).double().nan_to_num().median(0).values
            for (name, kept), parts in self._amounts.items()
            if not kept
        }

    def noise(self) -> dict[str, Tensor]:
        """The noise of each dimension of each float variable."""
        found: dict[str, Tensor] = {}
        for (name, _), parts in self._amounts.items():
            one = MARGIN * torch.cat(parts).double().quantile(QUANTILE, dim=0).nan_to_num()
            found[name] = one if name not in found else torch.maximum(found[name], one)
        return found
