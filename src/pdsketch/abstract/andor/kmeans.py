"""k-means, deterministic: the same rows give the same centroids."""

from __future__ import annotations

from typing import Final

import numpy as np

from pdsketch.kernels import Floats, Longs

MOST_CENTROIDS: Final = 64
"""Centroids where nobody says how many. Set by hand; the paper takes 128 bins."""

GOOD_ENOUGH: Final = 0.05
"""No more centroids are taken once the error is this part of the standard deviation. Set by hand."""

_ROUNDS: Final = 50


def kmeans(rows: Floats, k: int) -> Floats:
    """At most ``k`` centroids of rows, ``[n, d]``, in lexicographic order.

    Lloyd's algorithm, begun as k-means++ (Arthur and Vassilvitskii, 2007), with the furthest row in the place
    of a random one (Gonzalez, 1985).
    """
    distinct = np.unique(rows, axis=0)
    if len(distinct) <= k:
        return distinct
    chosen = [int(_squared(rows, rows.mean(0, keepdims=True))[:, 0].argmin())]
    nearest = _squared(rows, rows[chosen])[:, 0]
    while len(chosen) < k:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, _squared(rows, rows[chosen[-1:]])[:, 0])
    centroids = rows[chosen]
    for _ in range(_ROUNDS):
        own = closest(rows, centroids)
        sums = np.zeros_like(centroids)
        np.add.at(sums, own, rows)
        counts = np.bincount(own, minlength=len(centroids))[:, None]
        moved = np.where(counts > 0, sums / np.maximum(counts, 1), centroids)
        if np.array_equal(moved, centroids):
            break
        centroids = moved
    found: Floats = np.unique(centroids, axis=0)
    return found


def fitted(rows: Floats) -> Floats:
    """As few centroids as are good enough: 1, 2, 4 … of them."""
    k = 1
    while True:
        centroids = kmeans(rows, k)
        if k >= MOST_CENTROIDS or relative_error(rows, centroids) <= GOOD_ENOUGH:
            return centroids
        k *= 2


def closest(rows: Floats, centroids: Floats) -> Longs:
    """The nearest centroid of each row."""
    step = max(1, 2_000_000 // max(1, len(centroids)))
    parts = [_squared(rows[i : i + step], centroids).argmin(1) for i in range(0, len(rows), step)]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def relative_error(rows: Floats, centroids: Floats) -> float:
    """How far rows are from their centroids: a root mean square, in units of their standard deviation."""
    off = float(((rows - centroids[closest(rows, centroids)]) ** 2).mean())
    spread = float(((rows - rows.mean(0)) ** 2).mean())
    return (off / spread) ** 0.5 if spread > 0 else 0.0


def _squared(rows: Floats, centroids: Floats) -> Floats:
    found: Floats = (rows**2).sum(1)[:, None] - 2 * rows @ centroids.T + (centroids**2).sum(1)[None]
    return found
