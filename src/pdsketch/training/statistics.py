"""Statistics of the data that networks are set up with before the first step: their inputs and outputs."""

from __future__ import annotations

import torch

from pdsketch.lang import BlankCall, Update
from pdsketch.nets import expect, recording
from pdsketch.training.losses import Losses
from pdsketch.training.sampler import Sampler

_INPUT_BATCHES = 4
"""Batches that inputs are normalised by: with 512 states each, a mean is off by 2 % of a deviation."""


@torch.no_grad()
def record_statistics(losses: Losses, sampler: Sampler) -> None:
    """Record the statistics of inputs and outputs for networks that have none yet."""
    training = losses.training
    for at, action in enumerate(training.actions):
        for update in action.effects:
            if (at, update.target.predicate) in losses.scales:
                _scale_output(losses, at, update)
    with recording(training.model) as fresh:
        for step in range(_INPUT_BATCHES if fresh else 0):
            losses.terms(sampler.draw(step))


def _scale_output(losses: Losses, action: int, update: Update) -> None:
    """Scale the output of an assigned blank's network as its errors are, around the values in the data."""
    if not isinstance(update.value, BlankCall):
        return
    training, name = losses.training, update.target.predicate
    values = training.dataset.sample(name).flatten(0, len(training.domain.predicates[name].parameters))
    network, scale = training.model.blanks.network(update.value.blank), losses.scales[action, name]
    if training.domain.blanks[update.value.blank].residual is not None:
        expect(network, torch.zeros_like(scale), scale)
    else:
        spread = values.std(0, correction=0)
        expect(network, values.mean(0), torch.where(spread > 0, spread, torch.ones_like(spread)))
