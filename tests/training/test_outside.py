"""Reports on other data than that of the fit say which blanks are outside what they were trained on."""

from __future__ import annotations

import json

import pytest

import pdsketch as pds

TRACK = """
(define (domain track)
  (:types cart - object place - vector[float32, 1] paint - int64[choices=4])
  (:predicates (at [return_type=place] ?c - cart) (hue [return_type=paint] ?c - cart))
  (:derived (first ?c - cart) (??f (at ?c)))
  (:derived (red ?c - cart) (??f (hue ?c)))
  (:action go :parameters (?c - cart) :effect (at::assign ?c (??f (at ?c)))))
"""
DOMAIN = pds.parse_domain(TRACK)


def ride(start: int, hue: int) -> pds.Episode:
    states = [
        pds.State(DOMAIN, {"cart": ["c"]}, {"at": [[float(start + i)]], "hue": [hue]}) for i in range(4)
    ]
    goals = {"(first c)": [int(start + i == 0) for i in range(4)], "(red c)": [int(hue == 0)] * 4}
    return pds.Episode(states, [("go", "c")] * 3, goals=goals)


@pytest.fixture(scope="module")
def trained():
    model = pds.Model(DOMAIN, seed=0)
    episodes = [ride(start, hue) for start in range(3) for hue in (0, 1)]
    return model, episodes, pds.fit(model, episodes, steps=20, forms=False)


def test_nothing_is_outside_on_the_data_of_the_fit(trained):
    model, episodes, report = trained
    again = pds.evaluate(model, episodes)
    for found in (report, again):
        assert {blank.outside for blank in found.blanks.values()} == {0}


def test_values_past_the_range_are_outside_and_told(trained):
    found = pds.evaluate(trained[0], [ride(20, 0)])
    verdicts = {name: blank.verdict for name, blank in found.blanks.items()}
    assert verdicts["derived::first::f"] == verdicts["action::go::f"] == "outside"
    assert verdicts["derived::red::f"] != "outside"
    assert found.blanks["action::go::f"].outside == found.blanks["action::go::f"].calls == 3
    (told,) = [w for w in found.warnings if "was never trained on" in w]
    assert "on 20 as its input 1 (seen: 0 to " in told
    assert "4 of its 4 inputs here" in told
    assert "so are inputs of `action::go::f`" in told
    assert json.loads(json.dumps(found.as_json()))["blanks"]["derived::first::f"]["such_as"] in told


def test_choices_that_never_occurred_are_outside(trained):
    found = pds.evaluate(trained[0], [ride(0, 3)])
    assert found.blanks["derived::red::f"].verdict == "outside"
    assert found.blanks["action::go::f"].outside == 0


def test_a_few_inputs_outside_do_not_make_a_blank_outside(trained):
    model, episodes, _ = trained
    found = pds.evaluate(model, [*episodes * 12, ride(2, 3)]).blanks["derived::red::f"]
    assert 0 < found.outside < 0.05 * found.calls
    assert found.verdict != "outside"
