"""The loss of a conditional assignment, and what is learned by it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import pdsketch as pds
from pdsketch.training.likelihoods import mixture_losses, unlikelihood
from pdsketch.training.losses import WRITE_TOLERANCE

odds = st.floats(0.01, 0.99)
errors = st.floats(0.0, 2.0)


def loss(
    gate: float, wrong: float, stale: float, written: bool, doubt: float = 0.0
) -> tuple[float, float, float]:
    """The gate's loss, and the gradients of all by the gate and by the new value's error."""
    numbers = [torch.tensor([x], dtype=torch.float64, requires_grad=True) for x in (gate, wrong)]
    before, seen = torch.tensor([stale], dtype=torch.float64), torch.tensor([written])
    alone = torch.ones(1, 1, dtype=torch.float64)
    opened, value = mixture_losses(
        numbers[0], alone, numbers[1][None], before, seen, 1 / WRITE_TOLERANCE, doubt
    )
    (opened + value).sum().backward()
    return float(opened.detach()), float(numbers[0].grad), float(numbers[1].grad)


@settings(max_examples=60, deadline=None)
@given(odds, errors, errors)
def test_what_was_seen_to_change_was_written(gate, wrong, stale):
    found, by_gate, by_error = loss(gate, wrong, stale, True)
    assert np.isclose(found, -np.log(gate))
    assert by_gate < 0
    assert np.isclose(by_error, 1.0)


@settings(max_examples=60, deadline=None)
@given(odds, errors)
def test_a_new_value_that_is_the_old_one_says_nothing_about_the_gate(gate, error):
    _, by_gate, by_error = loss(gate, error, error, False)
    assert abs(by_gate) < 1e-5
    assert np.isclose(by_error, gate)


@settings(max_examples=60, deadline=None)
@given(odds, st.floats(20 * WRITE_TOLERANCE, 2.0))
def test_what_stayed_while_the_new_value_differs_was_not_written_as_far_as_the_gate_goes(gate, wrong):
    found, by_gate, by_error = loss(gate, wrong, 0.0, False)
    assert by_gate > 0
    # Where goals hold the gate open all the same, the new value must become the old one.
    assert np.isclose(by_error, gate)
    assert np.isclose(found, -np.log(1 - gate), atol=0.01)


@settings(max_examples=60, deadline=None)
@given(errors, st.floats(20 * WRITE_TOLERANCE, 2.0))
def test_in_doubt_a_closed_gate_is_no_reason_to_stay_closed(wrong, more):
    """The new value is learned behind a closed gate, and opens it as soon as it is the better one."""
    closed = 1e-5
    _, by_gate, by_error = loss(closed, wrong, wrong + more, False, doubt=1.0)
    assert by_gate < 0
    assert np.isclose(by_error, 1.0)
    _, by_gate, by_error = loss(closed, wrong + more, wrong, False, doubt=1.0)
    assert by_gate > 0
    assert np.isclose(by_error, 1.0)


def test_in_doubt_errors_count_and_what_the_gate_was_does_not():
    closed, wrong = 1e-5, 0.1
    stale = wrong + 5 * WRITE_TOLERANCE
    assert loss(closed, wrong, stale, False, doubt=1.0)[0] > 10
    assert loss(closed, wrong, stale, False, doubt=0.0)[0] < 0.1


@settings(max_examples=60, deadline=None)
@given(odds, st.floats(20 * WRITE_TOLERANCE, 2.0))
def test_of_two_values_that_may_have_been_written_the_one_that_is_right_was(share, wrong):
    shares = torch.tensor([[share], [1 - share]], dtype=torch.float64, requires_grad=True)
    errors = torch.tensor([[0.0], [wrong]], dtype=torch.float64, requires_grad=True)
    one = torch.ones(1, dtype=torch.float64)
    opened, value = mixture_losses(one, shares, errors, one, one > 0, 1 / WRITE_TOLERANCE)
    (opened + value).sum().backward()
    assert torch.allclose(errors.grad, torch.tensor([[1.0], [0.0]], dtype=torch.float64), atol=1e-4)
    assert shares.grad[0] < -1
    assert abs(shares.grad[1]) < 1e-4


KINDS = pds.parse_domain("""
(define (domain kinds)
  (:types thing)
  (:predicates (lit ?t - thing) (hue [return_type=int64[choices=6]] ?t - thing)
    (place [return_type=vector[float32, 2]] ?t - thing)))
