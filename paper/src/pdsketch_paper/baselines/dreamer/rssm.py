"""The recurrent state-space model with categorical latents (Hafner et al., 2019, 2021)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, linear

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

    def follow(self, seen: Tensor, actions: Tensor, *, likeliest: bool = False) -> LatentState:
        """The latent states ``[t, s, …]`` along what is seen ``[t, s, observed]``.

        ``actions`` are the embeddings of those in between ``[t - 1, s, action]``. As `advance` and `observed`
        step by step, but what does not depend on the latent state is computed for all steps at once.
        """
        inner, outer, join = self.posterior[0], self.posterior[2], self.joined[0]
        assert isinstance(inner, nn.Linear)
        assert isinstance(join, nn.Linear)
        stochastic = VARIABLES * CLASSES
        by_recurrent, by_seen = inner.weight[:, :RECURRENT], inner.weight[:, RECURRENT:]
        by_sample, by_action = join.weight[:, :stochastic], join.weight[:, stochastic:]
        seen_parts = linear(seen, by_seen, inner.bias).unbind()
        action_parts = linear(actions, by_action, join.bias).unbind()
        shape = (*seen.shape[:-1], VARIABLES, CLASSES)
        noises = [None] * len(seen) if likeliest else gumbel(seen.new_empty(shape)).unbind()
        recurrent = self.begin(seen[0])
        found: list[LatentState] = []
        for t, (part, noise) in enumerate(zip(seen_parts, noises, strict=True)):
            if t:
                before = found[-1].sample.flatten(-2)
                joined = elu(torch.addmm(action_parts[t - 1], before, by_sample.t()))
                recurrent = self.cell(joined, recurrent)
            logits = _by_variable(outer(elu(torch.addmm(part, recurrent, by_recurrent.t()))))
            found.append(LatentState(recurrent, _one_hot(logits, noise), logits))
        return LatentState(*(torch.stack(parts) for parts in zip(*found, strict=True)))

    def imagined(self, recurrent: Tensor) -> LatentState:
        """A sample of what the model expects to see."""
        return _sampled(recurrent, self.prior(recurrent))

    def expected(self, recurrent: Tensor) -> Tensor:
        """The logits of what the model expects to see ``[..., v, c]``."""
        return _by_variable(self.prior(recurrent))

    def observed(self, recurrent: Tensor, seen: Tensor, *, likeliest: bool = False) -> LatentState:
        """A sample, or the likeliest classes, given what is seen ``[s, observed]``."""
        return _sampled(recurrent, self.posterior(torch.cat([recurrent, seen], -1)), likeliest=likeliest)


def gumbel(like: Tensor) -> Tensor:
    """Noise whose sum with logits is largest at a sample of their distribution (Gumbel, 1954)."""
    return torch.empty_like(like).exponential_().log_().neg_()


class _StraightThrough(torch.autograd.Function):
    """Where logits plus noise are largest, as one-hot vectors; the gradient is that of the probabilities."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, noise: Tensor | None) -> Tensor:
        ctx.save_for_backward(logits)
        chosen = (logits if noise is None else logits + noise).argmax(-1, keepdim=True)
        return torch.zeros_like(logits).scatter_(-1, chosen, 1.0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (logits,), (gradient,) = ctx.saved_tensors, gradients
        probabilities = logits.softmax(-1)
        weighted = probabilities * gradient
        return weighted - probabilities * weighted.sum(-1, keepdim=True), None


def straight_through(logits: Tensor, *, likeliest: bool = False) -> Tensor:
    """A one-hot sample whose gradient is that of its probabilities (Bengio et al., 2013)."""
    return _one_hot(logits, None if likeliest else gumbel(logits))


def _one_hot(logits: Tensor, noise: Tensor | None) -> Tensor:
    found: Tensor = _StraightThrough.apply(logits, noise)  # type: ignore[no-untyped-call]
    return found


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
