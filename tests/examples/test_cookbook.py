"""The cookbook's files run, and reach what they are for; where tests have no environment, what needs none."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["taxi", "doorkey"])
def test_it_learns_and_reaches_its_goals(name):
    assert runpy.run_path(str(FOLDER / "cookbook" / f"{name}.py"))["main"]() >= 0.9


def without(monkeypatch, path, *modules):
    """What a file defines, where these modules are stand-ins."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, MagicMock())
    return runpy.run_path(str(FOLDER / path))


@pytest.mark.parametrize("block", [0.01, 0.7, 1.51])
@pytest.mark.parametrize("surface", [0.1, 0.8, 1.47])
def test_a_block_of_kinder_is_touched_where_the_robot_comes_both_to_it_and_over_the_surface(
    monkeypatch, block, surface
):
    found = without(monkeypatch, "kinder/obstruction.py", "kinder")
    seen = {"target": {"x": block, "width": 0.1}, "surface": {"x": surface, "width": 0.13}}
    touched = found["grip"](seen, "target")
    low, high = found["LEFT"] - 1e-9, found["RIGHT"] + 1e-9
    assert low <= block + touched <= high
    if low <= surface + 0.015 + 0.05 <= high and low <= block + 0.05 <= high:
        assert touched == pytest.approx(0.05)  # the middle, if no wall is near
    elif abs(block - surface) < 0.1 or 0.1 < block < 1.4:
        assert low <= surface + 0.015 + touched <= high
        assert -0.03 < touched < 0.13


def test_a_kitchen_of_overcooked_is_seen_as_stations_with_what_is_in_them(monkeypatch):
    found = without(
        monkeypatch,
        "cookbook/overcooked.py",
        *("overcooked_ai_py", "overcooked_ai_py.mdp"),
        *("overcooked_ai_py.mdp.actions", "overcooked_ai_py.mdp.overcooked_mdp"),
    )
    onion = SimpleNamespace(name="onion")
    soup = SimpleNamespace(
        name="soup", ingredients=["onion"] * 3, is_idle=False, is_cooking=True, cook_time_remaining=2
    )
    cook = SimpleNamespace(position=(1, 1), orientation=(1, 0), held_object=onion)
    kitchen = SimpleNamespace(players=[cook], objects={(1, 0): soup, (0, 1): SimpleNamespace(name="dish")})
    terrain = ["XPX", "X O", "XSX"]
    env = SimpleNamespace(rules=SimpleNamespace(terrain_mtx=[list(row) for row in terrain]), served=False)
    state = found["observe"](kitchen, env)
    assert state.members("station") == ("counter-0-1", "pot-1-0", "onions-2-1", "hatch-1-2")
    assert state["stands"].tolist() == [[0, 1], [1, 0], [2, 1], [1, 2]]
    assert (state["lies"].tolist(), state["holds"].tolist(), state["left"].tolist()) == ([2], [4], [2])
    assert (state["hand"].tolist(), state["facing"].tolist()) == ([1], [2])


def test_fetch_holds_the_block_that_keeps_its_fingers_apart(monkeypatch):
    found = without(monkeypatch, "cookbook/fetch.py", "gymnasium_robotics")

    def seen(apart, away=0.0):
        numbers = np.zeros(25)
        numbers[9:11] = apart / 2
        return {"observation": numbers, "achieved_goal": np.array([away, 0, 0]), "desired_goal": np.ones(3)}

    assert found["observe"](seen(0.05), None)["held"].tolist() == [True]
    assert found["observe"](seen(0.1), None)["held"].tolist() == [False]
    assert found["observe"](seen(0.05, away=0.2), None)["held"].tolist() == [False]
    world = SimpleNamespace(observation=seen(0.1))
    assert list(found["bring"](world, "block", [1, 1, 1])) == [], "refused, and no command is sent"
