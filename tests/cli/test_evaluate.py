"""``pdsketch eval``."""

from __future__ import annotations

import json

import pytest
from tests.training.rooms import world

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.training.data.files import save_episodes


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eval")
    domain, episodes = world(10)
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes, steps=2)
    model.save(str(folder / "model"))
    save_episodes(episodes, folder / "data")
    return folder


def test_eval_prints_the_report_and_writes_a_page(folders, tmp_path, capsys):
    file = tmp_path / "report.html"
    assert main(["eval", str(folders / "model"), str(folders / "data"), "--html", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "always false" in shown
    assert "right changed" in shown
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_eval_gives_everything_as_json(folders, capsys):
    assert main(["eval", str(folders / "model"), str(folders / "data"), "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["ok"] is True
    assert {"warnings", "blanks", "effects", "goals", "worst_steps", "worst_goals"} <= set(plain)


def test_a_page_is_about_episodes(folders, tmp_path, capsys):
    problem = tmp_path / "p.pddl"
    problem.write_text("(define (problem p) (:domain rooms))", encoding="utf-8")
    assert main(["eval", str(folders / "model"), str(problem), "--html", str(tmp_path / "x.html")]) == 2
    assert "--html" in capsys.readouterr().err
