"""Settings for all tests."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

# One thread a process: the tests run in parallel, and small tensors are faster so. Before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no error of ours, so no test fails for being slow.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


@pytest.fixture(scope="session", autouse=True)
def _patient_disk() -> Iterator[None]:
    """No test waits until a file has reached the disk; no test cuts the power either."""
    with patch.object(os, "fsync", lambda _: None):
        yield


@pytest.fixture(scope="session")
def zoo() -> ModuleType:
    """The suite of small learning tasks, benchmarks/zoo.py."""
    folder = str(Path(__file__).parents[1] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("zoo")
    finally:
        sys.path.remove(folder)
