"""How far each network should grow: the simplest level that held-out examples cannot tell from the best."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import BlankCall, walk
from pdsketch.nets import Nested, simplest
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.likelihoods import differs, unlikelihood
from pdsketch.training.losses import Losses, real_entries
from pdsketch.training.time_slice import TimeSlice, Transition
from pdsketch.training.training_set import TrainingSet

APART_SHARE = 1 / 3
"""The part of the training episodes by which levels are chosen; they are learned from afterwards. Set by
hand, not swept."""

MOST_JUDGED = 512
"""By so many examples at most: enough to tell an error rate of 1 % from one of 3 %."""

MOST_PASSES = 3
"""How often all networks are gone through: what one needs depends on what the others can say by then. Set by
hand, not swept."""

DOUBT_EXPONENT = 8
"""How steeply a probability is taken for right or wrong where errors are counted: 0.6 is 96 % right. Set by
hand, not swept."""


@final
class Levels:
    """The networks of a training set whose levels are chosen, and the examples that choose them."""

    def __init__(self, losses: Losses, train: Array, seed: int) -> None:
        training = losses.training
        self.losses = losses
        self.networks = _nested(training) if losses.options.trial else []
        self.apart = _apart(train, training.dataset.episode, seed) if self.networks else train[:0]
        self._all = train

    @torch.no_grad()
    def choose(self) -> None:
        """Give each network the level that it needs, from the simplest of all on, until nothing changes."""
        for network in self.networks:
            network.level = 0
        for _ in range(MOST_PASSES):
            before = [network.level for network in self.networks]
            for network in self.networks:
                found = []
                for level in range(len(network.levels)):
                    network.level = level
                    found.append(self.risks())
                network.level = simplest(torch.stack(found))
            if before == [network.level for network in self.networks]:
                break

    @torch.no_grad()
    def risks(self) -> Tensor:
        """The risk of each example by which levels are chosen."""
        return risks(self.losses, self._examples).double().cpu()

    @property
    def count(self) -> int:
        """How many examples choose levels; 0 where no network has any."""
        return len(self._examples) if self.networks else 0

    @cached_property
    def _examples(self) -> Array:
        """At most `MOST_JUDGED` of those that were kept apart, or of all where none was, of every stratum."""
        return some_of(self.apart if len(self.apart) else self._all, self.losses.training)


def some_of(states: Array, training: TrainingSet) -> Array:
    """At most `MOST_JUDGED` examples, of every stratum."""
    ordered = states[np.argsort(training.dataset.strata[states], kind="stable")]
    return np.sort(ordered[np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_JUDGED)).astype(np.int64)])


def _nested(training: TrainingSet) -> list[Nested]:
    """The networks with levels: all but encoders, whose codes must stay what they are."""
    encoders = set()
    for predicate in training.domain.predicates.values():
        if predicate.role == "encoded" and predicate.body is not None:
            encoders |= {node.blank for node in walk(predicate.body) if isinstance(node, BlankCall)}
    found: dict[int, Nested] = {}
    for name in training.domain.blanks:
        network = training.model.blanks.network(name)
        if isinstance(network, Nested) and name not in encoders:
            found |= {id(part): part for part in network.modules() if isinstance(part, Nested)}
    return list(found.values())


def _apart(train: Array, episode: Array, seed: int) -> Array:
    """The examples of some of the training episodes."""
    episodes = np.unique(episode[train])
    chosen = np.random.default_rng([seed, 1]).permutation(episodes)[: int(APART_SHARE * len(episodes))]
    return train[np.isin(episode[train], chosen)]


def risks(losses: Losses, states: Array) -> Tensor:
    """How often each example's goal, precondition and variables are got wrong, counted softly around p = 1/2.

    Bounded, so that a few examples about which a model is sure and wrong do not
    hide all others, and steep, so that being right suffices, however sure.
    Positives weigh as much as negatives, and changed variables as much as
    unchanged ones; the mean over all examples is the risk.
    """
    current = TimeSlice(losses.training, losses.logic, losses.training.dataset.place(states))
    current.prepare(goals=True, step=True)
    total = torch.zeros(len(states), device=losses.training.dataset.device)
    judged = current.judged
    if len(judged):
        _add_truth(total, judged, current.truth(), current.outcomes)
    for rows, truth, labels in losses.preconditions(current):
        _add_truth(total, rows, truth, labels)
    after = current.step()
    for transition in after.transitions:
        targets = losses.targets(after, transition)
        for name in transition.new:
            _add_variable(total, losses, current, transition, name, targets[name])
    return total * len(states)


def _add_truth(total: Tensor, rows: Tensor, truth: Tensor, label: Tensor) -> None:
    wrong = _doubt(torch.where(label, truth, 1.0 - truth))
    weight = torch.where(label, 0.5 / label.sum().clamp_min(1), 0.5 / (~label).sum().clamp_min(1))
    total.index_add_(0, rows, wrong * weight)


def _add_variable(
    total: Tensor, losses: Losses, current: TimeSlice, transition: Transition, name: str, target: Tensor
) -> None:
    training = losses.training
    predicate = training.domain.predicates[name]
    scale = losses.scale(transition, predicate, target)
    if scale is None:
        right = torch.exp(-unlikelihood(transition.new[name], target, predicate, None))
    else:
        # A vector is right where its worst number is: others that never change must not hide it.
        off, objects = (transition.new[name] - target).abs() / scale, 1 + len(predicate.parameters)
        right = torch.exp(-off.flatten(objects).amax(-1) if off.dim() > objects else -off)
    wrong = _doubt(right)
    changed = differs(current.value(name, transition.rows), target, predicate).to(wrong.dtype)
    stayed = 1.0 - changed
    real = real_entries(training, current.states.index_select(0, transition.rows), predicate)
    if real is not None:
        changed, stayed = changed * real, stayed * real
    weight = 0.5 * (changed / changed.sum().clamp_min(1.0) + stayed / stayed.sum().clamp_min(1.0))
    total.index_add_(0, transition.rows, (wrong * weight).reshape(len(transition.rows), -1).sum(1))


def _doubt(right: Tensor) -> Tensor:
    """From the probability of being right to an error between 0 and 1, steep around 1/2."""
    right = right.clamp(0.0, 1.0)
    yes, no = right**DOUBT_EXPONENT, (1.0 - right) ** DOUBT_EXPONENT
    return no / (yes + no)
