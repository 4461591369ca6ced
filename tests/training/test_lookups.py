"""Truths that are looked up are those that networks say of each state."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import torch
from tests.training.rooms import SKETCH, episode

import pdsketch as pds
from pdsketch.tensor.compile.logic import logic_of
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.fitting import gather, open_training_set
from pdsketch.training.losses import Losses
from pdsketch.training.options import Options
from pdsketch.training.time_slice import TimeSlice

MORE = """
  (:derived (in-first ?s - robot) (??f (at ?s)))
  (:derived (in-second ?s - robot) (??f (at ?s)))
  (:derived (is-green ?b - box) (??f (colour ?b)))
  (:action left"""


@pytest.fixture(scope="module")
def training():
    domain = pds.parse_domain(SKETCH.replace("\n  (:action left", MORE, 1))
    rng = np.random.default_rng(0)
    episodes = [episode(domain, rng, boxes=1 + at % 4) for at in range(40)]
    model = pds.Model(domain, seed=1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) * 0.1)
    return open_training_set(model, put_on_device(gather(episodes, domain), model.device))


@contextmanager
def state_by_state(training):
    before, training.lookups = training.lookups, {}
    try:
        yield
    finally:
        training.lookups = before


def test_what_is_of_one_observed_code_is_looked_up(training):
    assert {training.tables[table] for table in training.lookups} == {"is-red", "is-blue", "is-green"}


def looked_up(training, name):
    table = training.lookups[training.tables.index(name)]
    return table.truth(torch.arange(100), logic_of("product"))


def losses_and_gradients(training):
    model, losses = training.model, Losses(training, Options.of(lookahead=1.0))
    model.zero_grad(set_to_none=True)
    terms = losses.terms(np.arange(0, len(training.dataset), 2))
    losses.total(terms).backward()
    grads = {name: p.grad for name, p in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    return terms, grads


def test_losses_and_gradients_are_the_same(training):
    terms, grads = losses_and_gradients(training)
    with state_by_state(training):
        expected, wanted = losses_and_gradients(training)
    assert {"goal", "transition", "lookahead"} <= expected.keys()
    for name, term in expected.items():
        assert torch.allclose(terms[name], term, atol=1e-5)
    for name, grad in wanted.items():
        assert (grad is None) == (grads[name] is None), name
        assert grad is None or torch.allclose(grads[name], grad, atol=1e-4, rtol=1e-3), name


@pytest.mark.parametrize("name", ["is-red", "is-blue"])
def test_each_state_gets_the_truth_of_its_objects(training, name):
    current, logic = TimeSlice(training, logic_of("product"), torch.arange(100)), logic_of("product")
    run = current.open(torch.arange(100), training.schedule.table_reads[training.tables.index(name)], ())
    assert torch.allclose(looked_up(training, name), training.engine.predicate(run, name, logic), atol=1e-6)


def test_who_watches_sees_each_call(training):
    seen = []
    with training.engine.functions.watched(lambda callee, *_: seen.append(callee.name)):
        TimeSlice(training, logic_of("product"), torch.arange(100)).prepare(goals=True, step=True)
    assert {"derived::is-red::f", "derived::is-blue::f"} <= set(seen)


def test_a_module_of_the_users_own_is_called(training):
    functions, name = training.engine.functions, "derived::is-blue::f"
    before = functions.calls[name]
    functions.calls[name] = lambda colour: colour[..., :1]
    try:
        assert looked_up(training, "is-blue") is None
    finally:
        functions.calls[name] = before
    assert looked_up(training, "is-blue") is not None
