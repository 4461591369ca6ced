"""Tables that are computed together are those that are computed one by one."""

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
def one_by_one(training):
    together, training.alike = training.alike, {}
    try:
        yield
    finally:
        training.alike = together


def group(training, *names):
    tables = [training.tables.index(name) for name in names]
    found = training.alike[tables[0]]
    assert found.tables == sorted(tables)
    return found


def test_the_same_arguments_are_found_under_other_names(training):
    group(training, "in-last", "in-first", "in-second")
    assert group(training, "is-red", "is-blue", "is-green").has_values
    assert training.tables.index("near") not in training.alike  # alone, and of numbers


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
    with one_by_one(training):
        expected, wanted = losses_and_gradients(training)
    assert {"goal", "rarity", "transition", "lookahead"} <= expected.keys()
    for name, term in expected.items():
        assert torch.allclose(terms[name], term, atol=1e-5)
    for name, grad in wanted.items():
        assert (grad is None) == (grads[name] is None), name
        assert grad is None or torch.allclose(grads[name], grad, atol=1e-4, rtol=1e-3), name


@pytest.mark.parametrize("names", [("in-last", "in-first", "in-second"), ("is-red", "is-blue", "is-green")])
@pytest.mark.parametrize("step", [3, 0], ids=["rows of their own", "the same rows"])
def test_each_table_in_its_rows(training, names, step):
    alike, logic = group(training, *names), logic_of("product")
    current = TimeSlice(training, logic, torch.arange(100))
    rows = [torch.arange(7, 90, 2 + step * at) for at in range(len(names))]
    which = torch.repeat_interleave(torch.tensor([len(own) for own in rows]))
    found = alike.evaluate(current, alike.networks(), which, torch.cat(rows))
    expected = []
    for table, own in zip(alike.tables, rows, strict=True):
        run = current.open(own, training.schedule.table_reads[table], ())
        expected.append(training.engine.predicate(run, training.tables[table], logic))
    assert torch.allclose(found, torch.cat(expected), atol=1e-6)


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
        assert group(training, "is-red", "is-blue", "is-green").networks() is None
    finally:
        functions.calls[name] = before
    assert group(training, "is-red", "is-blue", "is-green").networks() is not None
