"""Values in between: truth that is undecided, ints that are unsure, batches that are padded."""

from __future__ import annotations

import pytest
import torch

import pdsketch as pds
from pdsketch.tensor.compile.logic import logic_of
from pdsketch.tensor.experience import ExperienceRecorder

DICE = """
(define (domain dice)
  (:types die - object face - int64[choices=4])
  (:predicates (photo [return_type=vector[float32, 4]] ?d - die) (likes ?a - die ?b - die))
  (:derived (face [return_type=face] ?d - die) (??f (photo ?d)))
  (:derived (lucky ?d - die) (??g (photo ?d)))
  (:derived (all-low) (??h (foreach (?d - die) (photo ?d))))
  (:action turn :parameters (?d - die) :effect (face::assign ?d (??t (face ?d)))))
"""


def dice(*odds, likes=None) -> tuple[pds.Model, pds.State]:
    """Dice whose faces are known by their odds."""
    domain = pds.parse_domain(DICE)
    modules = {
        "derived::face::f": lambda photo: (photo + 1e-12).log(),
        "derived::lucky::g": lambda photo: photo[..., 3],
    }
    names = [f"d{i}" for i in range(len(odds))]
    values = {
        "photo": torch.tensor(odds).reshape(-1, 4),
        "likes": torch.eye(len(odds)) > 0 if likes is None else likes,
    }
    return pds.Model(domain, modules, seed=0), pds.State(domain, {"die": names}, values)


HALF = (0.5, 0.5, 0.0, 0.0)


def test_two_unsure_ints_are_equal_as_often_as_they_agree():
    model, state = dice(HALF, HALF, (0.0, 0.0, 1.0, 0.0))
    assert float(model.holds(state, "(= (face d0) (face d1))").detach()) == pytest.approx(0.5, abs=1e-4)
    assert float(model.holds(state, "(= (face d0) (face d2))").detach()) == pytest.approx(0.0, abs=1e-4)


def test_of_two_unsure_ints_one_is_less_at_most_or_more_with_its_probability():
    model, state = dice(HALF, (0.0, 0.5, 0.5, 0.0))
    odds = {
        order: float(model.holds(state, f"({order} (face d0) (face d1))").detach())
        for order in ("<", "<=", ">", ">=")
    }
    assert odds == pytest.approx({"<": 0.75, "<=": 1.0, ">": 0.0, ">=": 0.25}, abs=1e-3)


@pytest.mark.parametrize(("truth", "crisp"), [(0.49, 0), (0.5, 0), (0.51, 1)])
def test_what_is_undecided_does_not_hold_crisply(truth, crisp):
    model, state = dice((0.0, 0.0, 0.0, truth))
    assert model.holds(state, "(lucky d0)", crisp=True) == crisp


def test_arguments_may_stand_in_any_order():
    likes = torch.tensor([[False, True], [False, False]])
    model, state = dice(HALF, HALF, likes=likes)
    assert (
        model.holds(state, "(exists (?a ?b - die) (and (likes ?b ?a) (= ?b d0) (= ?a d1)))", crisp=True) == 1
    )
    assert (
        model.holds(state, "(exists (?a ?b - die) (and (likes ?b ?a) (= ?a d0) (= ?b d1)))", crisp=True) == 0
    )


FAMILY = """
(define (domain family)
  (:types person - object child - person adult - person)
  (:predicates (knows ?a - person ?b - person))
  (:derived (linked ?a - person ?b - person)
    (or (knows ?a ?b) (exists (?c - person) (and (knows ?a ?c) (linked ?c ?b)))))
  (:derived (stranger ?a - adult) (forall (?c - child) (not (= ?a ?c))))
  (:derived (self ?a - adult) (exists (?p - person) (= ?a ?p))))
"""


def family(n: int) -> pds.State:
    domain = pds.parse_domain(FAMILY)
    knows = torch.diag(torch.ones(n), 1) > 0
    return pds.State(domain, {"adult": ["a"], "child": [f"c{i}" for i in range(n)]}, {"knows": knows})


def test_recursion_goes_on_as_far_as_it_leads():
    state = family(6)
    model = pds.Model(state.domain)
    assert model.holds(state, "(linked a c5)", crisp=True) == 1
    assert model.holds(state, "(linked c5 a)", crisp=True) == 0
    assert model.holds(state, "(linked a c5)") == 1


def test_objects_of_different_types_are_never_one():
    state = family(3)
    model = pds.Model(state.domain)
    assert model.holds(state, "(stranger a)", crisp=True) == 1
    assert model.holds(state, "(self a)", crisp=True) == 1


@pytest.mark.parametrize("tnorm", ["product", "godel", "lukasiewicz"])
def test_each_factor_of_a_conjunction_has_the_gradient_of_the_others(tnorm):
    truths = torch.tensor([0.9, 0.8, 0.7, 0.95, 0.85], dtype=torch.float64, requires_grad=True)
    logic_of(tnorm).every(truths, (0,)).backward()
    step = 1e-6
    for at in range(5):
        moved = truths.detach().clone()
        moved[at] += step
        slope = (logic_of(tnorm).every(moved, (0,)) - logic_of(tnorm).every(truths.detach(), (0,))) / step
        assert float(truths.grad[at]) == pytest.approx(float(slope), abs=1e-4)


def test_states_are_padded_with_their_last_object():
    """So that networks see values that occur."""
    _, few = dice((0.1, 0.2, 0.3, 0.4), (0.4, 0.3, 0.2, 0.1))
    _, more = dice(*[(0.25,) * 4] * 4)
    photos = pds.StateBatch.of([few, more])["photo"]
    assert torch.allclose(photos[0, 2], few["photo"][1])
    assert torch.allclose(photos[0, 3], few["photo"][1])


def test_a_record_covers_all_calls():
    model, first = dice((0.0, 0.0, 0.0, 0.2))
    _, second = dice((0.0, 0.0, 0.0, 0.9))
    recorder, notes = ExperienceRecorder(["derived::lucky::g"]), {}
    with model.blanks.watched(recorder):
        for state in (first, second):
            model.holds(state, "(lucky d0)", crisp=True)
    recorder.write(notes)
    (seen,) = notes["experience"]["derived::lucky::g"]
    assert (seen["low"][3], seen["high"][3]) == (pytest.approx(0.2), pytest.approx(0.9))


@pytest.mark.parametrize("tnorm", ["product", "godel", "lukasiewicz"])
@pytest.mark.parametrize("quantifier", ["forall", "exists"])
def test_objects_that_only_other_states_have_are_not_quantified_over(tnorm, quantifier):
    some = [dice(*[(0.0, 0.0, 0.0, truth)] * n)[1] for n, truth in ((0, 0.0), (1, 0.8), (3, 0.6))]
    model, _ = dice((0.0, 0.0, 0.0, 0.8))
    formula = f"({quantifier} (?d - die) (lucky ?d))"
    together = model.holds(pds.StateBatch.of(some), formula, tnorm=tnorm).detach()
    alone = torch.stack([model.holds(state, formula, tnorm=tnorm).detach() for state in some])
    assert torch.allclose(together, alone, atol=1e-6)
    assert together[0] == (quantifier == "forall")
