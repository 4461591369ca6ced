"""A model on any device says what it says on the CPU, and states move to it."""

from __future__ import annotations

import pytest
import torch
from tests.tensor.agreement import assert_close
from tests.tensor.worlds import GRID, STEPS, grid_state

from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import StateBatch

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
FORMULAS = [
    "(exists (?o - item) (and (is-red ?o) (robot-is-facing agent ?o)))",
    "(forall (?a ?b - item) (implies (reach ?a ?b) (or (locked ?a) (= ?a ?b))))",
    "(exists (?d - direction) (= (robot-direction agent) ?d))",
    "(< (+ 1 2) 4)",
]


def ahead(pose, direction):
    return pose + STEPS.to(pose.device)[direction[..., 0]]


@pytest.mark.parametrize("device", DEVICES)
def test_every_device_agrees_with_the_cpu(device):
    here, there = (Model(GRID, {"facing": ahead}, seed=0) for _ in range(2))
    there.to(device)
    assert there.device.type == device
    states = [grid_state(), grid_state(keys=()), grid_state(keys=("x", "y")), grid_state(night=True)]
    steps = [("forward", "agent"), ("paint", "home"), ("grab", "agent"), ("drop", "ball#2", (7, 8))]
    batch = StateBatch.of(states)
    for crisp in (True, False):
        for text in FORMULAS:
            found = there.holds(batch, text, crisp=crisp)
            assert found.device.type == device
            assert torch.allclose(found.cpu(), here.holds(batch, text, crisp=crisp), atol=1e-4)
        for a, b in zip(
            here.step(batch, steps, crisp=crisp), there.step(batch, steps, crisp=crisp), strict=True
        ):
            assert b.device.type == device
            assert_close(a, b.to("cpu"))
    run = there.engine.open(there.encode(batch.to(device), crisp=True))
    for action in ("paint", "grab", "forward"):
        grounding = there.engine.ground(run.batch, action)
        ground = run.ground(grounding.of(run.batch), grounding.count)
        could = there.engine.precondition(ground, action)
        keep = could.reshape(-1).nonzero().squeeze(1)
        assert len(there.engine.successors(ground, action, keep=keep)) == len(keep)
    truth = there.holds(batch, FORMULAS[0]).sum()
    truth.backward()
    assert any(p.grad is not None and p.grad.device.type == device for p in there.parameters())


@pytest.mark.parametrize("device", DEVICES)
def test_networks_that_wait_for_a_state_are_made_where_the_model_is(device):
    from pdsketch.lang.load import parse_domain
    from pdsketch.tensor.states.state import State

    domain = parse_domain("""
    (define (domain d) (:types item - object) (:predicates (v [return_type=vector[float32]] ?o - item))
      (:derived (p ?o - item) (??f (v ?o))))
    """)
    model = Model(domain).to(device)
    model.bind(State(domain, {"item": ["x"]}, {"v": [[1.0, 2.0]]}))
    assert {p.device.type for p in model.parameters()} == {device}
