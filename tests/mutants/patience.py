"""A test that takes much longer than it should ends its process: ``pytest -p tests.mutants.patience``.

The environment says how many seconds of the processor a test may take.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest

VARIABLE = "SECONDS_OF_A_TEST"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol() -> Generator[None, None, None]:
    """The signal has no handler: it ends the process."""
    signal.setitimer(signal.ITIMER_PROF, float(os.environ[VARIABLE]))
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
