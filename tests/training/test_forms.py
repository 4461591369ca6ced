"""Whole sketches: networks find out who is responsible, and forms take their places."""

from __future__ import annotations

import random

import pytest
import torch

import pdsketch as pds
from pdsketch.nets import Condition, InputReading, Signature, Spec, TableForm, TreeForm
from pdsketch.nets.signature import Input
from pdsketch.training.forms.propose import Answers, propose
from pdsketch.training.forms.rivals import alternatives, support

TRUTHS = [(0.0,), (1.0,)]

ROOM = pds.parse_domain("""
(define (domain room)
  (:types robot wall - object place - vector[float32, 2, tolerance=0.1])
  (:predicates (at [return_type=place] ?r - robot) (where [return_type=place] ?w - wall))
  (:action east :parameters (?r - robot)
    :effect (at::cond-assign ?r (not (exists (?w - wall) (??blocks (at ?r) (where ?w)))) (??to (at ?r)))))
""")


def step(rng: random.Random, width: int, height: int, inner: int) -> pds.Episode:
    """One step east, in a room with walls around it and some within."""
    cells = [(x, y) for x in range(width) for y in range(height)]
    free = [(x, y) for x, y in cells if 0 < x < width - 1 and 0 < y < height - 1]
    rng.shuffle(free)
    walls = [cell for cell in cells if cell not in free[inner:]]
    x, y = rng.choice(free[inner:])
    after = (x, y) if (x + 1, y) in walls else (x + 1, y)
    objects = {"robot": ["r"], "wall": [f"w{at}" for at in range(len(walls))]}
    states = [pds.State(ROOM, objects, {"at": [place], "where": walls}) for place in ((x, y), after)]
    return pds.Episode(states, [("east", "r")])


def steps(count: int, *sizes: int) -> list[pds.Episode]:
    rng = random.Random(0)
    return [step(rng, *sizes) for _ in range(count)]


@pytest.fixture(scope="module")
def walls():
    model = pds.Model(ROOM, seed=0)
    return model, pds.fit(model, steps(400, 5, 5, 2), batch=128, seed=0)


def test_that_a_wall_blocks_is_learned_for_larger_rooms(walls):
    model, report = walls
    assert report.steps < 2000
    assert str(model.forms["action::east::to"]) == "(at ?r) + [1, 0]"
    assert {report.blanks[name].form for name in ("action::east::blocks", "action::east::to")} <= {
        "tree",
        "table",
        "step",
    }
    assert pds.evaluate(model, steps(100, 9, 8, 12)).measures.step_accuracy == 1.0


def test_forms_are_saved_with_their_model(walls, tmp_path):
    model, _ = walls
    model.save(str(tmp_path))
    again = pds.load_model(str(tmp_path))
    assert str(again.forms) == str(model.forms)
    assert str(again.rivals) == str(model.rivals)
    assert pds.evaluate(again, steps(50, 9, 8, 12)).measures.step_accuracy == 1.0


def test_a_network_may_be_kept():
    model = pds.Model(ROOM, modules={"action::east::to": "mlp"}, seed=0)
    pds.fit(model, steps(60, 5, 5, 0), steps=40, batch=32, seed=0)
    assert "action::east::to" not in model.forms
    plain = pds.Model(ROOM, seed=0)
    pds.fit(plain, steps(60, 5, 5, 0), steps=5, batch=32, seed=0, forms=False)
    assert plain.forms == {}
    with pytest.raises(pds.Error, match=r"the module for `action::east::to` is 'tree', and no function"):
        pds.Model(ROOM, modules={"action::east::to": "tree"})


GRIPPER = pds.parse_domain("""
(define (domain gripper) (:types box)
  (:predicates (near ?b - box) (free) (heavy ?b - box) (up ?b - box))
  (:action lift :parameters (?b - box) :precondition (??can (near ?b) (free) (heavy ?b))
    :effect (and (up ?b) (not (free)))))
""")


