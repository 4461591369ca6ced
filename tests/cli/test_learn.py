"""`pdsketch learn`: a world by its name, what is written, and how it goes on."""

from __future__ import annotations

import json

import pytest
from tests.act.onpolicy.lamps import SKETCH, Lamps

from pdsketch.act import world as registry
from pdsketch.cli.main import main
from pdsketch.lang.load import parse_domain
from pdsketch.tensor.store import load_model


@pytest.fixture
def lamps(tmp_path, monkeypatch):
    """A world of the registry, and the words of a quick run in a folder."""
    monkeypatch.setattr(registry, "_REGISTERED", {})
    registry.register_world("lamps", lambda sketch=None: Lamps(sketch or parse_domain(SKETCH)), "for a test")
    sketch = tmp_path / "lamps.pdsketch"
    sketch.write_text(SKETCH)
    quick = ["--episodes", "6", "--first", "3", "--max-steps", "4", "--fit-steps", "5", "--batch", "16"]
    return ["learn", "lamps", str(sketch), "-o", str(tmp_path / "run"), *quick, "--at-once", "3"]


def test_it_learns_writes_a_model_and_goes_on_when_asked(lamps, tmp_path, capsys):
    assert main([*lamps, "--json", "--evaluate", "2"]) == 0
    caught = capsys.readouterr()
    payload = json.loads(caught.out)
    assert [row["all_episodes"] for row in payload["rounds"]] == [3, 6]
    assert all(0 <= row["held_out"] <= 1 for row in payload["rounds"])
    assert caught.err.count("learn: round") == 2
    assert load_model(tmp_path / "run").domain.name == "lamps"
    assert main([*lamps, "--evaluate", "2"]) == 31
    assert "folder-exists" in capsys.readouterr().err
    assert main([*lamps, "--evaluate", "2", "--resume", "--episodes", "8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"][-1]["all_episodes"] == 8
    assert main([*lamps, "--resume"]) == 31
    assert "`evaluate` was 2, and is 0" in capsys.readouterr().err
    assert main([*lamps, "--force"]) == 0


def test_other_things_in_the_folder_stay_where_they_are(lamps, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "letter.txt").write_text("dear")
    assert main([*lamps, "--resume"]) == 31
    assert "other things" in capsys.readouterr().err
    assert main([*lamps, "--force"]) == 0
    assert (tmp_path / "run" / "letter.txt").read_text() == "dear"


def test_an_unknown_world_or_option_is_said_so(lamps, capsys):
    assert main(["learn", "lamp", *lamps[2:]]) == 2
    assert "did you mean `lamps`" in capsys.readouterr().err
    assert main([*lamps, "--world-option", "size=3"]) == 31
    assert "unknown-option" in capsys.readouterr().err
    assert main([*lamps, "--growth", "0.5"]) == 2
