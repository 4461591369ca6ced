"""The commands of the reproduction, and those of the product in its worlds."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import minari
import pytest
from tests.cli.test_ctrl_c import pressed
from tests.cli.test_files import said
from tests.files.test_writing import largest_file

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.extras import COMMANDS, offered
from pdsketch_paper.babyai.observation import SKETCHES, load_sketch


def test_help_lists_the_commands_with_a_line_each(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name in ("data", "baseline", "demo", "reproduce"):
        assert re.search(rf"^  {name} +\w", out, re.MULTILINE)


@pytest.mark.parametrize("name", ["data", "baseline", "demo", "reproduce"])
def test_the_help_of_every_command_has_an_example(name, capsys):
    assert offered(COMMANDS)[name].value.startswith("pdsketch_paper.")
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert "--json" in out
    assert f"example:\n  pdsketch {name} " in out


@pytest.mark.parametrize(
    "words", [["--failures", "1.5"], ["--failures", "-1"], ["--objects", "-1"], ["--seed", "x"]]
)
def test_parts_and_counts_of_data_are_checked(tmp_path, capsys, words):
    assert main(["data", "babyai", *words, "-o", str(tmp_path / "data")]) == 2
    assert not (tmp_path / "data").exists()


def test_data_on_a_full_disk_is_one_diagnostic(tmp_path, capsys):
    words = ["data", "babyai", "--episodes", "4", "--objects", "2", "--doors", "1", "-o", str(tmp_path / "d")]
    with largest_file(1000):
        assert main([*words, "--json"]) == 31
    (found,) = said(capsys)["diagnostics"]
    assert found["code"] == "cannot-write"
    assert os.listdir(tmp_path / "d") == []
    assert main([*words, "--json"]) == 0
    options = json.loads((tmp_path / "d" / "manifest.json").read_text())["options"]
    assert {name: options[name] for name in ("world", "episodes", "objects", "doors", "seed")} == {
        "world": "babyai",
        "episodes": 4,
        "objects": 2,
        "doors": 1,
        "seed": 0,
    }


def test_demonstrations_are_interrupted_in_a_library_that_catches_everything(tmp_path):
    words = ["data", "babyai", "--episodes", "3", "-o", str(tmp_path / "data")]
    said = pressed("deaf", "pdsketch.act.world:make_world", words)
    assert said["kept"] == "nothing is kept"
    assert not (tmp_path / "data").exists()


def test_a_minari_data_set_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    words = [
        "data",
        "babyai",
        "--episodes",
        "3",
        "--objects",
        "2",
        "--doors",
        "1",
        "--minari",
        "babyai/demo-v0",
    ]
    assert main(words) == 0
    assert "3 episodes" in capsys.readouterr().out
    dataset = minari.load_dataset("babyai/demo-v0")
    assert dataset.total_episodes == 3
    again = pds.read_minari(dataset, pds.make_world("babyai", sketch="rob").domain)
    assert len(again) == 3
    assert main(words) == 31
    assert "there is a data set" in capsys.readouterr().err
    assert main(words[:-2]) == 2
    assert "-o" in capsys.readouterr().err


def test_rob_is_trained_from_the_command_line(tmp_path, capsys):
    sketch = SKETCHES / "rob.pdsketch"
    data, model = str(tmp_path / "data"), str(tmp_path / "model")
    assert main(["data", "babyai", "--episodes", "4", "--objects", "2", "--doors", "1", "-o", data]) == 0
    functions = {"facing": "facing", "direction-left": "direction_left", "direction-right": "direction_right"}
    given = [f"{name}=pdsketch_paper.babyai.modules:{function}" for name, function in functions.items()]
    options = [word for one in given for word in ("--module", one)]
    assert main(["train", str(sketch), data, "-o", model, "--steps", "2", *options]) == 0
    assert main(["eval", model, data, *options]) == 0


def test_the_first_state_of_a_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pds.Model(load_sketch("abs")).save("model")
    words = ["export", "model", "--world", "babyai", "--world-option", "objects=1"]
    assert main([*words, "--world-option", "doors=1", "--seed", "3", "-o", "out", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    world = pds.make_world("babyai", objects=1, doors=1)
    assert told["objects"] == len(world.reset(3).batch.universe(0).types)
    assert "(:goal" in Path("out/problem.pddl").read_text()
