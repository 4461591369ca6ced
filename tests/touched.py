"""Which functions each test calls: ``pytest -p tests.touched`` writes it to ``.mutants/touched``.

Functions are told by file and qualified name. What a test's fixtures call is kept apart from what the test
itself calls: a fixture that is made once is made for other tests of the file, too. What tests do in other
processes is not seen, and a test that fails is left out.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / ".mutants" / "touched"
SOURCES = ("/src/pdsketch/", "/src/pdsketch_paper/")

_seen: set[CodeType] = set()
_tests: dict[str, dict[str, Any]] = {}


def _look(frame: FrameType, event: str, arg: object) -> None:
    _seen.add(frame.f_code)


def function_of(code: CodeType) -> str | None:
    """``room/file.py@Class.method``, for what is defined within it, too; None for other code than ours."""
    for folder in SOURCES:
        before, here, inside = code.co_filename.rpartition(folder)
        if here and before:
            start = "pdsketch_paper/" if "paper" in folder else ""
            return f"{start}{inside}@{code.co_qualname.partition('.<locals>')[0]}"
    return None


def _watched(item: pytest.Item, phase: str) -> Generator[None, Any, None]:
    _seen.clear()
    threading.settrace(_look)
    sys.settrace(_look)
    began = time.process_time()
    outcome = yield
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    if outcome.excinfo is not None:
        _tests.pop(item.nodeid, None)
        return
    kept = _tests.setdefault(item.nodeid, {"seconds": 0.0})
    kept["seconds"] += time.process_time() - began
    kept[phase] = {name for code in list(_seen) if (name := function_of(code))}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, None]:
    """What fixtures call."""
    yield from _watched(item, "setup")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """What the test calls."""
    yield from _watched(item, "call")


def pytest_sessionfinish() -> None:
    """Write it down, a file for each process."""
    if not _tests:
        return
    number: dict[str, int] = {}
    found = {
        test: [
            round(float(kept["seconds"]), 3),
            *(
                sorted(number.setdefault(name, len(number)) for name in kept.get(phase, ()))
                for phase in ("setup", "call")
            ),
        ]
        for test, kept in _tests.items()
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{os.getpid()}.json").write_text(json.dumps({"functions": list(number), "tests": found}))
