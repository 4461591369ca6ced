"""Forms: what each answers, says of itself, and is as plain data."""

from __future__ import annotations

import copy
import json

import pytest
import torch

from pdsketch.nets.form_data import form_of
from pdsketch.nets.forms import (
    Base,
    ComponentForm,
    Condition,
    CountForm,
    LinearForm,
    TableForm,
    TreeForm,
    component,
    element,
)
from pdsketch.nets.readings import InputReading, reading_of, readings_of
from pdsketch.nets.signature import Input, Signature, Spec

BOOL = Spec("bool")
PLACE = Input(Spec("float", (2,)), type_id="place")
TURN = Input(Spec("int", (), 4), type_id="turn")
CODE = Input(Spec("int", (2,), 3), type_id="code")
FLAG = Input(BOOL)
AHEAD = Signature((PLACE, TURN, PLACE), BOOL)
TURNED = Signature((TURN,), TURN.spec)
MOVED = Signature((PLACE, TURN), PLACE.spec)
PAINTED = Signature((CODE, FLAG), CODE.spec)
SOME = Signature((PLACE, Input(CODE.spec, is_set=True, type_id="code")), BOOL)


def hot(codes, choices: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(codes), choices).float()


EAST = Condition(InputReading("difference", 0, 2, 0), -1.0, 0.25)
LEVEL = Condition(InputReading("difference", 0, 2, 1), 0.5, order=True)
FORMS = {
    "tree": TreeForm(AHEAD, [EAST, LEVEL], (0, (1, 0, 1), 1), [(1.0,), (0.0,)]),
    "step": TreeForm(TURNED, [], 0, [(3.0,)], Base(0, 0)),
    "moved": TreeForm(
        MOVED, [Condition(InputReading("code", 1), 2.0)], (0, 0, 1), [(-1.0, 0.0), (0.0, 0.5)], Base(0)
    ),
    "table": TableForm(
        AHEAD,
        [InputReading("difference", 0, 2, 0), InputReading("difference", 0, 2, 1), InputReading("code", 1)],
        {(-1, 0, 0): (1.0,), (0, -1, 1): (1.0,)},
        (0.0,),
    ),
    "linear": LinearForm(
        MOVED,
        [(InputReading("number", 0, place=1), None), (InputReading("code", 1), 3.0)],
        [(1.0, 0.0), (2.0, 0.0), (0.0, 5.0)],
    ),
    "threshold": LinearForm(AHEAD, [(InputReading("distance", 0, 2), None)], [(1.5,), (-1.0,)]),
    "at-least": CountForm(
        SOME,
        1,
        TreeForm(
            element(SOME, 1), [Condition(InputReading("code", 1, place=1), 2.0)], (0, 1, 0), [(0.0,), (1.0,)]
        ),
        2,
    ),
    "more-than": CountForm(
        SOME,
        1,
        TreeForm(
            element(SOME, 1), [Condition(InputReading("code", 1, place=1), 2.0)], (0, 1, 0), [(0.0,), (1.0,)]
        ),
        1,
        against=TreeForm(
            element(SOME, 1), [Condition(InputReading("code", 1, place=1), 0.0)], (0, 1, 0), [(0.0,), (1.0,)]
        ),
    ),
    "componentwise": ComponentForm(
        PAINTED,
        [
            TreeForm(component(PAINTED), [], 0, [(0.0,)], Base(0, 0)),
            TreeForm(
                component(PAINTED),
                [Condition(InputReading("code", 1), 1.0)],
                (0, 0, 1),
                [(1.0,), (0.0,)],
                Base(0, 1),
            ),
        ],
    ),
}
ARGS = {
    AHEAD: (
        torch.tensor([[1.0, 1.0], [1.0, 1.0], [5.0, 5.0]]),
        hot([0, 1, 0], 4),
        torch.tensor([[2.0, 1.0], [1.0, 2.0], [1.0, 1.0]]),
    ),
    TURNED: (hot([0, 1, 3], 4),),
    MOVED: (torch.tensor([[1.0, 1.0], [4.0, 2.0], [0.0, 0.0]]), hot([2, 0, 3], 4)),
    PAINTED: (hot([[0, 2], [1, 0], [2, 1]], 3), torch.tensor([[1.0], [0.0], [1.0]])),
    SOME: (
        torch.zeros(3, 2),
        (
            hot([[[0, 2], [1, 2], [0, 0]]] * 3, 3),
            torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]),
        ),
    ),
}
ANSWERS = {
    "tree": [1, 0, 0],
    "step": [3, 0, 2],
    "moved": [[0, 1], [4, 2.5], [0, 0.5]],
    "table": [1, 1, 0],
    "linear": [[3, 0], [5, 0], [1, 5]],
    "threshold": [1, 1, 0],
    "at-least": [1, 0, 1],
    "more-than": [1, 0, 1],
    "componentwise": [[0, 0], [1, 0], [2, 2]],
}


