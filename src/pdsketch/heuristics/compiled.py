"""How kernels are compiled: by numba, once, into a cache that notices every change of a source.

The cache looks only at the file of the function that Python calls, if it is told
nothing else; the kernels of other files that were compiled into it could change without
its knowing. All kernels therefore share one stamp, made of all the files that hold kernels.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import numba

import pdsketch.task.aside  # noqa: F401 - what numba takes is not counted
from pdsketch.task.cache import keep

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent.parent
_ROOMS = (_PACKAGE / "heuristics", _PACKAGE / "search" / "packed", _PACKAGE / "search" / "latent")

PATIENCE = 1.5
"""Seconds after which a first call can only be compiling, and the user is told so."""


def _stamp() -> tuple[int, int]:
    """A checksum and the size of all files that hold kernels."""
    files = [file.read_bytes() for room in _ROOMS for file in sorted(room.glob("*.py"))]
    text = b"".join(file for file in files if b"import kernel" in file)
    return crc32(text), len(text)


_STAMP = _stamp()


def kernel(function: F) -> F:
    """Compile a function over flat arrays; keep the machine code on disk where that is possible."""
    return keep(numba.njit(function), function, _STAMP)  # type: ignore[no-any-return]


@contextmanager
def announced() -> Iterator[None]:
    """Tell the user what the wait is for, if what happens inside takes long enough to be compilation."""
    timer = threading.Timer(PATIENCE, _announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _announce() -> None:
    sys.stderr.write("pdsketch: compiling the planner's kernels (once, up to a minute) ...\n")
    sys.stderr.flush()
