"""How much memory planning has taken so far."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import final


@final
class Meter:
    """Counts from its making: what the process has grown by since then."""

    def __init__(self) -> None:
        self._start = resident()

    def bytes(self) -> int:
        """The growth of the process."""
        return max(0, resident() - self._start)


def resident() -> int:
    """The memory of this process in bytes; its peak where the system tells no more."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
