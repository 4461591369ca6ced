"""Which form is taken: the cheapest, and none with which the whole model or held-out examples get worse."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import pdsketch as pds
from pdsketch.nets import Signature, Spec, TreeForm, make
from pdsketch.nets.signature import Input
from pdsketch.training.forms.answers import Slot
from pdsketch.training.forms.errors import Errors
from pdsketch.training.forms.simplify import ERROR_COST, Judgement, Simplifier

FLAG = Signature((Input(Spec("bool")),), Spec("bool"))
GOAL, STEP = (("goal", 0), True), ((0, "at"), "changed")


def judgement(train: dict, held_out: dict) -> Judgement:
    return Judgement(Errors(train), Errors(held_out))


def form(truth: float = 1.0) -> TreeForm:
    return TreeForm(FLAG, [], 0, [(truth,)])


@pytest.fixture
def chosen(monkeypatch):
    """A blank whose network makes some errors; the errors with each form are said."""
    first = judgement({GOAL: 2, STEP: 4}, {GOAL: 1, STEP: 1})
    said = {}
    dataset = SimpleNamespace(kinds=np.zeros(4, dtype=np.int64))
    own = Simplifier(SimpleNamespace(training=SimpleNamespace(dataset=dataset)), np.arange(4), np.arange(0))
    slot = own.slots["f"] = Slot(make(FLAG), FLAG)
    monkeypatch.setattr(Simplifier, "judge", lambda self: said.get(slot.inner, first))
    monkeypatch.setattr(Simplifier, "_quick_bar", lambda self: None)
    return own, slot, first, said


WORSE = {
    "goals, though steps gain more": judgement({GOAL: 3, STEP: 0}, {GOAL: 1, STEP: 1}),
    "held-out examples": judgement({GOAL: 2, STEP: 4}, {GOAL: 2, STEP: 1}),
    "held-out steps, though training gains": judgement({GOAL: 0, STEP: 0}, {GOAL: 1, STEP: 2}),
    "everything": judgement({GOAL: 50, STEP: 50}, {GOAL: 9, STEP: 9}),
}


@pytest.mark.parametrize("what", WORSE)
def test_no_form_takes_the_place_of_a_network_where_it_makes_a_kind_of_error_worse(chosen, what):
    own, slot, first, said = chosen
    one = form()
    said[one] = WORSE[what]
    assert own._simplify("f", [(1.0, one)], first, first) is None
    assert slot.inner is slot.network


def test_the_cheapest_form_that_makes_nothing_worse_is_taken(chosen):
    own, slot, first, said = chosen
    wrong, right, dear = form(), form(0.0), form()
    said |= {wrong: WORSE["everything"], right: first, dear: judgement({GOAL: 0, STEP: 0}, {})}
    assert own._simplify("f", [(1.0, wrong), (2.0, right), (3.0, dear)], first, first) is first
    assert slot.inner is right


@pytest.mark.parametrize(
    ("what", "taken"),
    [
        ("goals, though steps gain more", True),
        ("held-out examples", False),
        ("held-out steps, though training gains", False),
        ("everything", False),
    ],
)
def test_what_is_mended_makes_fewer_errors_and_none_more_on_held_out_examples(chosen, what, taken):
    own, slot, first, said = chosen
    slot.inner, one = form(), form(0.0)
    before = slot.inner
    said[one] = WORSE[what]
    assert (own._mend("f", [(1.0, one)], first) is not None) == taken
    assert slot.inner is (one if taken else before)


def test_a_cheaper_form_is_no_cure_where_it_adds_errors(chosen):
    own, slot, first, said = chosen
    one = form()
    said[one] = judgement({GOAL: 2, STEP: 5}, {GOAL: 1, STEP: 1})
    assert ERROR_COST < 1.0
    assert own._mend("f", [(1.0, one)], first) is None
    assert slot.inner is slot.network


LINE = pds.parse_domain("""
(define (domain line) (:types box)
  (:predicates (size [return_type=float32] ?b - box) (age [return_type=float32] ?b - box))
  (:derived (odd ?b - box) (??f (size ?b) (age ?b))))
""")


def noisy(count: int) -> list[pds.Episode]:
    """Labels that no small form explains."""
    rng = np.random.default_rng(0)
    drawn = [(rng.uniform(0, 1, (1,)), rng.uniform(0, 1, (1,))) for _ in range(count)]
    return [
        pds.Episode(
            [pds.State(LINE, {"box": ["a"]}, {"size": size, "age": age})],
            [],
            "(odd a)",
            [int(np.sin(25 * size[0] * age[0]) > 0)],
        )
        for size, age in drawn
    ]


def test_a_blank_may_be_told_to_become_a_form():
    model = pds.Model(LINE, modules={"odd": "form"}, seed=0)
    report = pds.fit(model, noisy(60), steps=30, seed=0)
    assert list(model.forms) == ["derived::odd::f"]
    assert report.blanks["derived::odd::f"].form == model.forms["derived::odd::f"].kind


PICTURE = pds.parse_domain("""
(define (domain picture) (:types box)
  (:predicates (look [return_type=vector[float32, 8, 8, 3]] ?b - box))
  (:derived (red ?b - box) (??f (look ?b))))
""")


def test_what_reads_pictures_cannot_be_told_to_become_a_form():
    model = pds.Model(PICTURE, modules={"red": "form"}, seed=0)
    state = pds.State(PICTURE, {"box": ["a"]}, {"look": np.zeros((1, 8, 8, 3))})
    with pytest.raises(pds.Error, match="no form can answer for `derived::red::f`"):
        pds.fit(model, [pds.Episode([state], [], "(red a)", [1])], steps=2, seed=0)
