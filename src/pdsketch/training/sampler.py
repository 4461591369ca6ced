"""Which examples each step of a fit sees: a function of the seed and the step alone.

Nothing has to be remembered between steps, so that a resumed fit draws what an
uninterrupted one would have drawn.
"""

from __future__ import annotations

from typing import final

import numpy as np

from pdsketch.training.data.episode_arrays import Array

LEAST_SHARE = 16
"""Each kind gets one in so many of a batch, if it is rarer than that; set by hand."""


@final
class Sampler:
    """Draws batches with a fixed number of examples of each kind.

    ``kinds`` numbers the kind of each example of the data (`DeviceDataset.kinds`), of which those in
    ``index`` are drawn, about ``batch`` at a time. Of a kind, all are gone through in random order, by
    ``seed``, before one comes again.
    """

    def __init__(self, kinds: Array, index: Array, batch: int, seed: int) -> None:
        own = kinds[index]
        self.kinds, counts = np.unique(own, return_counts=True)
        self.seed = seed
        self.members = [index[own == kind] for kind in self.kinds]
        self.quotas = _quotas(counts, min(batch, len(index)))
        self._orders: dict[int, tuple[int, Array]] = {}

    @property
    def batch(self) -> int:
        """How many states a step sees."""
        return int(self.quotas.sum())

    def draw(self, step: int) -> Array:
        """The examples of a step, kind by kind."""
        return np.concatenate([self._stretch(kind, step) for kind in range(len(self.kinds))])

    def _stretch(self, kind: int, step: int) -> Array:
        """The next ``quota`` examples of an endless sequence of shuffles."""
        quota, size = int(self.quotas[kind]), len(self.members[kind])
        first = step * quota
        parts = []
        while quota:
            round_, at = divmod(first, size)
            part = self._order(kind, round_)[at : at + quota]
            parts.append(part)
            first += len(part)
            quota -= len(part)
        return np.concatenate(parts) if parts else self.members[kind][:0]

    def _order(self, kind: int, round_: int) -> Array:
        known = self._orders.get(kind)
        if known is None or known[0] != round_:
            rng = np.random.default_rng([self.seed, int(self.kinds[kind]) + 1, round_])
            known = self._orders[kind] = round_, rng.permutation(self.members[kind])
        return known[1]


def _quotas(counts: Array, batch: int) -> Array:
    """How many of each kind: by its share, but never fewer than one in `LEAST_SHARE` of the batch."""
    floor = max(1, batch // max(LEAST_SHARE, 2 * len(counts)))
    shares = np.maximum(counts * (batch / counts.sum()), floor)
    quotas: Array = np.maximum(1, np.round(shares * (batch / shares.sum()))).astype(np.int64)
    return quotas
