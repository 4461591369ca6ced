"""The loss of a conditional assignment, and what is learned by it."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import pdsketch as pds
from pdsketch.learn.losses import SLACK, choice

odds = st.floats(0.01, 0.99)
errors = st.floats(0.0, 2.0)


def loss(gate: float, wrong: float, stale: float, written: bool) -> tuple[float, float, float]:
    """The loss, and its gradients by the gate and by the new value's error."""
    numbers = [torch.tensor([x], dtype=torch.float64, requires_grad=True) for x in (gate, wrong)]
    found = choice(*numbers, torch.tensor([stale], dtype=torch.float64), torch.tensor([written]))
    found.sum().backward()
    return float(found.detach()), float(numbers[0].grad), float(numbers[1].grad)


@settings(max_examples=60, deadline=None)
@given(odds, errors, errors)
def test_what_was_seen_to_change_was_written(gate, wrong, stale):
    found, by_gate, by_error = loss(gate, wrong, stale, True)
    assert np.isclose(found, wrong - np.log(gate))
    assert by_gate < 0
    assert np.isclose(by_error, 1.0)


@settings(max_examples=60, deadline=None)
@given(odds, errors)
def test_a_new_value_that_is_the_old_one_says_nothing_about_the_gate(gate, error):
    _, by_gate, _ = loss(gate, error, error, False)
    assert abs(by_gate) < 1e-5


@settings(max_examples=60, deadline=None)
@given(odds, st.floats(20 * SLACK, 2.0))
def test_what_stayed_while_the_new_value_differs_was_not_written(gate, wrong):
    found, by_gate, by_error = loss(gate, wrong, 0.0, False)
    assert by_gate > 0
    assert by_error < 0.01
    assert np.isclose(found, -np.log(1 - gate), atol=0.01)


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
