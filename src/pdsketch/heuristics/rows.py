"""Whole-array operations on `Rows`: gather, join, filter, sort."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pdsketch.task.task import Ints, Rows


def starts_of(counts: NDArray[np.integer]) -> Ints:
    """Where rows of these lengths start."""
    starts = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=starts[1:])
    return starts


def rows_of(lists: Sequence[Sequence[int]]) -> Rows:
    """Rows from Python lists."""
    counts = np.array([len(row) for row in lists], np.int64)
    items = np.array([item for row in lists for item in row], np.int32)
    return Rows(starts_of(counts), items)


def owners_of(rows: Rows) -> NDArray[np.int64]:
    """The row of every item."""
    return np.repeat(np.arange(len(rows)), np.diff(rows.starts))


def gather(rows: Rows, picks: NDArray[np.integer]) -> Rows:
    """Row ``picks[i]`` as row ``i``."""
    counts = np.diff(rows.starts)[picks]
    starts = starts_of(counts)
    shift = np.repeat(rows.starts[picks].astype(np.int64) - starts[:-1], counts)
    return Rows(starts, rows.items[np.arange(starts[-1]) + shift])


def group(owners: NDArray[np.integer], items: NDArray[np.integer], n_rows: int) -> Rows:
    """Items by their owner, in their old order."""
    order = np.argsort(owners, kind="stable")
    starts = starts_of(np.bincount(owners, minlength=n_rows))
    return Rows(starts, items[order].astype(np.int32))


def stack(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, one part after the other."""
    counts = np.concatenate([np.diff(part.starts) for part in parts])
    return Rows(starts_of(counts), np.concatenate([part.items for part in parts]).astype(np.int32))


def distinct(values: NDArray[np.integer]) -> NDArray[np.integer]:
    """The values in order, each once: by sorting, which on large arrays is faster than numpy's hashing."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def unite(owners: NDArray[np.integer], items: NDArray[np.integer], n_rows: int, width: int) -> Rows:
    """Items by their owner, sorted, each once; items are less than ``width``."""
    keys = distinct(owners.astype(np.int64) * max(width, 1) + items)
    found = keys // max(width, 1)
    starts = starts_of(np.bincount(found, minlength=n_rows))
    return Rows(starts, (keys % max(width, 1)).astype(np.int32))


def invert(rows: Rows, n_items: int) -> Rows:
    """The rows in which each item stands."""
    return group(rows.items, owners_of(rows), n_items)
