"""Worlds by name on the command line."""

import json

import pytest

import pdsketch as pds
from pdsketch.act import world as registry
from pdsketch.cli.main import main
from pdsketch.training.data.files import load_episodes
from pdsketch_paper.babyai.observation import load_sketch
from pdsketch_paper.experiments.reproduce import Request


def test_data_come_from_a_world_with_its_options(tmp_path, capsys):
    words = ["data", "babyai", "--episodes", "2", "--world-option", "objects=2", "--world-option", "doors=1"]
    assert main([*words, "-o", str(tmp_path / "data"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 2
    (first, _) = load_episodes(tmp_path / "data", load_sketch("rob"))
    assert len(first.states[0].objects["item"]) == 3


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["data", "babiai"], 2, "did you mean `babyai`"),
        (["data", "babyai", "--world-option", "objects"], 2, "wanted KEY=VALUE"),
        (["data", "babyai", "--world-option", "objects=1", "--objects", "2"], 2, "given twice"),
        (["data", "babyai", "--world-option", "object=1"], 31, "did you mean `objects`"),
        (["data", "babyai", "--world-option", "objects=many"], 31, "`objects` is a whole number"),
        (["data", "babyai", "--world-option", "level=GoToObj"], 31, "no-demonstrations"),
        (["demo", "babiai"], 2, "did you mean `babyai`"),
        (["demo", "--world-option", "level=GoToObj"], 31, "unknown-option"),
        (["reproduce", "babyai-main", "--world-option", "door=1"], 31, "did you mean `doors`"),
    ],
)
def test_what_a_world_does_not_take_is_told(tmp_path, capsys, words, code, told):
    assert main([*words, "-o", str(tmp_path / "out")]) == code
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_world_without_demonstrations_or_demo_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    pds.register_world("mine", object)
    assert main(["data", "mine", "-o", str(tmp_path / "out")]) == 31
    assert "no-demonstrations" in capsys.readouterr().err
    assert main(["demo", "mine", "-o", str(tmp_path / "out")]) == 31
    assert "no-demo" in capsys.readouterr().err


def test_a_model_is_measured_in_a_world(tmp_path, capsys):
    pds.Model(load_sketch("abs"), seed=0).save(str(tmp_path / "model"))
    words = ["eval", str(tmp_path / "model"), "babyai", "--episodes", "2", "--max-expansions", "5"]
    options = ["--heuristic", "blind", "--world-option", "objects=1", "--world-option", "doors=0", "--json"]
    with pytest.warns(UserWarning, match="never trained"):
        assert main([*words, *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["world"], told["episodes"]) == ("babyai", 2)
    assert 0 <= told["success"] <= 1
    assert {"steps", "replans", "seconds"} <= told.keys()


def test_tables_are_trained_in_the_world_that_is_asked_for(tmp_path):
    plain, fuller = (Request("babyai-main", tmp_path, world=w).all_runs() for w in ({}, {"objects": 8}))
    trained = [getattr(run.config, "train", run.config) for run in fuller]
    assert [config.objects for config in trained] == [8] * len(plain)
    assert not {run.key for run in plain} & {run.key for run in fuller}