@pytest.mark.parametrize("executable", [[True], None])
def test_from_executions_alone_a_precondition_is_what_held_in_all_of_them(executable):
    def state(near, free, heavy, up):
        values = {"near": [near], "free": free, "heavy": [heavy], "up": [up]}
        return pds.State(GRIPPER, {"box": ["a"]}, values)

    episodes = [
        pds.Episode([state(1, 1, heavy, 0), state(1, 0, heavy, 1)], [("lift", "a")], executable=executable)
        for heavy in (0, 1) * 10
    ]
    model = pds.Model(GRIPPER, seed=0)
    pds.fit(model, episodes, steps=20, seed=0)
    assert str(model.forms["action::lift::can"]) == "(near ?b) = 1 and (free) = 1"
    asked = {free: (state(1, free, 0, 0), ("lift", "a")) for free in (0, 1)}
    assert {free: float(model.applicable(*one, crisp=True)) for free, one in asked.items()} == {
        0: 0.0,
        1: 1.0,
    }
    assert {free: float(model.applicable(*one)) for free, one in asked.items()} == {0: 0.25, 1: 1.0}
    assert "true" in [str(rival) for rival in model.rivals["action::lift::can"]]


def test_the_rivals_of_a_truth_are_both_ends_of_what_the_refusals_leave_open():
    def episode(near, free, heavy):
        could = bool(near and free)
        first = {"near": [near], "free": free, "heavy": [heavy], "up": [0]}
        then = first | {"free": 0, "up": [1]} if could else first
        states = [pds.State(GRIPPER, {"box": ["a"]}, values) for values in (first, then)]
        return pds.Episode(states, [("lift", "a")], executable=[could])

    model = pds.Model(GRIPPER, seed=0)
    pds.fit(model, [episode(*one) for one in [(1, 1, 1), (0, 0, 1)] * 20], seed=0)
    everything = [model.forms["action::lift::can"], *model.rivals["action::lift::can"]]
    inputs = torch.tensor([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]).float()
    said = torch.stack([form(*inputs.T.unsqueeze(-1))[:, 0] for form in everything]) > 0.5
    assert said.all(0).tolist() == [False, False, False, False, False, False, False, True]
    assert said.any(0).tolist() == [False, False, True, True, True, True, True, True]


def test_the_option_that_chose_levels_is_gone():
    with pytest.raises(pds.Error, match="`fit` has no option `trial`"):
        pds.fit(pds.Model(ROOM, seed=0), steps(2, 5, 5, 0), trial=0.4)


def test_that_more_of_a_set_are_of_one_kind_than_of_another_is_proposed():
    signature = Signature((Input(Spec("int", (), 3), is_set=True),), Spec("bool"))
    codes = torch.randint(3, (200, 7), generator=torch.Generator().manual_seed(0))
    there = torch.rand(200, 7, generator=torch.Generator().manual_seed(1)) < 0.7
    more = ((codes == 0) & there).sum(1) > ((codes == 2) & there).sum(1)
    elements = (torch.nn.functional.one_hot(codes, 3).float(), there.float())
    given = Answers([elements], more.float().unsqueeze(1), torch.ones(200, 1))
    right = [one.form for one in propose(signature, given) if one.error == 0.0]
    shortest = min(right, key=lambda form: form.cost)
    assert shortest.said(["them"]) == "at least 1 more of them with them = 0 than with them = 2"


def right_ones(signature: Signature, given: Answers) -> list[str]:
    """The proposals that get nothing wrong, the cheapest first."""
    right = [one.form for one in propose(signature, given) if one.error < 1e-9]
    return [str(form) for form in sorted(right, key=lambda form: form.cost)]


PLACE = Input(Spec("float", (2,)), type_id="place")
AMOUNT = Input(Spec("float"), type_id="amount")


def test_that_a_move_leads_into_a_wall_is_proposed_where_the_move_is_an_argument():
    cells = torch.cartesian_prod(*[torch.arange(3.0)] * 4)
    at, where = cells[:, :2].repeat(4, 1), cells[:, 2:].repeat(4, 1)
    way = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]).repeat_interleave(81, 0)
    blocks = (at + way == where).all(1).float().unsqueeze(1)
    given = Answers([at, way, where], blocks, torch.ones(324, 1))
    shortest, *_ = right_ones(Signature((PLACE, PLACE, PLACE), Spec("bool")), given)
    assert shortest == "(x0 + x1 - x2)[0] = 0 and (x0 + x1 - x2)[1] = 0"


