"""Flat arrays by type, and compressed sparse rows (CSR): lists of ints in two of them, worked on at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from pdsketch.lang import dataclass

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class CSR:
    """Row ``i`` is ``items[starts[i]:starts[i + 1]]``."""

    starts: Ints
    items: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> Ints:
        return self.items[self.starts[row] : self.starts[row + 1]]


def starts_of(counts: NDArray[np.integer]) -> Ints:
    """Where rows of these lengths start."""
    starts = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=starts[1:])
    return starts


def csr_of(lists: Sequence[Sequence[int]]) -> CSR:
    """Rows from Python lists."""
    counts = np.array([len(row) for row in lists], np.int64)
    items = np.array([item for row in lists for item in row], np.int32)
    return CSR(starts_of(counts), items)


def gather(rows: CSR, picks: NDArray[np.integer]) -> CSR:
    """Row ``picks[i]`` as row ``i``."""
    counts = np.diff(rows.starts)[picks]
    starts = starts_of(counts)
    shift = np.repeat(rows.starts[picks].astype(np.int64) - starts[:-1], counts)
    return CSR(starts, rows.items[np.arange(starts[-1]) + shift])
