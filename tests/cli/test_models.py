"""``plan --model`` and ``validate --model`` take the domain from the model."""

from __future__ import annotations

import json

import pytest

import pdsketch as pds
from pdsketch.cli.main import main

LAMPS = """
(define (domain lamps)
  (:types lamp)
  (:predicates (lit ?l - lamp) (fine ?l - lamp) (level [return_type=float32] ?l - lamp))
  (:action press :parameters (?l - lamp) :precondition (fine ?l) :effect (lit ?l)))
"""
PROBLEM = """
(define (problem p) (:domain lamps) (:objects a b - lamp)
  (:init (fine a) (= (level a) 1) (= (level b) 1)) (:goal (and (lit a))))
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "domain.pdsketch").write_text(LAMPS)
    (tmp_path / "p.pddl").write_text(PROBLEM)
    pds.Model(pds.parse_domain(LAMPS), seed=0).save("model")
    return tmp_path


@pytest.mark.parametrize("domain", [[], ["domain.pdsketch"]])
def test_the_domain_may_be_left_out(files, capsys, domain):
    assert main(["plan", "--model", "model", *domain, "p.pddl", "-o", "plan"]) == 0
    assert (files / "plan").read_text().startswith("(press a)")
    assert main(["validate", "--model", "model", *domain, "p.pddl", "plan", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["valid"], told["steps"]) == (True, 1)


@pytest.mark.parametrize(
    ("plan", "said", "step"),
    [
        ("(press b)", "precondition does not hold", 0),
        ("", "`(lit a)` is false", None),
        ("(press a)\n(press c)", "c", 1),
    ],
)
def test_a_plan_that_the_model_refuses(files, capsys, plan, said, step):
    (files / "plan").write_text(plan)
    assert main(["validate", "--model", "model", "p.pddl", "plan", "--json"]) == 1
    caught = capsys.readouterr()
    assert said in caught.err
    assert json.loads(caught.out)["failed_step"] == step


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan", "domain.pdsketch"], "DOMAIN is followed by PROBLEM"),
        (["validate", "domain.pdsketch", "p.pddl"], "DOMAIN is followed by PLAN"),
        (["validate", "--model", "model", "p.pddl"], "PROBLEM and PLAN are needed"),
        (["validate", "domain.pdsketch", "p.pddl", "plan", "--module", "f=math:sin"], "goes with --model"),
    ],
)
def test_what_is_missing_is_a_usage_error(files, capsys, words, said):
    assert main(words) == 2
    assert said in capsys.readouterr().err
