"""How kernels are compiled: by numba, once, and kept on disk where that is possible."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numba import njit

import pdsketch.kernels.aside  # noqa: F401 - what numba takes is not counted
from pdsketch.kernels.cache import keep

F = TypeVar("F", bound=Callable[..., Any])

ANNOUNCED_AFTER = 1.5
"""Seconds after which a first call can only be compiling, and the user is told so."""


def kernel(function: F) -> F:
    """Compile a function over flat arrays; it may call kernels of any room."""
    return keep(njit(function), function)  # type: ignore[no-any-return]


@contextmanager
def announced() -> Iterator[None]:
    """Tell the user what the wait is for, if what happens inside takes long enough to be compilation."""
    timer = threading.Timer(ANNOUNCED_AFTER, _announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _announce() -> None:
    sys.stderr.write("pdsketch: compiling the planner's kernels (once, up to a minute) ...\n")
    sys.stderr.flush()
