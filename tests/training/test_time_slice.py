"""Batches of goals and actions give what each state gives alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.tensor.compile.logic import CRISP, logic_of
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.fitting import gather, open_training_set
from pdsketch.training.time_slice import TimeSlice


@pytest.fixture(scope="module")
def training(rooms):
    domain, episodes = rooms
    model = pds.Model(domain, seed=1)
    with torch.no_grad():  # so that effects are no residual's identity
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) * 0.3)
    return open_training_set(model, put_on_device(gather(episodes, domain), model.device))


def alone(training, state: int):
    columns = training.dataset.arrays
    at = int(training.dataset.episode[state])
    episode = columns[at]
    return episode, int(state - columns.starts[at])


@pytest.mark.parametrize("tnorm", ["product", "godel", "crisp"])
def test_goals_and_lookahead_equal_one_state_at_a_time(training, tnorm):
    logic = CRISP if tnorm == "crisp" else logic_of(tnorm)
    kw = {"crisp": True} if tnorm == "crisp" else {"tnorm": tnorm}
    states = np.random.default_rng(0).permutation(len(training.dataset))[:60]
    with torch.no_grad():
        current = TimeSlice(training, logic, torch.from_numpy(states))
        current.prepare(goals=True, step=True)
        after = current.step()
        after.prepare(goals=True, step=True)
        later = after.step()
        later.prepare(goals=True, step=False)
        truths = [f.truth().float() for f in (current, after, later)]
        origins = [np.arange(len(states)), after._origin, after._origin[later._origin]]
        for ahead, (truth, origin) in enumerate(zip(truths, origins, strict=True)):
            for row, source in enumerate(origin):
                episode, at = alone(training, states[source])
                state = episode.states[at]
                for action in episode.actions[at : at + ahead]:
                    state = training.model.step(state, action, **kw)
                expected = training.model.holds(state, episode.goal, **kw)
                assert torch.allclose(truth[row], expected, atol=1e-5)


def test_predicted_variables_equal_one_step_at_a_time(training):
    states = np.arange(50)
    logic = logic_of("product")
    with torch.no_grad():
        current = TimeSlice(training, logic, torch.from_numpy(states))
        current.prepare(goals=False, step=True)
        after = current.step()
        for transition in after.transitions:
            for local, row in enumerate(transition.rows):
                episode, at = alone(training, states[row])
                expected = training.model.step(episode.states[at], episode.actions[at], tnorm="product")
                for name, new in transition.new.items():
                    wanted = expected[name]
                    found = new[local][tuple(slice(0, n) for n in wanted.shape[:1])]
                    assert torch.allclose(found.float(), wanted.float(), atol=1e-5)


def test_goals_of_one_skeleton_form_one_family(training):
    assert len(training.goals) == 3
    assert len(training.families) == 2
