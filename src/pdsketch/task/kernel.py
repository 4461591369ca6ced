"""How the kernels of this room are compiled: by numba, once, and kept on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

import pdsketch.task.aside  # noqa: F401 - what numba takes is not counted
from pdsketch.task.cache import keep

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function over flat arrays. Kernels must call only kernels of their own file.

    The cache notices a change of the file that holds the function Python calls, and
    of no other.
    """
    return keep(njit(function), function)  # type: ignore[no-any-return]
