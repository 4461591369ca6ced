"""``--module``: functions of one's own in train, eval and plan."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest
from tests import tabletop

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.cli.modules import given_modules
from pdsketch.training.data.files import save_episodes

SKETCH = """
(define (domain steps)
  (:types robot)
  (:predicates (at [return_type=vector[float32, 1]] ?r - robot))
  (:derived (arrived ?r - robot) (??f (at ?r)))
  (:action go :parameters (?r - robot) :precondition (and) :effect (at::assign ?r (??g (at ?r)))))
"""

CODE = """
import torch

class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.by = torch.nn.Parameter(torch.tensor(0.1))

    def forward(self, at):
        return torch.sigmoid(self.by * at)

class Wide(Scale):
    def __init__(self, width):
        super().__init__()

class Plain:
    step = staticmethod(lambda at: at + 1)

number = 3
instance = Scale()
"""

PROBLEM = (
    "(define (problem p) (:domain steps) (:objects r - robot) (:init (= (at r) [0])) (:goal (arrived r)))"
)


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_code.py").write_text(CODE)
    (tmp_path / "steps.pdsketch").write_text(SKETCH)
    (tmp_path / "p.pddl").write_text(PROBLEM)
    domain = pds.load_domain("steps.pdsketch")
    states = [pds.State(domain, {"robot": ["r"]}, {"at": [[i]]}) for i in range(4)]
    save_episodes([pds.Episode(states, [("go", "r")] * 3, "(arrived r)", [0, 0, 0, 1])], "data")
    return tmp_path


GIVEN = ["--module", "derived::arrived::f=own_code:Scale", "--module", "action::go::g=own_code:Plain.step"]


def test_train_eval_and_plan_take_modules(place, capsys):
    train = ["train", "steps.pdsketch", "data", "-o", "model", "--steps", "3", "--json"]
    assert main([*train, *GIVEN]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["blanks"]["action::go::g"]["verdict"] == "given"
    assert found["blanks"]["derived::arrived::f"]["trained"] is True
    assert main(["eval", "model", "data"]) == 31
    assert "missing-module" in capsys.readouterr().err
    assert main(["eval", "model", "data", *GIVEN]) == 0
    assert main(["plan", "steps.pdsketch", "p.pddl", "--model", "model", *GIVEN]) == 0
    assert "(go r)" in capsys.readouterr().out
    assert main(["plan", "steps.pdsketch", "p.pddl", *GIVEN]) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("derived::arived::f=own_code:Scale", "did you mean"),
        ("derived::arrived::f=own_cod:Scale", "no Python module `own_cod`"),
        ("derived::arrived::f=own_code:Scal", "did you mean `Scale`"),
        ("derived::arrived::f=own_code", "names no function"),
        ("own_code:Scale", "names no function"),
        ("derived::arrived::f=..:x", "no name of a Python module"),
        ("derived::arrived::f=own_code:number", "is a int, and no function"),
        ("derived::arrived::f=own_code:Plain", "no nn.Module"),
        ("derived::arrived::f=own_code:Wide", "without arguments"),
    ],
)
def test_what_names_no_function_is_told(place, capsys, text, told):
    assert main(["train", "steps.pdsketch", "data", "-o", "model", "--module", text]) == 31
    assert told in capsys.readouterr().err
    assert not (place / "model").exists()


def test_an_instance_is_taken_as_it_is_and_a_name_only_once(place):
    found = given_modules(Namespace(module=["F=own_code:instance"]))
    assert type(found["f"]).__name__ == "Scale"
    with pytest.raises(pds.Error, match="twice"):
        given_modules(Namespace(module=["f=own_code:instance", "F=own_code:Scale"]))


def test_classes_take_their_arguments_in_brackets():
    given = given_modules(Namespace(module=["left-of=pdsketch.nets:Offset(3)"]))
    assert isinstance(given["left-of"], pds.nets.Offset)
    assert given["left-of"].size == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f=pdsketch.nets:Offset", "cannot be made without arguments"),
        ("f=pdsketch.nets:Offset(3, 4)", "cannot be made with these arguments"),
        ("f=pdsketch.nets:Offset(x)", "no plain values"),
        ("f=pdsketch.nets:Offset(0)", "size of its vectors"),
        ("f=math:sqrt(2)", "is no class"),
    ],
)
def test_arguments_that_do_not_fit_are_told(text, message):
    with pytest.raises(pds.Error, match=message):
        given_modules(Namespace(module=[text]))


SHELF = """
(define (domain shelf)
  (:types block - object place - float32)
  (:predicates (at [return_type=place] ?b - block))
  (:action move :parameters (?b - block ?p - place) :effect (assign (at ?b) ?p)))
"""

HIGH = """
(define (problem high) (:domain shelf) (:objects a b - block)
  (:init (= (at a) 0) (= (at b) 1)) (:goal (> (at a) 2)))
"""

PROPOSING = """
def three(model, state, round):
    return [3.0]

def four(model, state, block):
    return [4.0] if block == "a" else []

def broken(model, state, *rest):
    return [[1.0, 2.0]]
"""


def test_functions_that_propose_values_are_named_as_modules_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "proposing.py").write_text(PROPOSING)
    (tmp_path / "shelf.pddl").write_text(SHELF)
    (tmp_path / "high.pddl").write_text(HIGH)
    plan = ["plan", "shelf.pddl", "high.pddl", "--json"]
    for option, value in (("--generator", "place=proposing:three"), ("--sampler", "move.?p=proposing:four")):
        assert main([*plan, option, value, "--candidates", "generators"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["plan"] == [["move", "a", 3.0 if option == "--generator" else 4.0]]
        assert main([*plan, option, value.replace("three", "broken").replace("four", "broken")]) == 31
        assert "shape-mismatch" in capsys.readouterr().err
    assert main([*plan, "--candidates", "generators"]) == 12
    assert main([*plan, "--sampler", "move.?q=proposing:four"]) == 31
    assert main([*plan, "--candidates", "some"]) == 2


def test_an_offset_is_trained_and_planned_with_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tabletop.pdsketch").write_text(tabletop.SKETCH)
    save_episodes(tabletop.demonstrations(6), "data")
    state = tabletop.Tabletop(3).reset(0)
    pds.write_problem(state, "(left-of b0 b1)", "p.pddl")
    given = [w for r in tabletop.OFFSETS for w in ("--module", f"{r}=pdsketch.nets:Offset(3)")]
    assert main(["train", "tabletop.pdsketch", "data", "-o", "model", "--steps", "150", *given]) == 0
    capsys.readouterr()
    plan = ["plan", "tabletop.pdsketch", "p.pddl", "--model", "model", "--candidates", "generators"]
    assert main(plan) == 0  # a model knows its offsets
    assert "(move-to b0 [" in capsys.readouterr().out
