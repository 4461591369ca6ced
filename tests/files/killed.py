"""What is left on the disk when a process is killed at every one of its steps."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator

STEPS = ("open", "write", "fsync", "replace", "unlink", "ftruncate")
"""The calls that change files."""


def killed_at_each_step(work: Callable[[], object]) -> Iterator[int]:
    """Run some work in a child that dies before its first change of a file, then its second, and so on.

    Yields the number of the step after each death, so that the caller can look
    at what is left, and ends once the work has come to its end.
    """
    step = 0
    while True:
        step += 1
        if not _dies(work, step):
            return
        yield step


def _dies(work: Callable[[], object], step: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this process has threads, and the child none
        child = os.fork()
    if child == 0:
        _count_down(step)
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9), f"the work failed at step {step}"
    return code == 9


def _count_down(step: int) -> None:
    left = step

    def dying(call: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if not left:
                os._exit(9)
            return call(*args, **named)

        return counted

    for name in STEPS:
        setattr(os, name, dying(getattr(os, name)))
