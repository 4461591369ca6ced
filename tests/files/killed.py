"""What is left on the disk when a process is killed, or interrupted, at every one of its steps.

Nothing is really killed, which would take long: from some call on, every call
that changes a file raises instead, clean-up included, as if nobody were there any more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from unittest.mock import patch

STEPS = ("open", "write", "pwrite", "fsync", "replace", "unlink", "ftruncate", "fchmod", "mkdir")
"""The calls that change files."""


class Killed(BaseException):
    """The process is no more."""


def killed_at_each_step(work: Callable[[], object]) -> Iterator[int]:
    """Do some work that dies before its first change of a file, then before its second, and so on.

    Yields the number of the step after each death, so that the caller can look
    at what is left, and ends once the work has come to its end.
    """
    step = 0
    while True:
        step += 1
        if not _dies(work, step):
            return
        yield step


def interrupted_at_each_step(work: Callable[[], object]) -> Iterator[int]:
    """The like with Ctrl-C, just after each change of a file; clean-up is done."""
    step = 0
    while True:
        step += 1
        if not _is_interrupted(work, step):
            return
        yield step


def _is_interrupted(work: Callable[[], object], step: int) -> bool:
    left = step

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def calling(*args: object, **named: object) -> object:
            nonlocal left
            found = call(*args, **named)
            left -= 1
            if not left:
                raise KeyboardInterrupt
            return found

        return calling

    with patch.multiple(os, **{name: counted(getattr(os, name)) for name in STEPS}):
        try:
            work()
        except KeyboardInterrupt:
            return True
    return False


def _dies(work: Callable[[], object], step: int) -> bool:
    left = step

    def mortal(call: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left <= 0:
                raise Killed
            return call(*args, **named)

        return counted

    with patch.multiple(os, **{name: mortal(getattr(os, name)) for name in STEPS}):
        try:
            work()
        except Killed:
            return True
    return False
