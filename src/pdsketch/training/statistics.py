"""Statistics of the data that networks are set up with before the first step: their inputs and outputs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import BlankCall, Update
from pdsketch.nets import expect, recording
from pdsketch.training.data.device_dataset import ROWS
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.likelihoods import differs
from pdsketch.training.losses import Losses, real_entries
from pdsketch.training.sampler import Sampler
from pdsketch.training.training_set import TrainingSet

_INPUT_BATCHES = 4
"""Batches that inputs are normalised by: with 512 states each, a mean is off by 2 % of a deviation."""


@torch.no_grad()
def record_statistics(losses: Losses, sampler: Sampler, states: Array) -> None:
    """Record the statistics of inputs and outputs for networks that have none yet."""
    training = losses.training
    for at, action in enumerate(training.actions):
        moved = states[(training.dataset.action[states] == at) & training.executed[states]]
        for update in action.effects:
            if isinstance(update.value, BlankCall) and len(moved):
                _scale_output(training, update, moved)
    with recording(training.model) as fresh:
        for step in range(_INPUT_BATCHES if fresh else 0):
            losses.terms(sampler.draw(step))


def _scale_output(training: TrainingSet, update: Update, states: Array) -> None:
    """Scale the output of an assigned blank's network to what its variable becomes where it changes."""
    assert isinstance(update.value, BlankCall)
    name = update.target.predicate
    predicate = training.domain.predicates[name]
    network = training.model.blanks.network(update.value.blank)
    if name not in training.dataset or predicate.type.prim != "float32" or network is None:
        return
    tensor = training.dataset.sample(name)
    here = training.dataset.place(states[: training.dataset.at_once(ROWS)])
    before = training.observed(here, [name])[name]
    after = training.observed(here + 1, [name])[name]
    changed = differs(before, after, predicate)
    real = real_entries(training, here, predicate)
    if real is not None:
        changed = changed & (real > 0)
    own = tensor.shape[1 + len(predicate.parameters) :]
    everything = tensor.reshape(-1, int(np.prod(own, dtype=np.int64)))
    if len(everything) == 0:
        return
    overall = _positive(everything.std(0, correction=0), torch.ones_like(everything[0]))
    new = after[changed].reshape(-1, everything.shape[1])
    if not len(new):
        expect(network, everything.mean(0), overall)
        return
    if training.domain.blanks[update.value.blank].residual is not None:
        change = new - before[changed].reshape(new.shape)
        expect(network, torch.zeros_like(overall), _positive(change.square().mean(0).sqrt(), overall))
    else:
        expect(network, new.mean(0), _positive(new.std(0, correction=0), overall))


def _positive(spread: Tensor, otherwise: Tensor) -> Tensor:
    return torch.where(spread > 1e-6, spread, otherwise)
