"""Large arrays that stay in their file: mapped instead of read, and gone through in chunks.

Pages of a mapped file that were touched count as memory of the process until the
system takes them back. `chunks` and `release` give them back at once; they stay in
the system's cache, so that reading them again costs little.

Where a file has become shorter than its mapping, reading the rest ends the process
(SIGBUS): whoever is about to read looks first, by `check`.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from os import PathLike, fspath
from typing import Any, BinaryIO, Final, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.lang import error

LEAST_MAPPED: Final = 64 << 20
"""Arrays of fewer bytes are read: at that size a copy in memory costs nothing that matters."""

CHUNK: Final = 16 << 20
"""Bytes that are gone through at a time: more than a processor's cache, and little beside any model."""


@final
class _Mapping(mmap.mmap):
    """A mapping that knows its file, and the code of what is said of it."""

    path: str
    code: str


def map_bytes(
    file: BinaryIO, start: int, stop: int, path: str | PathLike[str], code: str
) -> NDArray[np.uint8]:
    """Some bytes of an open file, which may be closed afterwards; they cannot be written to.

    They are those of ``file`` from ``start`` to before ``stop``. Where they are missing later (`check`), the
    error names ``path`` and has the ``code``.
    """
    mapped = _Mapping(file.fileno(), stop, access=mmap.ACCESS_READ)
    mapped.path, mapped.code = fspath(path), code
    return np.frombuffer(mapped, np.uint8, stop - start, start)


def chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """A flat array piece by piece, at least one; the pages of a mapped one are given back behind it."""
    many = max(1, CHUNK // array.itemsize)
    for first in range(0, max(1, len(array)), many):
        check(array)
        yield array[first : first + many]
        release(array)


def check(array: NDArray[Any]) -> None:
    """An `Error` if the file of a mapped array is no longer as long as it was."""
    mapped = _mapping(array)
    if mapped is not None and mapped.size() < len(mapped):
        message = "the file became shorter while it was in use"
        raise error(mapped.code, message, help="make it again, and start again", file=mapped.path)


def release(array: NDArray[Any]) -> None:
    """Give back the pages of a mapped array; an array in memory stays as it is."""
    mapped = _mapping(array)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _mapping(array: NDArray[Any]) -> _Mapping | None:
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    owner = owner.obj if isinstance(owner, memoryview) else owner
    return owner if isinstance(owner, _Mapping) else None
