"""``pdsketch export``: files, plans read back, exit codes and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pdsketch as pds
from pdsketch.act import world as registry
from pdsketch.cli.main import main

SHELF = """
(define (domain shelf)
  (:types thing - object spot - vector[int64, 2, choices=2])
  (:predicates (height [return_type=int64] ?o - thing) (pin [return_type=spot] ?o - thing))
  (:derived (top ?o - thing) (= (height ?o) 2))
  (:action raise
    :parameters (?o - thing)
    :precondition (< (height ?o) 2)
    :effect (increase (height ?o) 1))
  (:action move
    :parameters (?o - thing ?s - spot)
    :effect (pin::assign ?o ?s)))
"""
PROBLEM = """
(define (problem two)
  (:domain shelf)
  (:objects box#1 box#2 - thing)
  (:init (= (height box#1) 0) (= (height box#2) 1) (= (pin box#1) [0, 0]) (= (pin box#2) [0, 1]))
  (:goal (forall (?o - thing) (top ?o))))
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a saved model, a problem, and its export in ``out``."""
    monkeypatch.chdir(tmp_path)
    pds.Model(pds.parse_domain(SHELF)).save("model")
    Path("problem.pddl").write_text(PROBLEM)
    assert main(["export", "model", "problem.pddl", "-o", "out"]) == 0
    return tmp_path


def test_files_are_written_and_what_is_left_out_is_said(
    shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["export", "model", "problem.pddl", "-o", "out", "--force"]) == 0
    caught = capsys.readouterr()
    facts = len(pds.load_problem("out/problem.pddl", pds.load_domain("out/domain.pddl")).init)
    codes = len(json.loads(Path("out/mapping.json").read_text())["codes"])
    assert caught.out == (
        f"out: domain.pddl, problem.pddl, mapping.json (1 action, 2 objects, {codes} codes, {facts} facts)\n"
    )
    assert caught.err == (
        "model:1:1: warning[not-abstractable]: `move` is left out: `?s` ranges over values of several parts\n"
    )
    assert main(["export", "model", "problem.pddl", "-o", "again", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["actions"], told["objects"], told["folder"]) == (True, 1, 2, "again")
    assert [*told["left_out"]] == ["move"]
    assert Path("again/domain.pddl").read_text() == Path("out/domain.pddl").read_text()


def test_a_planners_plan_is_replayed_through_the_model(
    shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "out/domain.pddl", "out/problem.pddl", "--search", "astar", "-o", "plan"]) == 0
    assert main(["validate", "out/domain.pddl", "out/problem.pddl", "plan"]) == 0
    capsys.readouterr()
    back = ["export", "model", "problem.pddl", "-o", "out", "--plan"]
    assert main([*back, "plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == ["(raise box#1)", "(raise box#1)", "(raise box#2)", "; cost = 3"]
    assert main([*back, "plan", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["valid"], told["steps"], told["failed_step"]) == (True, 3, None)
    Path("short").write_text("(raise box-1)\n")
    assert main([*back, "short"]) == 1
    caught = capsys.readouterr()
    assert caught.out == "invalid\n"
    assert "short:1:1: error[goal-not-reached]" in caught.err
    Path("wrong").write_text("(raise box-2)\n(raise box-2)\n")
    assert main([*back, "wrong", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["valid"], told["failed_step"]) == (False, 1)
    assert told["diagnostics"][0]["code"] == "not-applicable"


def test_a_domain_alone(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "(define (domain d) (:predicates (p)) (:action a :parameters () :effect (assign (p) (??f (p)))))"
    pds.Model(pds.parse_domain(text)).save("truths")
    capsys.readouterr()
    assert main(["export", "truths", "-o", "own.pddl"]) == 0
    assert capsys.readouterr().out == "own.pddl (1 action)\n"
    assert pds.load_domain("own.pddl").name == "d"
    assert main(["export", "truths", "-o", "folder"]) == 0
    assert capsys.readouterr().out == "folder: domain.pddl, mapping.json (1 action)\n"
    assert main(["export", "model", "problem.pddl", "-o", "codes.pddl"]) == 31
    assert "error[bad-option]" in capsys.readouterr().err


def test_another_goal_and_a_folder_that_is_there(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", "model", "problem.pddl", "-o", "out", "--goal"]
    assert main([*words, "(top box#1)"]) == 31
    assert "out:1:1: error[folder-exists]" in capsys.readouterr().err
    assert main([*words, "(top box#1)", "--force"]) == 0
    goal = pds.load_problem("out/problem.pddl", pds.load_domain("out/domain.pddl")).goal
    assert "box-1" in str(goal)
    capsys.readouterr()
    assert main([*words, "(top box#3)", "--force"]) == 31
    assert "error[unknown-object]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--goal", "(top box#1)"], "a goal or a plan is one for a problem"),
        (["problem.pddl", "--world", "babyai"], "give a PROBLEM or --world NAME, not both"),
        (["problem.pddl", "--world-option", "objects=2"], "--world-option is for a world"),
        (["--world", "babyay"], "no world `babyay`"),
    ],
)
def test_usage(words: list[str], wrong: str, shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "model", *words, "-o", "other"]) == 2
    assert wrong in capsys.readouterr().err
    assert not Path("other").exists()


def test_the_first_state_of_a_world(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Shelf:
        """What the problem begins with, and one goal."""

        goal = "(top box#1)"

        def __init__(self, sketch: pds.Domain) -> None:
            self.sketch = sketch

        def reset(self, seed: int) -> pds.State:
            assert seed == 3
            return pds.load_problem("problem.pddl", self.sketch).state

    monkeypatch.setattr(registry, "_REGISTERED", {"shelf": (Shelf, "")})
    assert main(["export", "model", "--world", "shelf", "--seed", "3", "-o", "seen", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objects"] == 2
    assert "(:goal" in Path("seen/problem.pddl").read_text()
