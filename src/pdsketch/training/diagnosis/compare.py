"""When a predicted value counts as the outcome: ints and Booleans exactly, floats within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import final

import numpy as np
from torch import Tensor

from pdsketch.lang import Predicate
from pdsketch.tensor import CRISP, NOISE, Codes, Quantiser, codes_of, tolerance_of
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.likelihoods import differs
from pdsketch.training.time_slice import encode
from pdsketch.training.training_set import TrainingSet

_SAMPLED = 512
"""States whose encodings say how far they spread; set by hand."""

_PARTS_OF_SPREAD = 8
"""Encodings are equal within their deviation divided by this, before noise is known; set by hand."""


@final
class Comparer:
    """Tells, for each state variable of a training set, which predictions are another value.

    An observed float is another value when a planner would give it another
    code and it is further off than its type's tolerance. An encoded one, whose
    outcome is itself a network's, when it is off by more than the noise that `fit`
    recorded or, before it has, by more than an eighth of the standard deviation of
    the encodings of the measured states.
    """

    def __init__(self, training: TrainingSet, states: Array) -> None:
        some = states[np.linspace(0, len(states) - 1, min(_SAMPLED, len(states))).astype(np.int64)]
        encoded = encode(training, training.dataset.place(some), CRISP) if len(some) else {}
        self._quantisers: dict[str, Quantiser] = {}
        self._tolerances: dict[str, Tensor | float] = {}
        notes = training.model.notes
        known = codes_of(notes)
        for predicate in training.domain.state_predicates:
            if predicate.type.prim != "float32":
                continue
            name, tolerance = predicate.name, tolerance_of(notes, predicate)
            if name in encoded:
                noisy = name in notes.get(NOISE, {})
                self._tolerances[name] = tolerance if noisy else _spread(encoded[name], predicate)
            elif name in training.dataset:
                width = prod(training.dataset.arrays.shapes[name])
                codes = known.get(name, Codes.uniform(width, tolerance))
                self._quantisers[name] = Quantiser(codes, training.dataset.device)
                self._tolerances[name] = tolerance

    def unequal(self, found: Tensor, wanted: Tensor, predicate: Predicate) -> Tensor:
        """Which ground variables have another value ``[row, *objects]``."""
        tolerance = self._tolerances.get(predicate.name)
        if tolerance is None:
            return differs(found, wanted, predicate)
        found, wanted = _flat(found, predicate), _flat(wanted, predicate)
        # What is no number is near nothing.
        far = ~((found - wanted).abs() <= tolerance)
        quantiser = self._quantisers.get(predicate.name)
        if quantiser is not None:
            width = found.shape[-1]
            codes = [quantiser.codes(t.reshape(-1, width)).reshape(t.shape) for t in (found, wanted)]
            far &= (codes[0] != codes[1]) | found.isnan()
        return far.any(-1)


def gaps(found: Tensor, wanted: Tensor, predicate: Predicate) -> Tensor:
    """How far apart two values are, summed over the numbers of each ground variable."""
    return (_flat(found, predicate).float() - _flat(wanted, predicate).float()).abs().sum(-1)


def _spread(encoded: Tensor, predicate: Predicate) -> Tensor:
    """A part of the deviation of encodings, and no less than their type's tolerance."""
    flat = _flat(encoded, predicate)
    spread = flat.reshape(-1, flat.shape[-1]).std(0, correction=0) / _PARTS_OF_SPREAD
    return spread.clamp_min(predicate.type.tolerance)


def _flat(tensor: Tensor, predicate: Predicate) -> Tensor:
    """A table with one axis for the value's own numbers."""
    leading = tensor.shape[: 1 + len(predicate.parameters)]
    return tensor.reshape(*leading, int(np.prod(tensor.shape[len(leading) :], dtype=np.int64)))


@final
@dataclass(frozen=True)
class Compared:
    """One predicate after one action: tables before, predicted and seen, and which entries are wrong.

    ``states`` are the states before, ``wrong`` and ``changed`` ``[row, *objects]``.
    """

    states: Array
    before: Tensor
    found: Tensor
    wanted: Tensor
    wrong: Tensor
    changed: Tensor
