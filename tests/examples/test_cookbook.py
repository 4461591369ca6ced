"""The cookbook's files run, and reach what they are for."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "cookbook"


@pytest.mark.parametrize("name", ["taxi", "doorkey"])
def test_it_learns_and_reaches_its_goals(name):
    assert runpy.run_path(str(FOLDER / f"{name}.py"))["main"]() >= 0.9
