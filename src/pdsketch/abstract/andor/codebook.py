"""One codebook: numbers and the codes that stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.core import Bools, Floats, Longs

# k-means, deterministic: the same rows give the same centroids.

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
    # |a − b|² = |a|² − 2ab + |b|²: one matrix product in place of all differences. It may round below 0.
    found: Floats = (rows**2).sum(1)[:, None] - 2 * rows @ centroids.T + (centroids**2).sum(1)[None]
    return found


MOST_CODES: Final = 2048
"""Codes of a part; beyond, values count as the nearest code."""

GROWTH: Final = 24
"""Codes that a single number may grow past the range of what is known. Set by hand."""


FARTHEST: Final = 1e150
"""Numbers farther from 0 than so many radii count as that far, and have no code."""

MANY_ROWS: Final = 4096
"""From so many numbers on, equal ones are looked up once. Set by hand."""


@final
class Codebook:
    """The codes of one part of a type: ``values[c]`` are the numbers that code ``c`` stands for.

    ``name`` is the type's, with the part's. Numbers within ``radius`` (of each dimension) of a code have it;
    ``whole`` ones are ints; of declared ``choices`` no others have a code. Where it ``grows``, numbers that
    are near to no code get new ones, up to a limit. ``low`` and ``high`` bound what is known: seen in data,
    in a state or in a formula. A ``closed`` codebook has what was seen in data, and nothing else came up yet:
    then variables have no other values than those that they had in the data. ``kind`` says in a word what the
    codes are; of ``k-means``, each stands for many values, and states add nothing to them.
    """

    def __init__(
        self,
        name: str,
        radius: Floats,
        whole: bool,
        grows: bool,
        kind: str = "values",
        choices: int | None = None,
    ) -> None:
        self.choices = choices
        self.name = name
        self.kind = kind
        self.radius = radius
        self.whole = whole
        self.grows = grows
        self.values: Floats = np.zeros((0, len(radius)))
        self.low: Floats = np.full(len(radius), np.inf)
        self.high: Floats = np.full(len(radius), -np.inf)
        self.grown = 0
        self.closed = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def fixed(self) -> bool:
        """Whether each code stands for many values."""
        return self.kind == "k-means"

    @staticmethod
    def clustered(
        name: str, sample: Floats, tolerance: float, k: int | None, trained: Floats | None = None
    ) -> Codebook:
        """The codes of values by k-means over some that were seen; as many as they ask for, or ``k``.

        ``name`` is the codebook's; ``sample`` holds the values, ``[n, d]``. A code has a radius as large as
        its members are away, and not less than ``tolerance``. ``trained`` are centroids that an encoder was
        trained with.
        """
        centroids = fitted(sample) if k is None else kmeans(sample, k)
        if trained is not None:
            centroids = trained[np.unique(closest(sample, trained))]
        off = np.abs(sample - centroids[closest(sample, centroids)]).max(0)
        book = Codebook(name, np.maximum(off, tolerance), False, False, "k-means")
        book.values = centroids
        book.low, book.high = sample.min(0), sample.max(0)
        return book

    def know(self, numbers: Floats) -> Longs:
        """The codes of numbers that are known, ``[n, d]``; new ones where there were none."""
        if self.fixed:
            return self.nearest(numbers)
        if len(numbers):
            self.low = np.minimum(self.low, numbers.min(0))
            self.high = np.maximum(self.high, numbers.max(0))
        before = len(self)
        codes = self._coded(numbers, np.ones(len(numbers), np.bool_))
        self.closed &= len(self) == before
        return codes

    def admit(self, numbers: Floats) -> Longs:
        """The same without a wider range: constants that a function returns may stand apart from all else."""
        return self._coded(numbers, np.ones(len(numbers), np.bool_))

    def meet(self, numbers: Floats) -> tuple[Longs, Bools]:
        """The codes of computed numbers, and which of these are their own: the others are the nearest.

        New codes are made within the range of what is known, and a few past it.
        """
        if self.fixed or self.closed:
            codes = self.nearest(numbers)
            return codes, self._has_own(numbers, codes)
        inside = (numbers >= self.low - self.radius) & (numbers <= self.high + self.radius)
        codes = self._coded(numbers, np.asarray(inside.all(1)))
        return codes, self._has_own(numbers, codes)

    def is_near(self, numbers: Floats) -> Bools:
        """Whether each of the numbers is within the radius of a code."""
        if not len(self):
            return np.zeros(len(numbers), np.bool_)
        return self._has_own(numbers, self.nearest(numbers))

    def _has_own(self, numbers: Floats, codes: Longs) -> Bools:
        """Whether each of the numbers is within the radius of its code."""
        if not len(self):
            return np.zeros(len(numbers), np.bool_)
        return np.asarray((np.abs(numbers - self.values[codes]) <= self.radius).all(1))

    def nearest(self, numbers: Floats) -> Longs:
        """The nearest code of each row of numbers, in units of the radius; of k-means, by Euclid."""
        if self.fixed:
            return closest(numbers, self.values)
        limit = FARTHEST * self.radius
        if len(self.radius) == 1:
            return _closest_number(np.clip(numbers, -limit, limit) / self.radius, self.values / self.radius)
        if len(numbers) > MANY_ROWS:
            distinct, inverse = np.unique(numbers, axis=0, return_inverse=True)
            if len(distinct) <= MANY_ROWS:
                return self.nearest(distinct)[inverse.reshape(-1)]
        scaled, own = np.clip(numbers, -limit, limit) / self.radius, self.values / self.radius
        found = np.empty(len(numbers), np.int64)
        step = max(1, 4_000_000 // max(1, len(own)))
        for first in range(0, len(numbers), step):
            some = scaled[first : first + step]
            off = np.abs(some[:, 0, None] - own[:, 0])
            for dimension in range(1, own.shape[1]):  # few: one pass over all pairs for each is faster
                np.maximum(off, np.abs(some[:, dimension, None] - own[:, dimension]), out=off)
            found[first : first + step] = off.argmin(1)
        return found

    def _coded(self, numbers: Floats, welcome: Bools) -> Longs:
        """The codes of numbers; those that have none get one where they are welcome, or while it may grow."""
        if not len(numbers):
            return np.zeros(0, np.int64)
        known = self.nearest(numbers) if len(self) else np.zeros(len(numbers), np.int64)
        far = ~self._has_own(numbers, known)
        if not far.any():
            return known
        before = len(self)
        distinct, inverse = np.unique(numbers[far], axis=0, return_inverse=True)
        allowed = np.zeros(len(distinct), np.bool_)
        np.logical_or.at(allowed, inverse.reshape(-1), welcome[far])
        # Those that are welcome first: the few places left for growth are for the others.
        for at in np.argsort(~allowed, kind="stable"):
            if len(self) >= MOST_CODES or not (allowed[at] or (self.grows and self.grown < GROWTH)):
                break  # nor do those that follow get one
            row = distinct[at]
            if len(self) and (np.abs(self.values - row) <= self.radius).all(1).any():
                continue
            if not (np.abs(row) < FARTHEST * self.radius).all():
                continue
            if self.choices is not None and row[0] not in range(self.choices):
                continue
            self.grown += not allowed[at]
            self.values = np.concatenate([self.values, row[None]])
        return known if len(self) == before else self.nearest(numbers)


def _closest_number(numbers: Floats, values: Floats) -> Longs:
    """The place of the closest value of each number, ``[n, 1]`` and ``[m, 1]``; of two, the first."""
    distinct, places = np.unique(values[:, 0], return_index=True)
    above = np.searchsorted(distinct, numbers[:, 0])
    low, high = np.maximum(above - 1, 0), np.minimum(above, len(distinct) - 1)
    off_low, off_high = np.abs(numbers[:, 0] - distinct[low]), np.abs(numbers[:, 0] - distinct[high])
    first, second = places[low], places[high]
    found: Longs = np.where(
        off_low == off_high, np.minimum(first, second), np.where(off_low < off_high, first, second)
    )
    return found


@final
@dataclass(frozen=True, slots=True)
class CodePart:
    """Some dimensions of a type, which have one codebook."""

    book: Codebook
    dimensions: tuple[int, ...]

    def codes(self, numbers: Tensor) -> Tensor:
        """The code of each row of numbers: ``[n, d]`` → ``[n]``."""
        return torch.from_numpy(self.book.nearest(numbers.double().cpu().numpy()))
