"""Tests in the order that was asked for, each with a limit: ``pytest -p tests.mutants.patience``.

The environment says how many seconds of the processor a test may take; one that takes more ends its process.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest

VARIABLE = "SECONDS_OF_A_TEST"


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Not the longest first, as the whole suite is run."""
    asked = {item: at for at, item in enumerate(items)}
    yield
    items.sort(key=asked.__getitem__)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol() -> Generator[None, None, None]:
    """The signal has no handler: it ends the process."""
    signal.setitimer(signal.ITIMER_PROF, float(os.environ[VARIABLE]))
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