""").predicates


@pytest.mark.parametrize("name", ["lit", "hue"])
def test_who_is_sure_and_wrong_hears_of_it(name):
    odds = torch.full((1, 1, 6) if name == "hue" else (1, 1), -20.0, requires_grad=True)
    sure = odds + 20.0 * torch.eye(6)[0] if name == "hue" else odds
    found = torch.softmax(sure, -1) if name == "hue" else torch.sigmoid(sure)
    target = torch.full((1, 1), 3) if name == "hue" else torch.ones(1, 1, dtype=torch.bool)
    unlikelihood(found, target, KINDS[name], None).sum().backward()
    assert odds.grad.abs().max() > 0.5


def test_one_outlier_does_not_sway_the_likelihood_of_numbers():
    target = torch.tensor([[[0.0, 0.0]]]).repeat(9, 1, 1)
    target[0] = 1000.0
    found = torch.full((9, 1, 2), 0.1, requires_grad=True)
    unlikelihood(found, target, KINDS["place"], torch.ones(2)).sum().backward()
    assert (found.grad.sum(0) > 0).all()


JUMP = """
(define (domain jumps)
  (:types ball - object place - vector[float32, 1] hue - int64[choices=4])
  (:predicates (at [return_type=place] ?b - ball) (colour [return_type=hue] ?b - ball))
  (:derived (lively ?b - ball) (??f (colour ?b)))
  (:action kick :parameters () :precondition (and)
    :effect (foreach (?b - ball) (at::cond-assign ?b (lively ?b) (??g (at ?b))))))
"""


def test_condition_and_effect_are_told_apart_by_transitions_alone():
    domain, rng = pds.parse_domain(JUMP), np.random.default_rng(0)
    episodes = []
    for _ in range(40):
        colours, at = rng.integers(4, size=3), rng.integers(6, size=3).astype(float)
        values = [{"at": at[:, None], "colour": colours}]
        values.append({"at": (at + 2.0 * (colours == 1))[:, None], "colour": colours})
        states = [pds.State(domain, {"ball": ["a", "b", "c"]}, one) for one in values]
        episodes.append(pds.Episode(states, [("kick",)], "(and)", [1, 1]))
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes, steps=250, batch=64)
    state = pds.State(domain, {"ball": ["a", "b", "c"]}, {"at": [[1.0], [2.0], [5.0]], "colour": [1, 2, 1]})
    after = model.step(state, ("kick",), crisp=True)["at"].detach()
    assert torch.allclose(after[:, 0], torch.tensor([3.0, 2.0, 7.0]), atol=0.25)
    assert model.holds(state, "(lively a)") > 0.9
    assert model.holds(state, "(lively b)") < 0.1


LOOKS = """
(define (domain looks)
  (:types thing - object look - int64[choices=4])
  (:predicates (raw [return_type=float32] ?o - thing))
  (:derived (look [return_type=look] ?o - thing) (??f (raw ?o)))
  (:derived (good ?o - thing) (??f (look ?o)))
  (:action turn :parameters (?o - thing) :effect (look::assign ?o (??g (look ?o)))))
"""


def test_codes_that_are_all_used_cost_less_than_one_code_for_all():
    domain = pds.parse_domain(LOOKS)
    episodes = [
        pds.Episode([pds.State(domain, {"thing": ["x"]}, {"raw": [float(i % 4)]})], [], "(good x)", [i % 2])
        for i in range(8)
    ]
    choices = torch.arange(4.0)
    encoders = {
        "each": lambda raw: -100.0 * (raw - choices).abs(),
        "one": lambda raw: 0 * raw - 9.0 * choices,
    }
    usage = {}
    for name, encoder in encoders.items():
        model = pds.Model(domain, {"derived::look::f": encoder}, seed=0)
        report = pds.fit(model, episodes, steps=1, forms=False)
        usage[name] = report.history[-1]["usage"]
    assert usage["each"] == pytest.approx(-1.0, abs=1e-3)
    assert usage["one"] == pytest.approx(0.0, abs=1e-3)
