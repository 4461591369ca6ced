"""What is said of blanks."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
import torch
from tests.training.models import as_trained, chosen, rooms_model

import pdsketch as pds
from pdsketch.training.diagnosis.blanks import MEANINGS, REMEDIES, BlankReport, Verdict


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({"learnable": False}, "given"),
        ({"trained": False, "calls": 9}, "never-trained"),
        ({"calls": 0}, "never-called"),
        ({"calls": 40, "outside": 3, "right": 0.3}, "outside"),
        ({"calls": 40, "outside": 2, "right": 0.3}, "ambiguous"),
        ({"calls": 9, "right": 0.3}, "ambiguous"),
        ({"calls": 9, "undecided": 3, "right": 1.0}, "ambiguous"),
        ({"calls": 9, "right": 1.0}, "learned"),
        ({"calls": 9, "right": None}, "learned"),
        ({"calls": 9, "target_changed": False}, "never-varied"),
        ({"calls": 9, "inputs_varied": False, "codes": 8, "codes_used": 1}, "never-varied"),
        ({"calls": 9, "codes": 8, "codes_used": 1}, "collapsed"),
        ({"calls": 9, "codes": 8, "codes_used": 3}, "learned"),
        ({"calls": 9, "spread": 0.0}, "collapsed"),
        ({"boolean": True, "calls": 9, "true": 9}, "one-sided"),
        ({"boolean": True, "calls": 9, "true": 4, "undecided": 2}, "undecided"),
        ({"boolean": True, "calls": 9, "true": 4, "undecided": 2, "right": 1.0}, "learned"),
        ({"boolean": True, "calls": 9, "true": 4, "right": 0.5}, "ambiguous"),
        ({"boolean": True, "calls": 9, "true": 4}, "learned"),
    ],
)
def test_a_verdict_follows_from_what_was_counted(facts, verdict):
    assert BlankReport("f() -> float32", **{"trained": True, **facts}).verdict == verdict


def test_every_verdict_has_a_meaning_and_remedies_are_for_verdicts():
    assert set(MEANINGS) == set(get_args(Verdict))
    assert set(REMEDIES) < set(MEANINGS)


def test_the_documents_explain_every_verdict():
    page = (Path(__file__).parents[2] / "docs" / "when-it-does-not-learn.md").read_text(encoding="utf-8")
    for verdict, meaning in MEANINGS.items():
        assert f"| *{verdict}* | {meaning} | {REMEDIES.get(verdict, '')} |" in page


def test_blanks_that_are_right_on_the_data_are_learned(rooms):
    found = pds.evaluate(rooms_model(rooms[0]), rooms[1])
    assert {report.verdict for report in found.blanks.values()} == {"learned"}
    assert found.warnings == ()


def test_a_value_that_is_mostly_wrong_is_not_called_learned(rooms):
    found = pds.evaluate(rooms_model(rooms[0], right=lambda at: at + 0.2), rooms[1])
    assert found.blanks["action::right::f"].verdict == "ambiguous"
    assert found.blanks["action::right::f"].right == 0.0
    assert found.blanks["action::left::f"].verdict == "learned"


def test_a_value_is_not_blamed_for_the_gate_before_it(rooms):
    found = pds.evaluate(rooms_model(rooms[0], near=lambda at, _: torch.zeros_like(at)), rooms[1])
    assert found.measures.effects["dye"]["colour"].right_changed == 0.0
    assert found.blanks["action::dye::f"].verdict == "learned"
    assert found.blanks["derived::near::f"].verdict == "one-sided"


def test_an_unsure_choice_is_ambiguous(rooms):
    model = rooms_model(rooms[0], dye=lambda colour: 0.1 * chosen(colour.roll(1, -1)))
    assert pds.evaluate(model, rooms[1]).blanks["action::dye::f"].verdict == "ambiguous"


def test_a_blank_that_nothing_evaluates_is_not_called_learned(rooms):
    episodes = [e for e in rooms[1] if e.goal == "(in-last rob)"]
    found = pds.evaluate(rooms_model(rooms[0]), episodes)
    assert found.blanks["derived::is-red::f"].calls == 0
    assert found.blanks["derived::is-red::f"].verdict == "never-called"


CODES = """
(define (domain codes)
  (:types box)
  (:predicates (shade [return_type=vector[float32, 2]] ?b - box))
  (:derived (code [return_type=int64[choices=8]] ?b - box) (??f (shade ?b)))
  (:derived (dark ?b - box) (??f (code ?b)))
  (:action flip :parameters (?b - box) :precondition (and) :effect (code::assign ?b (??f (code ?b)))))
"""


def shades():
    domain = pds.parse_domain(CODES)
    episodes = []
    for first in range(3):
        shade = [[[float((first + step) % 3), 0.0]] for step in range(2)]
        states = [pds.State(domain, {"box": ["b"]}, {"shade": value}) for value in shade]
        success = [int(value[0][0] == 0) for value in shade]
        episodes.append(pds.Episode(states, [("flip", "b")], "(dark b)", success))
    return domain, episodes


@pytest.mark.parametrize(("used", "verdict"), [(3, "learned"), (1, "collapsed")])
def test_the_codes_that_an_encoder_uses_are_counted(used, verdict):
    domain, episodes = shades()
    places = torch.eye(8)

    def encode(shade):
        return chosen(places[shade[..., 0].long() % used])

    functions = {
        "derived::code::f": encode,
        "derived::dark::f": lambda code: code[..., 0],
        "action::flip::f": lambda code: chosen(places[(code.argmax(-1) + 1) % used]),
    }
    found = pds.evaluate(as_trained(domain, functions), episodes)
    assert found.blanks["derived::code::f"].note == f"{used} of 8 codes used"
    assert found.blanks["derived::code::f"].verdict == verdict
    assert f"{used} of 8 codes used" in str(found)
    assert any("collapsed" in warning for warning in found.warnings) is (used == 1)


@pytest.mark.parametrize(("again", "verdict"), [(0, "thin"), (8, "learned")])
def test_what_becomes_of_a_value_that_was_made_must_be_shown(again, verdict):
    domain = pds.parse_domain("""
    (define (domain doors) (:types door) (:predicates (state [return_type=int64[choices=3]] ?d - door))
      (:action toggle :parameters (?d - door) :effect (state::assign ?d (??f (state ?d)))))
    """)
    # Closed doors (1) are opened (0), locked ones (2) stay, and open ones, if any are tried, are closed.
    pairs = [(1, 0), (2, 2)] * 20 + [(0, 1)] * again
    episodes = [
        pds.Episode([pds.State(domain, {"door": ["d"]}, {"state": [one]}) for one in pair], [("toggle", "d")])
        for pair in pairs
    ]
    report = pds.fit(pds.Model(domain, seed=0), episodes, steps=300, seed=0)
    assert report.blanks["action::toggle::f"].verdict == verdict
