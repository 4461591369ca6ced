"""Runs and their files: the finished are kept, the damaged made again, and tables say what was done."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from paper.tests.experiments.doubles import Config, begun, runs

from pdsketch.cli.main import main
from pdsketch.lang.diagnostics import Error
from pdsketch_paper.experiments.babyai_tables import EXPERIMENTS, QUICK_EXPANSIONS
from pdsketch_paper.experiments.reproduce import EXPERIMENTS as ALL, Request, reproduce
from pdsketch_paper.experiments.runs import ExperimentRun, run_all, sources
from pdsketch_paper.experiments.tables import Measured, rate

RESULTS = Path(__file__).parents[3] / "results"


@pytest.mark.parametrize("rest", [b"", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_a_run_file_that_is_not_whole_is_made_again_with_a_word(tmp_path, rest):
    whole = run_all(runs(1, 2), tmp_path)
    file = tmp_path / f"{runs(1)[0].key}.json"
    file.write_bytes(rest)
    said: list[str] = []
    again = run_all(runs(1, 2), tmp_path, say=said.append)
    assert [one["result"] for one in again] == [one["result"] for one in whole]
    assert said == [
        f"{file} is not whole: the run is made again",
        "1 of 2 runs are finished already",
        "1/1 n1",
    ]


def test_a_run_that_fails_does_not_keep_others_from_being_made(tmp_path):
    with pytest.raises(Error, match=r"run n13: thirteen is not doubled"):
        run_all(runs(13, 2), tmp_path)
    assert json.loads((tmp_path / f"{runs(2)[0].key}.json").read_text())["result"] == {"twice": 4}


def test_a_worker_writes_what_it_has_measured(tmp_path):
    found = run_all(runs(1), tmp_path, jobs=2)
    assert found[0]["result"] == {"twice": 2}


@pytest.mark.parametrize("name", ["babyai-main", "babyai-data", "babyai-stock", "babyai-unseen"])
def test_a_quick_table_says_how_little_was_run(name):
    experiment = EXPERIMENTS[name]
    loops = {"success": 1.0, **{loop: {"success": 1.0} for loop in ("open", "closed")}}
    tried = {"success": 1.0, "length_over_optimum": None, "expanded": 1.0}
    unseen = {"optimum": 1.0, "blind": tried, "abstract": tried}
    result = {"4+4": loops, "8+6": loops, "stock": {}, "unseen": {"all doors open": unseen}}
    origin = {"commit": "c", "date": "d", "versions": {}}
    records = [
        {"config": asdict(run.config), "result": result, "origin": origin}
        for run in experiment.runs(range(1), True)
    ]
    note = experiment.table(records).note
    assert f"at most {QUICK_EXPANSIONS} expansions" in note
    assert "1,000" not in note


def test_an_interrupted_table_says_what_is_kept(tmp_path, capsys, monkeypatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pdsketch_paper.experiments.reproduce.run_all", stop)
    assert main(["reproduce", "babyai-main", "--quick", "-o", str(tmp_path), "--json"]) == 130
    caught = capsys.readouterr()
    told = json.loads(caught.out)
    assert told["status"] == "interrupted"
    count = len(EXPERIMENTS["babyai-main"].runs(range(1), True))
    assert told["kept"] == f"0 of {count} runs are kept in {tmp_path / 'quick' / 'runs'}"
    assert caught.err == f"pdsketch: interrupted; {told['kept']}; {told['resume']}\n"


def test_a_run_that_resumes_goes_on_in_its_folder_which_ends_with_it(tmp_path):
    run = ExperimentRun("long", begun, Config(1), resumes=True)
    with pytest.raises(Error, match="not the first time"):
        run_all([run], tmp_path)
    assert (tmp_path / f"{run.key}.begun").is_dir()
    (found,) = run_all([run], tmp_path)
    assert found["result"] == {"calls": 2}
    assert [path.name for path in tmp_path.iterdir()] == [f"{run.key}.json"]


def measured(run):
    """A record of a run of missions, made up."""
    loops = {"success": 0.5, **{loop: {"success": 0.5} for loop in ("open", "closed")}}
    origin = {"commit": "c", "date": "d", "python": "p", "versions": {}}
    return {
        "name": run.name,
        "function": run.code,
        "config": asdict(run.config),
        "result": {"4+4": loops, "8+6": loops},
        "origin": origin,
    }


@pytest.mark.parametrize("name", ["babyai-main", "babyai-data"])
@pytest.mark.parametrize("kinds", [("bc",), ("abs",), ("bc", "abs")])
def test_a_table_of_finished_runs_says_which_are_not(tmp_path, name, kinds):
    request = Request(name, tmp_path, seeds=range(2), quick=True, finished_only=True)
    request.runs.mkdir(parents=True)
    every = request.all_runs()
    here = [run for run in every if run.name.startswith(tuple(f"{kind}-" for kind in kinds))]
    for run in here:
        (request.runs / f"{run.key}.json").write_text(json.dumps(measured(run)))
    table = reproduce(request)
    _, told = table.note.split("**Not run yet**: ")
    assert told == ", ".join(run.name for run in every if run not in here) + "."
    cells = {row[0]: set(row[3:]) - {"", "–"} for row in table.rows if row[1] == "ours"}
    assert {title for title, found in cells.items() if found} == {
        {"bc": "BC", "abs": "PDS-Abs"}[kind] for kind in kinds
    }
    assert (request.place / f"{name}.png").stat().st_size > 1000


def test_a_table_of_no_runs_is_refused(tmp_path, capsys):
    assert main(["reproduce", "babyai-nodes", "--finished", "-o", str(tmp_path)]) == 31
    assert "no-runs" in capsys.readouterr().err


MODULE = """
from dataclasses import dataclass
from pdsketch_paper.experiments.runs import ExperimentRun

