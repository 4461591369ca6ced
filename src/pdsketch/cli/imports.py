"""Work of libraries, done so that Ctrl-C is heard at once.

Some of them catch whatever is raised within them, `KeyboardInterrupt` too, and the command would
go on; large packages do so while they are imported. Where nothing has been done yet that could
be kept, the process ends where it is.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType

from pdsketch.cli import output


@contextmanager
def ctrl_c_ends() -> Iterator[None]:
    """Within, Ctrl-C raises nothing, but ends the process, if the command is all that it is for."""
    alone = output.is_process() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if alone:
        signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        if alone:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def import_large(*names: str) -> None:
    """Import packages that take a while."""
    with ctrl_c_ends():
        for name in names:
            import_module(name)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    output.leave(KeyboardInterrupt())
