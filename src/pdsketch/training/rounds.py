"""The rounds of a fit: a short one, and others only where forms leave errors.

Credit is solved by flexible networks, and a few hundred steps are mostly enough for it. Where they are not,
the fit begins again: with relations that begin rare, for of many instances one that is true by chance hides
all others; and with all the steps that are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import log, prod
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from pdsketch.nets import BooleanNet
from pdsketch.tensor import EXAMPLES
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.forms.simplify import Simplified, Simplifier, forget
from pdsketch.training.losses import Losses

ROUND_STEPS: Final = 500
"""A round that is not the last has so many steps. Set by hand."""

Weights = dict[str, Tensor]


@final
class Rounds:
    """Which round a fit is in, where each begins, and the best model so far.

    ``first`` are the weights that every round begins with; ``kept`` those of the best round, with ``found``,
    the forms that stood for them.
    """

    def __init__(self, losses: Losses, train: Array, held_out: Array) -> None:
        self.losses, self.train, self.held_out = losses, train, held_out
        self.options = losses.options
        self.model = losses.training.model
        self.round, self.began = 0, 0
        self.rare = False
        self.first: Weights = {}
        self.kept: Weights = {}
        self.found: Simplified | None = None

    def end(self) -> int:
        """The step at which the round at hand ends."""
        steps = self.options.steps
        short = self.options.forms and self.round < 2 and steps - self.began >= 2 * ROUND_STEPS
        return self.began + ROUND_STEPS if short else steps

    def close(self) -> bool:
        """End a round: simplify, and keep the better model; whether nothing is left to learn."""
        if not self.options.forms:
            return True
        found = Simplifier(self.losses, self.train, self.held_out).run()
        if self.found is None or (found.after, found.cost) < (self.found.after, self.found.cost):
            self.found, self.kept = found, weights_of(self.model)
        return not found.after and not found.networks

    def closed(self) -> bool:
        """Find forms at once, where that takes no training."""
        simplifier = Simplifier(self.losses, self.train, self.held_out)
        self.found = simplifier.closed() if self.options.forms else None
        if self.found is not None:
            self.kept = weights_of(self.model)
        return self.found is not None

    def begin(self, step: int) -> bool:
        """Begin the next round from the first weights; False where there is no other."""
        if step >= self.options.steps:
            return False
        forget(self.model.blanks)
        self.model.load_state_dict(self.first)
        self.round, self.began = self.round + 1, step
        self.rare = self.round == 1 and self.options.steps - step >= 2 * ROUND_STEPS
        if self.rare and not begin_rare(self.losses, self.train):
            self.round, self.rare = 2, False
        return True

    def restore(self, kept: Weights) -> None:
        """Take over the weights of the best round so far."""
        now = weights_of(self.model)
        self.model.load_state_dict(kept)
        self.found, self.kept = Simplifier(self.losses, self.train, self.held_out).run(), kept
        forget(self.model.blanks)
        self.model.load_state_dict(now)

    def leave(self) -> None:
        """Leave the best model."""
        if self.found is not None:
            self.model.load_state_dict(self.kept)
            self.found.place(self.model.blanks)
        self.model.notes[EXAMPLES] = {} if self.found is None else self.found.evidence


def weights_of(model: nn.Module) -> Weights:
    """A copy of all weights."""
    return {name: t.detach().clone() for name, t in model.state_dict().items()}


@torch.no_grad()
def begin_rare(losses: Losses, states: Array) -> bool:
    """Let truths of many instances at once begin where *some instance holds* is even; whether any is."""
    most: dict[BooleanNet, int] = {}
    with _sized(losses.training.model, most):
        losses.terms(states[: losses.options.batch])
    many = {network: count for network, count in most.items() if count > 1}
    for network, count in many.items():
        rare = 1.0 - 0.5 ** (1.0 / count)
        network.last.bias.fill_(log(rare / (1.0 - rare)))
    return bool(many)


@contextmanager
def _sized(model: nn.Module, most: dict[BooleanNet, int]) -> Iterator[None]:
    """Within, the largest number of instances that each Boolean network is asked about in one state."""

    def note(network: Any, _: Any, found: Tensor) -> None:
        most[network] = max(most.get(network, 1), prod(found.shape[1:-1]))

    hooks = [
        module.register_forward_hook(note) for module in model.modules() if isinstance(module, BooleanNet)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
