"""Which states each step of a fit sees: a function of the seed and the step alone.

Nothing has to be remembered between steps, so that a resumed fit draws what an
uninterrupted one would have drawn.
"""

from __future__ import annotations

from typing import final

import numpy as np

from pdsketch.training.data.episode_arrays import Array

LEAST_SHARE = 16
"""Each stratum gets at least one in so many of a batch, however rare it is; set by hand."""

LEAST_RARER_SHARE = 0.25
"""The least part of a stratum's draws that its rarer kind gets: steps that change nothing, or those that do.

The losses weigh the two kinds alike; drawn by their share, a few steps at a time would stand for the rarer
one (a robot is seldom blocked), and nothing is learned from so few. 0.2 and 0.3 do as well, 0.5 is worse.
"""


@final
class Sampler:
    """Draws batches with a fixed number of states from each stratum.

    A stratum holds the states from which one action was taken (or none) and in which the goal held (or not):
    ``strata`` numbers that of each state of the data, of which those in ``index`` are drawn, about ``batch``
    at a time. ``kind``, 0 or 1 for each state, divides a stratum in two. Within either part, all states are
    gone through in random order, by ``seed``, before one comes again.
    """

    def __init__(self, strata: Array, index: Array, batch: int, seed: int, kind: Array | None = None) -> None:
        parts = strata[index] * 2 + (0 if kind is None else kind[index])
        kinds, counts = np.unique(parts, return_counts=True)
        self.kinds = kinds
        self.seed = seed
        self.members = [index[parts == part] for part in kinds]
        self.quotas = _quotas(kinds // 2, counts, min(batch, len(index)))
        self._orders: dict[int, tuple[int, Array]] = {}

    @property
    def batch(self) -> int:
        """How many states a step sees."""
        return int(self.quotas.sum())

    def draw(self, step: int) -> Array:
        """The states of a step, stratum by stratum."""
        return np.concatenate([self._stretch(at, step) for at in range(len(self.kinds))])

    def _stretch(self, stratum: int, step: int) -> Array:
        """The next ``quota`` states of an endless sequence of shuffles."""
        quota, size = int(self.quotas[stratum]), len(self.members[stratum])
        first = step * quota
        parts = []
        while quota:
            round_, at = divmod(first, size)
            part = self._order(stratum, round_)[at : at + quota]
            parts.append(part)
            first += len(part)
            quota -= len(part)
        return np.concatenate(parts) if parts else self.members[stratum][:0]

    def _order(self, stratum: int, round_: int) -> Array:
        known = self._orders.get(stratum)
        if known is None or known[0] != round_:
            rng = np.random.default_rng([self.seed, int(self.kinds[stratum]) + 1, round_])
            known = self._orders[stratum] = round_, rng.permutation(self.members[stratum])
        return known[1]


def _quotas(strata: Array, counts: Array, batch: int) -> Array:
    """How many of each part of a stratum: by its share, but never fewer than one in `LEAST_SHARE` of the
    batch of the stratum, and of these `LEAST_RARER_SHARE` of its rarer part.
    """
    _, of, parts = np.unique(strata, return_inverse=True, return_counts=True)
    whole = np.bincount(of, weights=counts)
    floor = max(1, batch // max(LEAST_SHARE, 2 * len(whole)))
    shares = np.maximum(whole * (batch / whole.sum()), floor)
    within = np.clip(counts / whole[of], LEAST_RARER_SHARE, 1.0 - LEAST_RARER_SHARE)
    within = np.where(parts[of] > 1, within, 1.0)
    quotas: Array = np.maximum(1, np.round(shares[of] * within * (batch / shares.sum()))).astype(np.int64)
    return quotas
