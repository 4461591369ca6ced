"""Demonstrations as sequences of a fixed length, padded at their ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from pdsketch.baselines.demonstrations import Demonstrations
from pdsketch.learn.data.episode_arrays import Array


class Sequences(NamedTuple):
    """``examples`` ``[b, t]``, whether they are ``real`` (else the last one stands in), and ``success``."""

    examples: Tensor
    real: Tensor
    success: Tensor


def ends(demonstrations: Demonstrations) -> Array:
    """The last example that follows each one: the first success of its run, or the run's end ``[e]``.

    A run ends before the first state of which it is not known whether the goal holds.
    """
    dataset = demonstrations.dataset
    place = np.arange(len(dataset))
    first = np.flatnonzero(demonstrations.step == 0)
    stops = np.append(first[1:], len(place))[demonstrations.run] - 1
    unknown = np.minimum.reduceat(np.where(dataset.goal < 0, place, len(place)), first)
    reached = np.minimum.reduceat(np.where(demonstrations.to_go == 0, place, len(place)), first)
    found: Array = np.minimum(stops, np.minimum(unknown - 1, reached)[demonstrations.run])
    return found


def starts(demonstrations: Demonstrations) -> Array:
    """The examples after which at least one step is known."""
    return np.flatnonzero(ends(demonstrations) > np.arange(len(demonstrations.dataset)))


def sequences(demonstrations: Demonstrations, begins: Array, length: int) -> Sequences:
    """The sequences that begin at some examples; those of long runs begin earlier, and are full."""
    last = ends(demonstrations)[begins]
    begins = np.maximum(begins - demonstrations.step[begins], np.minimum(begins, last - length + 1))
    wanted = begins[:, None] + np.arange(min(length, int((last - begins).max()) + 1))
    examples = np.minimum(wanted, last[:, None])
    dataset = demonstrations.dataset
    return Sequences(
        dataset.place(examples),
        dataset.place(wanted <= last[:, None]).bool(),
        dataset.place(demonstrations.to_go[examples] == 0).bool(),
    )
