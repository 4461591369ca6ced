"""Moments to be killed at: after some time, or before or after some operation on files."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from typing import Any

OPERATIONS = ("open", "write", "fsync", "replace", "rename", "unlink", "ftruncate", "mkdir")


def die_at_operation(number: int, after: bool) -> Callable[[], None]:
    """For a subject's ``before``: it kills itself at an operation on files, counted from now."""
    count = 0

    def patch() -> None:
        for name in OPERATIONS:
            setattr(os, name, watched(getattr(os, name)))

    def watched(operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **settings: Any) -> Any:
            nonlocal count
            count += 1
            if count == number and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            found = operation(*args, **settings)
            if count == number and after:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return call

    return patch


def some_moment(rng: random.Random, seconds: float, operations: int) -> dict[str, Any]:
    """Settings of `subject.run`: one half of the moments is by the clock, one by operations."""
    if rng.random() < 0.5:
        return {"after": rng.uniform(0, 1.2 * seconds)}
    return {"before": die_at_operation(rng.randint(1, operations), rng.random() < 0.5)}
