"""Settings for all tests."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

# One thread a process: the tests run in parallel, and small tensors are faster so. Before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from tests.codes import CODES

from pdsketch.lang.diagnostics import Diagnostic

TESTS = Path(__file__).parent

# A busy machine is no error of ours, so no test fails for being slow.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


LONG = (
    "docs/test_docs.py",
    "abstract/test_and_or.py",
    "learn/test_shares.py",
    "learn/test_everyday.py",
    "examples/test_lamps.py",
    "learn/test_resume.py",
    "search/latent/test_plan.py",
    "baselines/test_dreamer.py",
    "onpolicy/test_learn.py",
    "abstract/test_opt.py",
    "task/test_ground.py",
    "tensor/test_agreement.py",
    "experiments/test_babyai_baselines.py",
    "experiments/test_factors.py",
    "experiments/test_babyai_dreamer.py",
    "envs/test_babyai_experiments.py",
)
"""Files of tests that take longest: first, so that no worker ends with one while the others are idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, the others in the order that they are in."""
    places = {TESTS / name: at for at, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(LONG)))


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector need not look through it again, nor as often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _patient_disk() -> Iterator[None]:
    """No test waits until a file has reached the disk; no test cuts the power either."""
    with patch.object(os, "fsync", lambda _: None):
        yield


@pytest.fixture(scope="session", autouse=True)
def _known_codes() -> Iterator[None]:
    """No diagnostic has a code that the table lacks."""
    make = Diagnostic.__init__

    def checked(self: Diagnostic, *args: Any, **named: Any) -> None:
        make(self, *args, **named)
        assert self.code in CODES, f"{self.code} is not in the table of codes"

    with patch.object(Diagnostic, "__init__", checked):
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
