"""Large arrays that stay in their file: mapped instead of read, and gone through in chunks.

Pages of a mapped file that were touched count as memory of the process until the
system takes them back. `chunks` and `release` give them back at once; they stay in
the system's cache, so that reading them again costs little.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

LEAST_MAPPED: Final = 64 << 20
"""Arrays of fewer bytes are read: at that size a copy in memory costs nothing that matters."""

CHUNK: Final = 16 << 20
"""Bytes that are gone through at a time: more than a processor's cache, and little beside any model."""


def map_bytes(file: BinaryIO, start: int, stop: int) -> NDArray[np.uint8]:
    """Some bytes of an open file, which may be closed afterwards; they cannot be written to."""
    mapped = mmap.mmap(file.fileno(), stop, access=mmap.ACCESS_READ)
    return np.frombuffer(mapped, np.uint8, stop - start, start)


def chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """A flat array piece by piece, at least one; the pages of a mapped one are given back behind it."""
    many = max(1, CHUNK // array.itemsize)
    for first in range(0, max(1, len(array)), many):
        yield array[first : first + many]
        release(array)


def release(array: NDArray[Any]) -> None:
    """Give back the pages of a mapped array; an array in memory stays as it is."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    owner = owner.obj if isinstance(owner, memoryview) else owner
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)