def test_that_fuel_is_enough_for_a_distance_is_proposed_with_round_numbers():
    generator = torch.Generator().manual_seed(0)
    at, to = torch.randint(6, (2, 400, 2), generator=generator).float()
    fuel = 10 * torch.rand(400, 1, generator=generator)
    enough = (fuel >= (at - to).norm(dim=1, keepdim=True)).float()
    given = Answers([at, to, fuel], enough, torch.ones(400, 1))
    shortest, *_ = right_ones(Signature((PLACE, PLACE, AMOUNT), Spec("bool")), given)
    assert shortest.startswith("x2 - distance(x0, x1) > ")


def test_of_rivals_that_answer_alike_the_simplest_is_listed():
    sizes = torch.cartesian_prod(torch.arange(1.0, 9.0), torch.arange(1.0, 9.0))
    unlike = sizes[sizes[:, 0] != sizes[:, 1]]
    signature = Signature((AMOUNT, AMOUNT), Spec("bool"))
    given = Answers(
        [unlike[:, :1], unlike[:, 1:]], (unlike[:, :1] < unlike[:, 1:]).float(), torch.ones(len(unlike), 1)
    )
    own = TreeForm(
        signature, [Condition(InputReading("difference", 0, 1), 0.0, order=True)], (0, 1, 0), TRUTHS
    )
    first, *_ = alternatives(own, given, [sizes[:, :1], sizes[:, 1:]])
    assert str(first) == "(x0 - x1) <= -0.999 and not (x0 - x1) <= -7.001"


CODES = Signature((Input(Spec("int", (3,), 8)),), Spec("bool"))


def is_code(place: int, value: float) -> Condition:
    return Condition(InputReading("code", 0, place=place), value)


def coded(things: list[tuple[int, int, int]]) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(things), 8).float()


def told(true: list[tuple[int, int, int]], false: list[tuple[int, int, int]]) -> Answers:
    values = torch.tensor([[1.0]] * len(true) + [[0.0]] * len(false))
    return Answers([coded([*true, *false])], values, torch.ones(len(values), 1))


def test_another_test_that_separates_what_was_seen_makes_a_rival():
    # of the things with state 0, the only door is the only one of colour 3
    given = told([(4, 3, 0)], [(4, 3, 1), (4, 1, 1), (7, 1, 0), (7, 2, 0)])
    own = TreeForm(CODES, [is_code(2, 0.0), is_code(1, 3.0)], (0, (1, 0, 1), 1), [(1.0,), (0.0,)])
    every = [str(form) for form in alternatives(own, given, [coded([(4, 3, 0), (4, 2, 0), (7, 3, 0)])])]
    assert "x0[0] = 4 and x0[2] = 0" in every


def test_what_others_read_is_cheaper_the_more_of_them_read_it():
    colours = [TreeForm(CODES, [is_code(1, at)], (0, 1, 0), TRUTHS) for at in (0.0, 1.0, 2.0)]
    colour = TreeForm(CODES, [is_code(1, 3.0)], (0, 1, 0), TRUTHS)
    kind = TreeForm(CODES, [is_code(0, 3.0)], (0, 1, 0), TRUTHS)
    few, many = ({colour.reads: count} for count in (1, 3))
    assert [one.reads for one in colours] == [colour.reads] * 3
    assert kind.price(many) == kind.cost == colour.cost > colour.price(few) > colour.price(many)


def test_evidence_is_counted_for_each_case_and_what_is_false_is_one_case():
    own = TreeForm(CODES, [is_code(2, 0.0), is_code(0, 4.0)], (0, (1, 0, 1), 2), [(1.0,), (0.0,), (0.0,)])
    given = told([(4, 3, 0)], [(4, 3, 1), (4, 1, 1), (7, 1, 0)])
    assert sorted(support(own, given).tolist()) == [1, 3]
    assert support(None, given).tolist() == [3, 1]
    table = TableForm(CODES, [own.tests[0].reading], {(0,): (1.0,)}, (0.0,))
    assert sorted(support(table, given).tolist()) == [2, 2]


