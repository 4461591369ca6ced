"""Settings for all tests."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

# One thread a process: the tests run in parallel, and small tensors are faster so. Before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from tests.codes import CODES

from pdsketch.extras import offered
from pdsketch.lang.diagnostics import Diagnostic

ROOT = Path(__file__).parents[1]

# A busy machine is no error of ours, so no test fails for being slow.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


LONG = (
    "tests/docs/test_docs.py",
    "tests/abstract/test_and_or.py",
    "tests/training/test_shares.py",
    "tests/training/test_everyday.py",
    "tests/examples/test_lamps.py",
    "tests/training/test_resume.py",
    "tests/search/latent/test_plan.py",
    "paper/tests/baselines/test_dreamer.py",
    "tests/act/onpolicy/test_learn.py",
    "tests/abstract/test_opt.py",
    "tests/task/test_ground.py",
    "tests/tensor/test_agreement.py",
    "paper/tests/experiments/test_babyai_baselines.py",
    "paper/tests/experiments/test_factors.py",
    "paper/tests/experiments/test_babyai_dreamer.py",
    "paper/tests/babyai/test_babyai_experiments.py",
)
"""Files of tests that take longest: first, so that no worker ends with one while the others are idle."""


def pytest_configure() -> None:
    """Ctrl-C is heard, by what the tests start, too: a job in the background of a shell ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, the others in the order that they are in."""
    places = {ROOT / name: at for at, name in enumerate(LONG)}
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


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any, Any], None]]:
    """Lets a test say what other packages announce: ``{group: {name: "module:attribute"}}``, and what it is.

    The latter is a mapping from attributes (or modules) to things, or a function of them.
    """

    def announce(groups: Mapping[str, Mapping[str, str]], things: Any) -> None:
        class Point(EntryPoint):
            def load(self) -> Any:
                what = self.attr or self.module
                return things(what) if callable(things) else things[what]

        points = {
            group: [Point(name, value, group) for name, value in named.items()]
            for group, named in groups.items()
        }

        def found(**asked: Any) -> Any:  # others ask, too
            ours = asked.get("group", "").startswith("pdsketch.")
            return points.get(asked["group"], []) if ours else entry_points(**asked)

        monkeypatch.setattr("importlib.metadata.entry_points", found)
        offered.cache_clear()

    yield announce
    offered.cache_clear()


@pytest.fixture(scope="session")
def zoo() -> ModuleType:
    """The suite of small learning tasks, benchmarks/zoo.py."""
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("zoo")
    finally:
        sys.path.remove(folder)
