"""The comparison with the figures that are kept notices a fall, and says which row it is."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def quality():
    """The command, benchmarks/quality.py."""
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("quality")
    finally:
        sys.path.remove(folder)


KEPT = {
    "sketch keys-fit": {"figure": 1.0, "tolerance": 0.05},
    "latent moves": {"figure": 0.5, "tolerance": 0.03},
    "zoo near@100": {"figure": 0.9, "tolerance": 0.02},
}


def test_a_fall_beyond_the_tolerance_is_named(quality):
    found = {"sketch keys-fit": 0.94, "latent moves": 0.6, "zoo near@100": 0.88, "zoo new@100": 0.1}
    verdicts = quality.compare(KEPT, found)
    assert [one.word for one in verdicts] == ["FELL", "rose", "", "new"]
    text = quality.table(verdicts)
    assert "1 of 4 rows fell\n  sketch keys-fit: 1.000 → 0.940" in text
    assert "1 rose\n  latent moves: 0.500 → 0.600" in text


def test_what_is_kept_may_fall_as_far_as_seeds_differ(quality):
    kept = quality.keeping({"zoo near@100": {0: 0.9, 1: 0.8, 2: 0.95}, "zoo colour@100": {0: 1.0}})
    assert kept["zoo near@100"] == {"figure": 0.9, "tolerance": 0.15, "seeds": 3}
    assert kept["zoo colour@100"] == {"figure": 1.0, "tolerance": 0.02, "seeds": 1}


def test_the_command_fails_where_a_row_fell(quality, monkeypatch, tmp_path, capsys):
    kept = tmp_path / "quality.json"
    kept.write_text(json.dumps({"zoo colour@100": {"figure": 0.9, "tolerance": 0.02}}))
    monkeypatch.setattr(quality, "KEPT", kept)
    monkeypatch.setattr(quality, "UNFINISHED", tmp_path / "unfinished.json")
    monkeypatch.setattr(sys, "argv", ["quality.py", "--only", "colour"])
    for figure, code in ((0.85, 1), (0.89, 0), (1.0, 0)):
        monkeypatch.setattr(quality, "MEASURES", {"zoo": lambda name, seed, figure=figure: figure})
        assert quality.main() == code
        assert not (tmp_path / "unfinished.json").exists()
    assert "1 rose" in capsys.readouterr().out


def test_an_interrupted_run_is_gone_on_with(quality, monkeypatch, tmp_path, capsys):
    unfinished = tmp_path / "unfinished.json"
    unfinished.write_text(json.dumps({"zoo colour@100": {"0": 0.7}}))
    monkeypatch.setattr(quality, "KEPT", tmp_path / "quality.json")
    monkeypatch.setattr(quality, "UNFINISHED", unfinished)
    monkeypatch.setattr(quality, "MEASURES", {"zoo": lambda name, seed: 0.8})
    monkeypatch.setattr(sys, "argv", ["quality.py", "--only", "colour", "near", "--go-on", "--write"])
    assert quality.main() == 0
    kept = json.loads((tmp_path / "quality.json").read_text())
    assert {row: one["figure"] for row, one in kept.items()} == {"zoo colour@100": 0.7, "zoo near@100": 0.8}


def test_every_row_has_a_figure_that_is_kept_and_a_measure(quality):
    kept = json.loads(quality.KEPT.read_text())
    assert list(kept) == list(quality.ROWS)
    assert all(row.split()[0] in quality.MEASURES for row in quality.ROWS)
    assert all(one["tolerance"] >= quality.TOLERANCE[row.split()[0]] for row, one in kept.items())


def test_the_checking_half_of_the_sketches_is_not_spent(quality, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(quality.__file__).parent))
    sketches = importlib.import_module("sketches")
    names = {*quality.SKETCHES, quality.PAPER}
    assert {sketches.TASKS[name].half for name in names} == {"choose"}