@dataclass(frozen=True)
class Config:
    size: int

def measure(config):
    return {}

print(ExperimentRun("some", measure, Config(1)).key)
"""


def test_a_run_of_a_module_that_is_started_is_that_of_the_module(tmp_path):
    (tmp_path / "trial.py").write_text(MODULE)
    said = [
        subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        for words in (["-m", "trial"], ["-c", "import trial"])
    ]
    assert said[0] == said[1]
    assert said[0].startswith("some-")


def test_rows_of_other_sources_are_marked_and_the_worst_seed_is_told():
    here, there = {"sources": sources()}, {"sources": "0123abcd"}
    own = [Measured(value, here) for value in (1.0, 0.9, 0.8)]
    assert rate(own) == "0.900 ± 0.100, worst 0.800"
    assert rate([*own[1:], Measured(1.0, there)]) == "0.900 ± 0.100, worst 0.800 †"
    assert rate([Measured(1.0, {})]) == "1.000 †"


@pytest.mark.parametrize(
    ("words", "seeds"), [("2", (0, 1)), ("5,17,5", (5, 17)), ("100-102", (100, 101, 102)), ("7,", None)]
)
def test_seeds_are_a_number_a_list_or_a_range(words, seeds, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "pdsketch_paper.experiments.reproduce.run_all", lambda runs, *_: asked.extend(runs) or []
    )
    if seeds is None:
        assert main(["reproduce", "babyai-factors", "--quick", "--seeds", words]) == 2
        assert "found 7," in capsys.readouterr().err
        return
    with pytest.raises(LookupError):
        main(["reproduce", "babyai-factors", "--quick", "--seeds", words])
    assert tuple(dict.fromkeys(run.config.seed for run in asked)) == seeds


def _unseeded(name: str) -> str:
    """A run's name whatever its seed."""
    return re.sub(r"seed\d+", "seed", name)


def test_every_published_run_is_one_of_its_table():
    tables = sorted(RESULTS.glob("*.json"))
    assert {path.stem for path in tables} <= set(ALL)
    for path in tables:
        runs = json.loads(path.read_text())["runs"]
        known = {_unseeded(run.name) for run in ALL[path.stem].runs(range(3), False)}
        assert {_unseeded(run["name"]) for run in runs} <= known
