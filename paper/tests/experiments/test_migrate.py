"""Kept runs are found again after their functions have moved."""

from __future__ import annotations

import json
from pathlib import Path

from paper.migrate import main

from pdsketch_paper.experiments.reproduce import EXPERIMENTS
from pdsketch_paper.experiments.runs import finished_runs

RESULTS = Path(__file__).parents[3] / "results"


def test_every_published_run_is_one_of_its_table():
    tables = sorted(RESULTS.glob("*.json"))
    assert {path.stem for path in tables} <= set(EXPERIMENTS)
    for path in tables:
        runs = json.loads(path.read_text())["runs"]
        known = {run.name: run.code for run in EXPERIMENTS[path.stem].runs(range(3), False)}
        assert {run["name"]: run["function"] for run in runs}.items() <= known.items()


def test_runs_that_were_kept_under_the_names_of_before_are_found(tmp_path, capsys):
    (run, *_) = EXPERIMENTS["babyai-curves"].runs(range(1), False)
    (kept, *_) = json.loads((RESULTS / "babyai-curves.json").read_text())["runs"]
    kept["function"] = "pdsketch.experiments.babyai_curves:measure_curve"
    (tmp_path / f"{kept['name']}-0123456789.json").write_text(json.dumps(kept))
    assert finished_runs([run], tmp_path) == [None]
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 runs renamed\n"
    (found,) = finished_runs([run], tmp_path)
    assert found == {**kept, "function": run.code}
    assert [path.name for path in tmp_path.glob("*.json")] == [f"{run.key}.json"]
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "0 runs renamed\n"
