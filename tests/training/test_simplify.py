"""Which form is taken: the cheapest, and none with which the whole model or held-out examples get worse."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.nets import (
    Base,
    Condition,
    Input,
    InputReading,
    Signature,
    Spec,
    TableForm,
    TreeForm,
    always,
    make,
)
from pdsketch.training.forms import simplify
from pdsketch.training.forms.answers import Slot
from pdsketch.training.forms.errors import Errors
from pdsketch.training.forms.propose import Answers, all_of
from pdsketch.training.forms.simplify import ERROR_COST, TRUE_COST, Judgement, Simplifier

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
    training = SimpleNamespace(dataset=dataset, domain=SimpleNamespace(actions={}))
    own = Simplifier(SimpleNamespace(training=training), np.arange(4), np.arange(0))
    slot = own.slots["f"] = Slot(make(FLAG), FLAG)
    monkeypatch.setattr(Simplifier, "judge", lambda self: said.get(slot.inner, first))
    monkeypatch.setattr(simplify, "errors", lambda losses, states: Errors({}))
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


WHERE, TURN, CODE = Spec("float", (2,)), Spec("int", (), 4), Spec("int", (3,), 11)
AHEAD = Signature((Input(WHERE, type_id="pose"), Input(TURN, type_id="turn")), WHERE)
WORD = Signature((Input(CODE, type_id="code"),), Spec("bool"))


def simplifier(**slots: tuple[Signature, object]) -> Simplifier:
    """One whose blanks have forms already."""
    dataset = SimpleNamespace(kinds=np.zeros(4, dtype=np.int64))
    training = SimpleNamespace(dataset=dataset, domain=SimpleNamespace(actions={}))
    own = Simplifier(SimpleNamespace(training=training), np.arange(4), np.arange(0))
    for name, (signature, inner) in slots.items():
        own.slots[name] = Slot(inner or make(signature), signature)
    own._asks = dict.fromkeys(slots, ())
    return own


def test_a_blank_that_saw_few_cases_takes_the_form_of_a_like_blank_that_saw_all():
    turn = InputReading("code", 1)
    ways = {(0,): (1.0, 0.0), (1,): (0.0, 1.0), (2,): (-1.0, 0.0), (3,): (0.0, -1.0)}
    ahead = TableForm(AHEAD, [turn], ways, (1.0, 0.0), Base(0))
    own = simplifier(forward=(AHEAD, ahead), drop=(AHEAD, None))
    places = torch.tensor([[2.0, 3.0], [4.0, 4.0]])
    seen = Answers(
        [places, torch.eye(4)[[1, 0]]], places + torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.ones(2, 2)
    )
    cost, taken = own._tried("drop", seen)[0]
    assert cost < TreeForm(AHEAD, [], 0, [(0.0, 0.0)]).cost
    back = torch.eye(4)[[2, 3]]
    assert torch.equal(taken(places, back), ahead(places, back))


def word(place: int, code: int, *other: int) -> TreeForm:
    """Whether a component of a code is a number, and perhaps another one, too."""
    pairs = [(place, code), other] if other else [(place, code)]
    return all_of(WORD, [Condition(InputReading("code", 0, place=at), float(n)) for at, n in pairs])


def test_of_two_explanations_that_is_preferred_which_like_blanks_share():
    codes = torch.tensor([[5, 0, 1], [6, 1, 0], [4, 2, 0], [7, 0, 1]])
    asked = [torch.nn.functional.one_hot(codes, 11).float()]
    seen = Answers(asked, torch.tensor([[0.0], [0], [1], [0]]), torch.ones(4, 1))
    for place, code in ((0, 4), (1, 2)):
        own = simplifier(word=(WORD, None), other=(WORD, word(place, 9)))
        assert str(own._tried("word", seen, most=0.0)[0][1]) == str(word(place, code))
        both = word(0, 4, 1, 2)
        assert own._price("word", both) == both.cost


def test_two_truths_are_not_taken_to_mean_the_same():
    own = simplifier(word=(WORD, None), red=(WORD, word(1, 0)), green=(WORD, word(1, 1)))
    codes = torch.tensor([[3, 4, 0]] * 9 + [[4, 0, 0], [5, 2, 0]])
    own._seen["word"] = [torch.nn.functional.one_hot(codes, 11).float()]
    same, alias, other = word(1, 0), word(1, 0, 2, 0), word(1, 2)
    assert own._price("word", same) == pytest.approx(same.cost + TRUE_COST / 11)
    assert own._price("word", alias) == pytest.approx(alias.cost + TRUE_COST / 11)
    assert own._price("word", other) < other.cost + TRUE_COST / 11


@pytest.mark.parametrize("told", [(0, 4, 2, 0), (1, 1, 2, 0)])
def test_what_tells_elements_of_a_set_apart_is_shared_with_single_values(told):
    """Walls and closed doors are in the way, open doors are not; all doors are green, and nothing else is."""
    towards = Signature((Input(TURN, type_id="turn"), Input(CODE, is_set=True, type_id="code")), Spec("bool"))
    codes = torch.tensor([[4, 1, 1], [2, 5, 0], [4, 1, 0], [2, 5, 0], [4, 1, 0], [4, 1, 1]])
    elements = torch.nn.functional.one_hot(codes, 11).float()[:, None]
    turns = torch.eye(4)[[0, 1, 2, 2, 3, 3]]
    free = torch.tensor([[0.0], [0], [1], [0], [1], [0]])
    seen = Answers([turns, (elements, torch.ones(6, 1))], free, torch.ones(6, 1))
    own = simplifier(free=(towards, None), open=(WORD, word(*told)))
    assert own._tried("free", seen, most=0.0)[0][1].parts[0].reads == word(*told).reads


def test_a_closed_world_asks_for_a_test_but_not_for_a_second_one_that_only_halves_what_is_true():
    own = simplifier(word=(WORD, None))
    codes = torch.tensor([[at // 2, at % 2, 0] for at in range(4)])
    own._seen["word"] = [torch.nn.functional.one_hot(codes, 11).float()]
    costs = [own._price("word", one) for one in (always(WORD, True), word(0, 0), word(0, 0, 1, 0))]
    assert costs[1] < costs[0]
    assert costs[1] < costs[2]
