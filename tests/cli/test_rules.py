"""``pdsketch rules``."""

from __future__ import annotations

import json

import pytest
from tests.training.rooms import world

import pdsketch as pds
from pdsketch.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    domain, episodes = world(10)
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes, steps=2)
    path = tmp_path_factory.mktemp("rules") / "model"
    model.save(str(path))
    return path


def test_rules_prints_each_function_with_its_agreement(folder, capsys):
    assert main(["rules", str(folder)]) == 0
    out = capsys.readouterr().out
    model = pds.load_model(str(folder))
    assert out == str(pds.rules(model)) + "\n"
    for function in pds.rules(model).functions:
        assert f"{function.owner}:\n" in out
        assert function.head in out
    assert "; exact: " in out


def test_rules_gives_everything_as_json(folder, capsys):
    assert main(["rules", str(folder), "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["ok"] is True
    assert {"owner", "head", "rules", "exact", "agreement", "cases"} <= set(plain["functions"][0])
    assert plain["codebooks"][0]["codes"]
    assert plain["left_out"] == {}


def test_rules_lists_codebooks_with_their_errors(folder, capsys):
    assert main(["rules", str(folder), "--codes"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert " codes (" in first
    assert "quantisation error" in first


def test_full_lists_are_not_cut(folder, capsys):
    assert main(["rules", str(folder), "--full"]) == 0
    whole = capsys.readouterr().out
    assert main(["rules", str(folder)]) == 0
    assert "…" not in whole
    assert len(whole) >= len(capsys.readouterr().out)


def test_a_number_of_codes_is_kept_with_the_model(folder, tmp_path, capsys):
    pds.load_model(str(folder)).save(str(tmp_path / "m"))
    name = "place"
    assert main(["rules", str(tmp_path / "m"), "--codes", "--code-count", f"{name}=2", "--save"]) == 0
    caught = capsys.readouterr()
    assert f"{name}: 2 codes (k-means)" in caught.out
    assert "saved with its codes" in caught.err
    assert pds.load_model(str(tmp_path / "m")).notes["code_counts"] == {name: 2}
    assert main(["rules", str(tmp_path / "m"), "--codes"]) == 0
    assert f"{name}: 2 codes (k-means)" in capsys.readouterr().out


def test_slips_of_the_command_line(folder, capsys):
    for wrong in ("pose", "pose=", "pose=0", "=3", "pose=-1"):
        assert main(["rules", str(folder), "--code-count", wrong]) == 2
        assert "wanted TYPE=N" in capsys.readouterr().err
    assert main(["rules", str(folder), "--code-count", "nothing=3"]) == 31
    assert "no state variable has the type `nothing`" in capsys.readouterr().err
    assert main(["rules", str(folder / "nowhere")]) == 31


def test_untrained_blanks_are_warned_of(tmp_path, capsys):
    domain, _ = world(2)
    pds.Model(domain, seed=0).save(str(tmp_path / "m"))
    assert main(["rules", str(tmp_path / "m"), "--json"]) == 0
    caught = capsys.readouterr()
    name = next(iter(domain.blanks))
    assert f"pdsketch: warning: `{name}` was never trained: its rules are a guess" in caught.err
    assert f"`{name}` was never trained: its rules are a guess" in json.loads(caught.out)["warnings"]


PROBLEM = """
(define (problem p) (:domain rooms) (:objects rob - robot b - box)
  (:init (= (at rob) [1]) (= (colour b) 2) (= (stands b) [0])) (:goal (in-last rob)))
"""


def test_the_codes_of_a_state(folder, tmp_path, capsys):
    problem = tmp_path / "p.pddl"
    problem.write_text(PROBLEM, encoding="utf-8")
    assert main(["rules", str(folder), "--state", str(problem)]) == 0
    shown = capsys.readouterr().out.partition("the state:\n")[2].splitlines()
    assert shown == ["  (at rob) = place@1", "  (colour b) = paint@2", "  (stands b) = place@0"]


def test_a_value_off_every_code_is_uncertain(folder, tmp_path, capsys):
    problem = tmp_path / "p.pddl"
    problem.write_text(PROBLEM.replace("[1]", "[7]"), encoding="utf-8")
    words = ["rules", str(folder), "--state", str(problem), "--code-count", "place=3"]
    assert main(words) == 0
    shown = capsys.readouterr().out.partition("the state:\n")[2].splitlines()
    assert "  ; uncertain: (at rob) = place@2 is the nearest code" in shown
    assert not any("uncertain: (stands" in line for line in shown)
