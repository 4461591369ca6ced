"""Single sentences of the language in tensors, where random domains seldom go."""

from __future__ import annotations

import pytest
import torch

import pdsketch as pds
from pdsketch.lang.terms import Arithmetic, Compare, Equal, Value
from pdsketch.lang.types import INT

THINGS = """
(define (domain things)
  (:types thing - object exact - float32[tolerance=0] rough - float32[tolerance=0.5] kind - int64[choices=3])
  (:predicates (b ?t - thing) (g [return_type=float32] ?t - thing) (x [return_type=exact] ?t - thing)
    (y [return_type=exact] ?t - thing) (r [return_type=rough] ?t - thing) (n [return_type=int64] ?t - thing)
    (k [return_type=kind] ?t - thing) (v [return_type=vector[float32, 2]] ?t - thing) (truth ?v - float32))
  (:action maybe :parameters (?t - thing) :effect (when (truth (g ?t)) (b ?t)))
  (:action unless :parameters (?t - thing) :effect (when (truth (g ?t)) (not (b ?t))))
  (:action halve :parameters (?t - thing) :effect (scale-down (g ?t) 2))
  (:action drop :parameters (?t - thing) :effect (decrease (n ?t) 1))
  (:action drop-all :parameters () :effect (forall (?t - thing) (when (b ?t) (decrease (n ?t) 2)))))
"""


def things(**values) -> tuple[pds.Model, pds.State]:
    domain = pds.parse_domain(THINGS)
    given = {"b": [False], "g": [0.5], "x": [1.0], "y": [1.0], "r": [0.0], "n": [4], "k": [1], **values}
    given.setdefault("v", [[1.0, 2.0]] * len(given["b"]))
    names = [f"t{i}" for i in range(len(given["b"]))]
    return pds.Model(domain, {"truth": lambda v: v.clamp(0, 1)}), pds.State(domain, {"thing": names}, given)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_what_may_have_become_true_several_times_is_likelier_each_time(times):
    """Half a chance, and half of what is left, and so on."""
    model, state = things()
    for _ in range(times):
        state = model.step(state, ("maybe", "t0"))
    assert float(state["b"][0].detach()) == pytest.approx(1 - 0.5**times)
    for _ in range(times):
        state = model.step(state, ("unless", "t0"))
    assert float(state["b"][0].detach()) == pytest.approx((1 - 0.5**times) * 0.5**times)


def test_without_a_tolerance_equal_numbers_are_equal_and_others_are_not():
    model, state = things()
    assert model.holds(state, "(= (x t0) (y t0))", crisp=True) == 1
    assert model.holds(state, "(= (x t0) (y t0))") == 1
    model, state = things(y=[1.0 + 1e-6])
    assert model.holds(state, "(= (x t0) (y t0))", crisp=True) == 0


@pytest.mark.parametrize(("value", "truth"), [(0.5, 1), (-0.5, 1), (0.51, 0), (0.0, 1)])
def test_numbers_as_far_apart_as_the_tolerance_are_equal(value, truth):
    model, state = things(r=[value])
    assert model.holds(state, "(= (r t0) 0)", crisp=True) == truth


def test_a_float_equals_an_int_within_its_tolerance():
    model, state = things(r=[4.4])
    assert model.holds(state, "(= (r t0) (n t0))", crisp=True) == 1
    assert model.holds(state, "(= (n t0) (r t0))", crisp=True) == 1


@pytest.mark.parametrize("crisp", [True, False])
def test_whole_division_rounds_down(crisp):
    model, state = things()
    for above, below, wanted in ((7, 2, 3), (-7, 2, -4), (7, -2, -4), (-6, 3, -2)):
        whole = Arithmetic("/", (Value(above, INT), Value(below, INT)), INT)
        assert model.holds(state, Equal(whole, Value(wanted, INT), 0.0), crisp=crisp) == 1
        assert model.holds(state, Compare(">", whole, Value(wanted, INT)), crisp=crisp) < 0.5


@pytest.mark.parametrize("crisp", [True, False])
def test_numbers_are_halved_and_lowered(crisp):
    model, state = things(g=[3.0])
    assert model.step(state, ("halve", "t0"), crisp=crisp)["g"].tolist() == [1.5]
    after = model.step(state, ("drop", "t0"), crisp=crisp)["n"]
    assert (after.tolist(), after.dtype) == ([3], torch.int64)


@pytest.mark.parametrize("crisp", [True, False])
def test_numbers_change_only_where_the_condition_holds(crisp):
    model, state = things(
        b=[True, False], g=[0.0, 0.0], x=[0.0] * 2, y=[0.0] * 2, r=[0.0] * 2, n=[9, 9], k=[0, 0]
    )
    assert model.step(state, ("drop-all",), crisp=crisp).crisp()["n"].tolist() == [7, 9]


@pytest.mark.parametrize(("order", "truth"), [("<", 0), ("<=", 1), (">", 0), (">=", 1)])
def test_equal_numbers_are_neither_less_nor_more(order, truth):
    model, state = things()
    for left, right in (("(n t0)", "4"), ("(x t0)", "(y t0)"), ("(k t0)", "1")):
        assert model.holds(state, f"({order} {left} {right})", crisp=True) == truth
        assert bool(model.holds(state, f"({order} {left} {right})") > 0.5) == bool(truth)


def test_vectors_are_equal_where_all_their_elements_are():
    model, state = things()
    for vector, truth in (("[1, 2]", 1), ("[1, 3]", 0), ("[0, 2]", 0)):
        assert model.holds(state, f"(= (v t0) {vector})", crisp=True) == truth
        assert bool(model.holds(state, f"(= (v t0) {vector})") > 0.5) == bool(truth)


def test_each_state_of_a_batch_gets_the_answer_to_its_own_formula():
    model, _ = things()
    states = [things(n=[at])[1] for at in range(4)]
    formulas = ["(= (n t0) 0)", "(= (n t0) 1)", "(= (n t0) 0)", "(= (n t0) 1)"]
    assert model.holds(pds.StateBatch.of(states), formulas, crisp=True).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("crisp", [True, False])
def test_each_state_of_a_batch_takes_its_own_action(crisp):
    model, _ = things()
    states = [things(n=[at], g=[at * 2.0])[1] for at in range(4)]
    steps = [("drop", "t0"), ("halve", "t0"), ("drop", "t0"), ("halve", "t0")]
    after = model.step(pds.StateBatch.of(states), steps, crisp=crisp)
    assert after["n"].flatten().tolist() == [-1, 1, 1, 3]
    assert after["g"].flatten().tolist() == [0.0, 1.0, 4.0, 3.0]
