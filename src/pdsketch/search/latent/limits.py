"""What ends a call for want of time or memory, whoever noticed it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pdsketch.budget import LimitError, OutOfMemoryError
from pdsketch.search.result import Status
from pdsketch.tensor import out_of_memory

LIMITS = (LimitError, MemoryError, RuntimeError)
"""The errors among which those of limits are; `status_of` tells them from the others."""


def status_of(failure: BaseException) -> Status | None:
    """The status of a call that an error ended, if it was a limit that was reached."""
    if isinstance(failure, LimitError):
        return failure.status
    return OutOfMemoryError.status if out_of_memory(failure) else None


@contextmanager
def suppress_limits() -> Iterator[None]:
    """Within, a limit that is reached ends the block and nothing else."""
    try:
        yield
    except LIMITS as limit:
        if status_of(limit) is None:
            raise
