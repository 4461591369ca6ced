"""Which functions each test calls: ``pytest -p tests.touched`` writes it to ``.mutants/touched``.

Functions are told by file and qualified name. What a test's fixtures call is kept apart from what the test
itself calls: a fixture that is made once is made for other tests of the file, too. Processes of Python that
a test starts are looked into until they end, unless they are killed. A test that fails is left out.
A later recording of a file of tests replaces an earlier one; each says of which text of the file it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Generator, Iterable
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / ".mutants" / "touched"
SOURCES = ("/src/pdsketch/", "/src/pdsketch_paper/")

CHILD = "TOUCHED_BY"
"""The variable of the environment that names the file for what the processes of a test call."""

LOOK = f"""import atexit, os, sys, threading
path, seen = os.environ.get("{CHILD}"), set()
def look(frame, event, arg): seen.add(frame.f_code)
def write():
    sys.settrace(None)
    with open(path, "a") as file:
        for code in list(seen):
            print(code.co_filename, code.co_qualname, sep="\\t", file=file)
if path:
    atexit.register(write)
    threading.settrace(look)
    sys.settrace(look)
"""

_seen: set[CodeType] = set()
_tests: dict[str, dict[str, Any]] = {}
_numbers = count()
_children = Path(tempfile.gettempdir()) / f"touched{os.getpid()}"


def _look(frame: FrameType, event: str, arg: object) -> None:
    _seen.add(frame.f_code)


def function_of(file: str, name: str) -> str | None:
    """``room/file.py@Class.method``, for what is defined within it, too; None for other code than ours."""
    for folder in SOURCES:
        before, here, inside = file.rpartition(folder)
        if here and before:
            start = "pdsketch_paper/" if "paper" in folder else ""
            return f"{start}{inside}@{name.partition('.<locals>')[0]}"
    return None


def _file(test: str) -> str:
    return test.partition("::")[0]


def _named(found: Iterable[tuple[str, str]]) -> set[str]:
    return {name for file, called in found if (name := function_of(file, called))}


def _watched(item: pytest.Item, phase: str) -> Generator[None, Any, None]:
    if not all(test.startswith(_file(item.nodeid) + "::") for test in _tests):
        _write()
    kept = _tests.setdefault(item.nodeid, {"seconds": 0.0, "children": _children / str(next(_numbers))})
    os.environ[CHILD] = str(kept["children"])
    _seen.clear()
    threading.settrace(_look)
    sys.settrace(_look)
    began = sum(os.times()[:4])
    outcome = yield
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    if outcome.excinfo is not None:
        _tests.pop(item.nodeid, None)
        return
    kept["seconds"] += sum(os.times()[:4]) - began
    kept[phase] = _named((code.co_filename, code.co_qualname) for code in list(_seen))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, None]:
    """What fixtures call."""
    yield from _watched(item, "setup")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """What the test calls."""
    yield from _watched(item, "call")


def pytest_sessionstart() -> None:
    """Processes of Python look at what they call if their environment says where to write it."""
    _children.mkdir(exist_ok=True)
    (_children / "sitecustomize.py").write_text(LOOK)
    paths = [str(_children), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def pytest_sessionfinish(exitstatus: int) -> None:
    """The last file's, if it was run to its end."""
    if exitstatus != pytest.ExitCode.INTERRUPTED:
        _write()
    shutil.rmtree(_children)


def record_of(file: str) -> Path:
    """Where the recording of a file of tests is."""
    return FOLDER / (file.replace("/", "-") + ".json")


def out_of_date(files: Iterable[str]) -> list[str]:
    """Those files of tests whose text is not the recorded one."""
    found = []
    for file in files:
        kept = json.loads(record_of(file).read_text()) if record_of(file).exists() else {}
        if kept.get("text") != _digest(file):
            found.append(file)
    return found


def _digest(file: str) -> str:
    return hashlib.sha256((FOLDER.parents[1] / file).read_bytes()).hexdigest()


def _write() -> None:
    """Write down what the tests of a file call."""
    number: dict[str, int] = {}
    found = {}
    for test, kept in _tests.items():
        lines = kept["children"].read_text().splitlines() if kept["children"].exists() else []
        called = kept.get("call", set()) | _named(line.split("\t") for line in lines)
        phases = (kept.get("setup", set()), called)
        numbers = (sorted(number.setdefault(name, len(number)) for name in names) for names in phases)
        found[test] = [round(float(kept["seconds"]), 3), *numbers]
    if found:
        FOLDER.mkdir(parents=True, exist_ok=True)
        file = _file(next(iter(found)))
        kept = {"text": _digest(file), "functions": list(number), "tests": found}
        record_of(file).write_text(json.dumps(kept))
    _tests.clear()
