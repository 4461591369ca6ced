"""Demonstrations as sequences of a fixed length, padded at their ends."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from torch import Tensor

from pdsketch.training import Array
from pdsketch_paper.baselines.demonstrations import Demonstrations


class Sequences(NamedTuple):
    """The states of ``count`` sequences, a row for each, sequence by sequence.

    ``examples`` ``[r]``; ``sequence`` ``[r]`` that each belongs to; the ``first`` row of each sequence
    ``[count]``; whether the goal is reached there, ``success`` ``[r]``. ``grid`` ``[t, count]`` has the row
    of each time: after a sequence's end, its last. ``place`` ``[r]`` says where in the (flat) grid it stands.
    """

    examples: Tensor
    sequence: Tensor
    first: Tensor
    success: Tensor
    grid: Tensor
    place: Tensor


@lru_cache(maxsize=2)  # demonstrations, and what was practised
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
    lengths = np.minimum(last - begins + 1, length)
    first = np.cumsum(lengths) - lengths
    sequence = np.repeat(np.arange(len(begins)), lengths)
    time = np.arange(len(sequence)) - first[sequence]
    examples = begins[sequence] + time
    grid = first + np.minimum(np.arange(lengths.max())[:, None], lengths - 1)
    place = demonstrations.dataset.place
    return Sequences(
        place(examples),
        place(sequence),
        place(first),
        place(demonstrations.to_go[examples] == 0).bool(),
        place(grid),
        place(time * len(begins) + sequence),
    )
