"""Large packages, imported so that Ctrl-C is heard at once.

Some of them catch whatever is raised while they are imported, `KeyboardInterrupt` too, and the
command would go on. Nothing has been done by then that could be kept: the process ends where it is.
"""

from __future__ import annotations

import os
import signal
from importlib import import_module
from types import FrameType

from pdsketch.cli import output


def import_large(*names: str) -> None:
    """Import packages that take a while."""
    alone = output.is_process() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if alone:
        signal.signal(signal.SIGINT, _leave)
    try:
        for name in names:
            import_module(name)
    finally:
        if alone:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    os._exit(output.interrupted(KeyboardInterrupt()))