def answer(form) -> list:
    found = form(*ARGS[form.signature])
    return (found.argmax(-1) if form.signature.output.is_categorical else found.squeeze(-1)).tolist()


@pytest.mark.parametrize("name", FORMS)
def test_a_form_answers_in_batches_of_any_shape(name):
    form = FORMS[name]
    assert answer(form) == ANSWERS[name]

    def doubled(x):
        return tuple(map(doubled, x)) if isinstance(x, tuple) else torch.stack([x, x])

    def none(x):
        return tuple(map(none, x)) if isinstance(x, tuple) else x[:0]

    twice, nothing = (form(*map(some, ARGS[form.signature])) for some in (doubled, none))
    assert torch.equal(twice, torch.stack([form(*ARGS[form.signature])] * 2))
    assert nothing.shape == (0, *form.signature.output.axes)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_plain_data(name):
    form = FORMS[name]
    again = form_of(form.signature, json.loads(json.dumps(form.as_json())))
    assert again is not None
    assert answer(again) == ANSWERS[name]
    assert again.as_json() == form.as_json()
    assert again.cost == form.cost


def broken(data, path=()):
    """The data with one part at a time replaced by something that it cannot be."""
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in parts:
        for wrong in ("?", None, [[]], float("nan"), 10**9):
            if wrong != value:
                yield [*path, key], wrong
        yield from broken(value, (*path, key))


@pytest.mark.parametrize("name", FORMS)
def test_damaged_data_are_no_form_or_one_that_answers(name):
    form, refused = FORMS[name], 0
    for path, wrong in broken(form.as_json()):
        data = copy.deepcopy(form.as_json())
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = wrong
        found = form_of(form.signature, data)
        refused += found is None
        if found is not None:
            answer(found)
    assert refused > 10


def test_a_form_says_what_it_does():
    assert FORMS["tree"].said(["at", "way", "there"]) == "(at - there)[0] = -1 and (at - there)[1] <= 0.5"
    assert FORMS["step"].said(["way"]) == "way - 1", "3 of 4 directions are one back"
    assert FORMS["at-least"].said(["at", "them"]) == "at least 2 of them with them[1] = 2"
    assert FORMS["more-than"].said(["at", "them"]) == (
        "at least 1 more of them with them[1] = 2 than with them[1] = 0"
    )
    assert FORMS["threshold"].said(["a", "b", "c"]) == "distance(a, c) < 1.5"
    assert FORMS["moved"].said(["at", "way"]) == "(way = 2 ? at - [1, 0] : at + [0, 0.5])"
    assert FORMS["linear"].said(["at", "way"]) == "[1, 0] + [2, 0] at[1] + [0, 5] [way = 3]"


def test_comparisons_come_first_and_only_of_values_of_one_type():
    kinds = [reading.kind for reading in readings_of(AHEAD)]
    assert kinds == [
        *["difference", "difference", "distance"],
        *["number", "number", "length", "code", "number", "number", "length"],
    ]
    gap = readings_of(Signature((PLACE, Input(Spec("float"), type_id="row")), BOOL))
    assert [reading.kind for reading in gap] == ["gap", "gap", "number", "number", "length", "number"]


def test_of_three_values_it_is_read_how_far_two_are_apart_once_the_third_has_moved_one():
    places = Signature((PLACE, PLACE, PLACE), BOOL)
    sums = [reading for reading in readings_of(places) if reading.kind == "sum"]
    args = [torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0, 3.0]])]
    assert {one.said(["at", "by", "to"], [2, 2, 2]): one.of(args, places).item() for one in sums} == {
        "(at + to - by)[0]": 2.0,
        "(at + to - by)[1]": 4.0,
        "(at + by - to)[0]": 0.0,
        "(at + by - to)[1]": 0.0,
        "(by + to - at)[0]": 0.0,
        "(by + to - at)[1]": 2.0,
    }
    assert [reading_of(one.as_json(), places) for one in sums] == sums
    assert not any(one.kind == "sum" for one in readings_of(Signature((PLACE, PLACE, CODE), BOOL)))


def test_smaller_trees_have_a_test_less_and_smaller_tables_a_row_less():
    tree, table = FORMS["tree"], FORMS["table"]
    assert {len(one.tests) for one in tree.smaller()} == {0, 1}
    assert [len(one.rows) for one in table.smaller()] == [1, 1]