def test_a_table_with_a_row_for_each_code_has_no_other_case():
    turned = Signature((Input(Spec("int", (), 2), type_id="turn"),), Spec("int", (), 3))
    key, codes = InputReading("code", 0), torch.tensor([0, 0, 1, 1, 1])
    given = Answers(
        [torch.nn.functional.one_hot(codes, 2).float()], (codes + 1).unsqueeze(1), torch.ones(5, 1)
    )
    whole = TableForm(turned, [key], {(0,): (1.0,), (1,): (2.0,)}, (0.0,))
    assert whole.is_whole
    assert str(whole) == "table of x0: 0: 1; 1: 2"
    assert support(whole, given).tolist() == [2, 3]
    part = TableForm(turned, [key], {(0,): (1.0,)}, (2.0,))
    assert not part.is_whole
    assert str(part).endswith("; else 2")
    assert sorted(support(part, given).tolist()) == [2, 3]
    both = Signature(turned.inputs * 2, turned.output)
    keys = [key, InputReading("code", 1)]
    assert not TableForm(both, keys, {(0, 0): (1.0,), (1, 1): (2.0,)}, (0.0,)).is_whole
    assert TableForm(both, keys, {(i, j): (1.0,) for i in range(2) for j in range(2)}, (0.0,)).is_whole


WORDS = pds.parse_domain("""
(define (domain words) (:types thing)
  (:predicates (code [return_type=vector[int64, 2, choices=6]] ?t - thing))
  (:derived (red ?t - thing) (??f (code ?t))) (:derived (green ?t - thing) (??f (code ?t)))
  (:derived (blue ?t - thing) (??f (code ?t))) (:derived (grey ?t - thing) (??f (code ?t))))
""")


def test_a_word_of_which_few_examples_are_seen_reads_what_like_words_read():
    rng, episodes = random.Random(0), []
    for at, word in enumerate(("red", "green", "blue", "grey")):
        seen = [(rng.choice([at, rng.randrange(4)]), rng.randrange(4)) for _ in range(40)]
        if word == "grey":  # nobody sees a grey thing that is not of kind 5, or another that is
            seen = [(3, 5), (3, 5), (0, 1), (1, 2), (2, 2), (2, 0)]
        for hue, kind in seen:
            thing = pds.State(WORDS, {"thing": ["a"]}, {"code": [[hue, kind]]})
            episodes.append(pds.Episode([thing], [], f"({word} a)", [int(hue == at)]))
    model = pds.Model(WORDS, seed=0)
    report = pds.fit(model, episodes, steps=300, seed=0)
    assert str(model.forms["derived::grey::f"]) == "(code ?t)[0] = 3"
    assert report.blanks["derived::grey::f"].verdict == "learned"


BELL = pds.parse_domain("""
(define (domain bell) (:types box)
  (:predicates (hue [return_type=int64[choices=4]] ?b - box) (kind [return_type=int64[choices=4]] ?b - box))
  (:derived (rings ?b - box) (or (??hued (hue ?b)) (??kind (kind ?b)))))
""")


def test_a_truth_that_few_examples_need_is_thin_though_many_depend_on_it():
    rng = random.Random(0)
    boxes = [(rng.randrange(4), rng.randrange(3)) for _ in range(120)] + [(hue, 3) for hue in (1, 2, 3)]
    episodes = [
        pds.Episode(
            [pds.State(BELL, {"box": ["a"]}, {"hue": [hue], "kind": [kind]})],
            [],
            "(rings a)",
            [int(hue == 0 or kind == 3)],
        )
        for hue, kind in boxes
    ]
    report = pds.fit(pds.Model(BELL, seed=0), episodes, steps=300, seed=0)
    hued, kind = (report.blanks[f"derived::rings::{name}"] for name in ("hued", "kind"))
    assert (hued.verdict, kind.verdict, kind.examples) == ("learned", "thin", 3)


@pytest.mark.parametrize("output", [Spec("bool"), Spec("float", (2,)), Spec("int", (), 4)])
def test_where_no_answer_matters_there_is_no_proposal(output):
    signature = Signature((Input(Spec("float", (2,))),), output)
    none = Answers([torch.zeros(0, 2)], torch.zeros(0, output.size), torch.zeros(0, output.size))
    assert propose(signature, none) == []
