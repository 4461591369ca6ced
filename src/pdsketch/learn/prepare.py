"""Before the first step: networks learn the scale of what they will read and return."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang.terms import BlankCall, Update
from pdsketch.learn.data.episode_arrays import Array
from pdsketch.learn.losses import Losses, differs, real_entries
from pdsketch.learn.sampler import Sampler
from pdsketch.learn.study import Study
from pdsketch.nets.default import expect
from pdsketch.nets.normalise import recording

_ROUNDS = 4
_MOST = 20_000


@torch.no_grad()
def prepare_networks(losses: Losses, sampler: Sampler, states: Array) -> None:
    """Record the statistics of inputs and outputs for networks that have none yet."""
    study = losses.study
    for at, action in enumerate(study.actions):
        moved = states[(study.packed.action[states] == at) & study.executed[states]]
        for update in action.effects:
            if isinstance(update.value, BlankCall) and len(moved):
                _tell(study, update, moved)
    with recording(study.model) as fresh:
        for step in range(_ROUNDS if fresh else 0):
            losses.terms(sampler.draw(step))


def _tell(study: Study, update: Update, states: Array) -> None:
    """Tell the network of an assigned blank what its variable becomes where it changes."""
    assert isinstance(update.value, BlankCall)
    name = update.target.predicate
    predicate = study.domain.predicates[name]
    network = study.model.blanks.network(update.value.blank)
    if name not in study.packed or predicate.type.prim != "float32" or network is None:
        return
    tensor = study.packed.sample(name)
    here = study.packed.place(states[: study.packed.at_once(_MOST)])
    before = study.observed(here, [name])[name]
    after = study.observed(here + 1, [name])[name]
    changed = differs(before, after, predicate)
    real = real_entries(study, here, predicate)
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
    if study.domain.blanks[update.value.blank].residual is not None:
        change = new - before[changed].reshape(new.shape)
        expect(network, torch.zeros_like(overall), _positive(change.square().mean(0).sqrt(), overall))
    else:
        expect(network, new.mean(0), _positive(new.std(0, correction=0), overall))


def _positive(spread: Tensor, otherwise: Tensor) -> Tensor:
    return torch.where(spread > 1e-6, spread, otherwise)
