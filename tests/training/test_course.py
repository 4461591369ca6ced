"""The course of a fit: who is held out, how large its steps are, and what it leaves behind."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from tests.training.test_lessons import walk
from tests.training.test_notes import DOMAIN, MODULES, Flip, Lamps

import pdsketch as pds
from pdsketch.tensor.states.codes import tolerance_of
from pdsketch.training.data.episode_arrays import narrow
from pdsketch.training.optimiser import LAST_RATE, clip, learning_rate, make_optimiser
from pdsketch.training.options import Options


def test_episodes_are_held_out_whole(rooms):
    report = pds.fit(pds.Model(rooms[0], seed=0), rooms[1][:12], steps=1, validation=0.25)
    assert (report.episodes, report.held_out_episodes) == (9, 3)
    assert report.held_out.steps == sum(6 for _ in range(3))


@pytest.mark.parametrize(("count", "out"), [(12, 0), (200, 20)])
def test_of_many_episodes_a_tenth_is_held_out_and_of_few_none(count, out):
    episode = walk(0.0, 1.0, 0.0)
    model = pds.Model(episode.states[0].domain, seed=0)
    assert pds.fit(model, [episode] * count, steps=1).held_out_episodes == out


def test_a_fitted_model_is_ready_for_use():
    episode = walk(0.0, 1.0, 0.0)
    model = pds.Model(episode.states[0].domain, seed=0)
    pds.fit(model, [episode], steps=1)
    assert not any(module.training for module in model.modules())


def test_the_learning_rate_warms_up_and_goes_down():
    rates = [learning_rate(step, 200) for step in range(200)]
    assert rates[:10] == pytest.approx([0.1 * (step + 1) for step in range(10)])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[10] == 1.0
    assert rates[-1] == pytest.approx(LAST_RATE, abs=0.01)


def test_large_gradients_are_scaled_down_together_and_small_ones_left():
    for size, wanted in ((3.0, 1.0), (0.1, 0.1 * np.sqrt(5))):
        parameters = [torch.zeros(n, requires_grad=True) for n in (2, 3)]
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, size)
        clip(parameters, 1.0)
        norm = torch.cat([p.grad for p in parameters]).norm()
        assert float(norm) == pytest.approx(wanted, rel=1e-4)


def test_matrices_decay_and_biases_do_not():
    matrix, bias = torch.ones(2, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    optimiser = make_optimiser([matrix, bias], Options.of(weight_decay=0.5, learning_rate=0.1))
    for parameter in (matrix, bias):
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    assert (matrix < 0.99).all()
    assert (bias == 1).all()


def test_a_second_fit_remembers_what_the_first_one_trained():
    judged = walk(0.0, 1.0, 0.0, success=[1, 0, 1])
    model = pds.Model(judged.states[0].domain, seed=0)
    pds.fit(model, [judged], steps=2, transition=0.0, lookahead=0.0)
    assert model.notes["trained"] == ["derived::home::f"]
    pds.fit(model, [walk(0.0, 1.0, 0.0)], steps=2)
    assert model.notes["trained"] == ["action::back::f", "action::out::f", "derived::home::f"]


def test_one_bad_picture_does_not_make_an_encoder_noisy():
    world = Lamps(0.0)
    states, actions = [world.observe()], []
    for at in range(40):
        world.noise = 0.5 if at == 20 else 0.0
        actions.append(("wait", "a"))
        states.append(world.observe())
    model = pds.Model(DOMAIN, modules={**MODULES, "action::switch::g": Flip()}, seed=0)
    pds.fit(model, [pds.Episode(states, actions)], steps=1)
    look = DOMAIN.predicates["look-of"]
    assert tolerance_of(model.notes, look) == look.type.tolerance


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), max_size=8)
    | st.lists(st.integers(-(2**40), 2**40), max_size=8)
    | st.lists(st.integers(-200, 300), max_size=8)
)
def test_numbers_are_stored_as_they_are_however_small_their_room(values):
    array = np.array(values)
    assert np.array_equal(narrow(array), array)


def test_a_resumed_log_has_each_measurement_once(rooms, tmp_path):
    """The fit was stopped after more was measured than its checkpoint knows of."""
    options = {
        "batch": 32,
        "forms": False,
        "evaluate_every": 1,
        "checkpoint": str(tmp_path / "fit.safetensors"),
        "log": str(tmp_path / "log.csv"),
    }

    def fails(now):
        if now.step == 6:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pds.fit(pds.Model(rooms[0], seed=0), rooms[1][:4], steps=8, callback=fails, **options)
    pds.fit(pds.Model(rooms[0], seed=0), rooms[1][:4], steps=8, resume=True, **options)
    _, *rows = (tmp_path / "log.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == [str(step) for step in range(1, 9)]
