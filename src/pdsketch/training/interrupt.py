"""Ctrl-C during a fit: noted at once, obeyed between two steps, so that what was learned can be kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import final


@final
class FitInterrupted(KeyboardInterrupt):
    """A fit was interrupted after ``step`` steps; ``checkpoint``: the file that it can be resumed from."""

    def __init__(self, step: int, checkpoint: str | None) -> None:
        kept = "" if checkpoint is None else f", which {checkpoint} keeps"
        super().__init__(f"the fit was interrupted after {step} steps{kept}")
        self.step = step
        self.checkpoint = checkpoint


@contextmanager
def postponed() -> Iterator[Callable[[], bool]]:
    """Within, a first Ctrl-C is only noted, and the function says whether; a second one interrupts.

    Outside of the main thread, and where a program handles the signal itself, nothing is changed.
    """
    noted = False

    def note(_signal: int, _frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            raise KeyboardInterrupt
        noted = True

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
