"""What a walk through the package touches is counted, and the walk of the benchmark runs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import pdsketch

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture(scope="module")
def walks():
    sys.path.insert(0, BENCHMARKS)
    try:
        return importlib.import_module("walks")
    finally:
        sys.path.remove(BENCHMARKS)


MODULES = {
    "__init__": "def ready():\n    return 1\n",
    "upper/__init__": "",
    "upper/start": (
        "from house import ready\n\n"
        "def begin():\n    from house.lower.work import work\n    ready()\n    return work() + work()\n\n"
        "def never():\n    return 0\n"
    ),
    "lower/__init__": "",
    "lower/work": (
        "def made():\n    return 2\n\nTWO = made()\n\nclass Kept:\n    value = TWO\n\n"
        "def work():\n    from house.upper.end import finish\n    return finish(Kept.value)\n"
    ),
    "upper/end": "def finish(value):\n    return value\n",
}


def test_functions_are_counted_once_and_imports_are_not(walks, tmp_path, monkeypatch):
    for name, text in MODULES.items():
        path = tmp_path / "house" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    start = importlib.import_module("house.upper.start")
    with walks.Follower(tmp_path / "house") as follower:
        assert start.begin() == 4
    assert follower.walk() == walks.Walk(
        modules=4,  # start, house itself, work, end
        functions=4,
        changes=3,
        deepest=3,
        calls=3,
        rooms={"upper": 2, "house": 1, "lower": 1},
    )


def test_planning_for_a_problem_is_a_walk_through_rooms(walks):
    walk = walks.follow("plan")
    folders = {path.name for path in Path(pdsketch.__file__).parent.iterdir()} | {"pdsketch"}
    assert {"lang", "task", "search"} <= set(walk.rooms) <= folders
    assert "tensor" not in walk.rooms
    assert walk.functions == sum(walk.rooms.values()) > walk.modules > walk.changes > 0
    assert f"| {walk.modules} | {walk.functions} | {walk.changes} |" in walks.table({"plan": walk})
