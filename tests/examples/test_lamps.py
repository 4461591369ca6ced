"""The lamps example, from data to acting on unseen goals."""

import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "lamps"


def test_unseen_goals_are_reached_in_every_world(capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    runpy.run_path(str(FOLDER / "learn_and_plan.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["5/5"] * 4
