"""The recurrent state-space model with categorical latents (Hafner et al., 2019, 2021)."""

from __future__ import annotations

from typing import Final, NamedTuple, final

import torch
from torch import Tensor, nn

RECURRENT: Final = 128
"""Numbers in the deterministic part; as wide as the encoder. DreamerV2 has 600, for Atari."""

VARIABLES: Final = 16
CLASSES: Final = 16
"""Categorical variables and their classes; DreamerV2 has 32 of 32, for Atari. Set by hand."""

LATENT: Final = RECURRENT + VARIABLES * CLASSES
"""Numbers in both parts together."""

BALANCE: Final = 0.8
"""The share of the prior in the balanced KL divergence: DreamerV2's."""


class LatentState(NamedTuple):
    """What is known at one time: ``recurrent`` ``[s, r]``, ``sample`` ``[s, v, c]`` and its ``logits``."""

    recurrent: Tensor
    sample: Tensor
    logits: Tensor

    @property
    def features(self) -> Tensor:
        """Both parts side by side ``[s, LATENT]``."""
        return torch.cat([self.recurrent, self.sample.flatten(-2)], -1)

    def detach(self) -> LatentState:
        """The same without its history."""
        return LatentState(*(part.detach() for part in self))

    def select(self, rows: Tensor) -> LatentState:
        """Some of the rows."""
        return LatentState(*(part.index_select(0, rows) for part in self))


@final
class RSSM(nn.Module):
    """How the latent state goes on: by an action alone (prior), or with what is then observed (posterior)."""

    def __init__(self, observed: int, action: int) -> None:
        super().__init__()
        stochastic = VARIABLES * CLASSES
        self.first = nn.Linear(observed, RECURRENT)
        self.joined = nn.Sequential(nn.Linear(stochastic + action, RECURRENT), nn.ELU())
        self.cell = nn.GRUCell(RECURRENT, RECURRENT)
        self.prior = _logits(RECURRENT)
        self.posterior = _logits(RECURRENT + observed)

    def begin(self, seen: Tensor) -> Tensor:
        """The recurrent part in the first state ``[s, r]``.

        The original begins with zeros; here the layout of objects need not pass through the few classes.
        """
        return torch.tanh(self.first(seen))

    def advance(self, before: LatentState, action: Tensor) -> Tensor:
        """The recurrent part after an action, given as its embedding."""
        recurrent: Tensor = self.cell(
            self.joined(torch.cat([before.sample.flatten(-2), action], -1)), before.recurrent
        )
        return recurrent

    def imagined(self, recurrent: Tensor) -> LatentState:
        """A sample of what the model expects to see."""
        return _sampled(recurrent, self.prior(recurrent))

    def expected(self, recurrent: Tensor) -> Tensor:
        """The logits of what the model expects to see ``[..., v, c]``."""
        return _by_variable(self.prior(recurrent))

    def observed(self, recurrent: Tensor, seen: Tensor, *, likeliest: bool = False) -> LatentState:
        """A sample, or the likeliest classes, given what is seen ``[s, observed]``."""
        return _sampled(recurrent, self.posterior(torch.cat([recurrent, seen], -1)), likeliest=likeliest)


def straight_through(logits: Tensor, *, likeliest: bool = False) -> Tensor:
    """A one-hot sample whose gradient is that of its probabilities (Bengio et al., 2013)."""
    probabilities = logits.softmax(-1)
    if likeliest:
        chosen = probabilities.argmax(-1)
    else:
        flat = probabilities.detach().flatten(0, -2)
        chosen = torch.multinomial(flat, 1).reshape(probabilities.shape[:-1])
    hard = nn.functional.one_hot(chosen, logits.shape[-1]).to(probabilities.dtype)
    return hard + (probabilities - probabilities.detach())


def balanced_kl(posterior: Tensor, prior: Tensor, balance: float = BALANCE) -> Tensor:
    """The KL divergence of posterior from prior, both as logits ``[..., v, c]``, summed over variables.

    A share ``balance`` of its gradient moves the prior, the rest the posterior (KL balancing).
    """
    to_prior = _kl(posterior.detach(), prior)
    to_posterior = _kl(posterior, prior.detach())
    return balance * to_prior + (1 - balance) * to_posterior


def _kl(left: Tensor, right: Tensor) -> Tensor:
    mine, theirs = left.log_softmax(-1), right.log_softmax(-1)
    return (mine.exp() * (mine - theirs)).sum((-2, -1))


def _logits(inputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, RECURRENT), nn.ELU(), nn.Linear(RECURRENT, VARIABLES * CLASSES))


def _sampled(recurrent: Tensor, flat: Tensor, *, likeliest: bool = False) -> LatentState:
    logits = _by_variable(flat)
    return LatentState(recurrent, straight_through(logits, likeliest=likeliest), logits)


def _by_variable(flat: Tensor) -> Tensor:
    return flat.reshape(*flat.shape[:-1], VARIABLES, CLASSES)
