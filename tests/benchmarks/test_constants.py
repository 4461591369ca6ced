"""What counts as a constant of a module."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")

TEXT = """
WIDTH: Final = 64
SCHEDULE = ((0.0, 0.6), (1.0, 0.0))
ON, NAME, NONE = True, "64", None
FLAG = True
NAME = "64"
PLACES: dict[str, int]
CHECK = number("above 1", lambda n: n > 1)

def function():
    inner = 3
"""


@pytest.fixture(scope="module")
def counting():
    sys.path.insert(0, BENCHMARKS)
    try:
        return importlib.import_module("constants")
    finally:
        sys.path.remove(BENCHMARKS)


def test_numbers_at_the_top_of_a_module_are_counted_and_nothing_else(counting):
    assert list(counting.constants(TEXT)) == [("WIDTH", 1), ("SCHEDULE", 4)]


def test_rooms_that_are_named_show_each_constant(counting, capsys):
    counting.main(["nets"])
    said = capsys.readouterr().out
    assert "nets/layers.py: WIDTH\n" in said
    assert said.splitlines()[1].split()[0] == "nets"
    assert int(said.splitlines()[1].split()[1]) == len(said.splitlines()) - 2
