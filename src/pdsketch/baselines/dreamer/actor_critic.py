"""Actor and critic, and how both learn from imagined steps (Hafner et al., 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, final

import torch
from torch import Tensor, nn

from pdsketch.baselines.actions import ActionScores
from pdsketch.baselines.dreamer.reading import ObjectReader
from pdsketch.baselines.dreamer.rssm import LatentState, straight_through
from pdsketch.baselines.dreamer.world_model import Surroundings, WorldModel
from pdsketch.baselines.encoder import WIDTH
from pdsketch.tensor.states.state import StateBatch

HORIZON: Final = 10
"""Imagined steps; DreamerV2 has 15. Set by hand, for the CPU's sake."""

DISCOUNT: Final = 0.97
"""Of a reward one step later; set by hand, for episodes of tens of steps (DreamerV2: 0.995, of thousands)."""

LAMBDA: Final = 0.95
"""How far λ-returns look before they trust the critic: DreamerV2's."""

REINFORCE: Final = 0.9
"""The share of the score-function gradient (Williams, 1992); the rest goes through the dynamics. DreamerV2
has 1 where actions are discrete and 0 where they are not; set by hand."""

ENTROPY: Final = 1e-3
"""The weight of the policy's entropy: DreamerV2's for Atari."""

NEVER: Final = -1e9
"""The logit of an action on an object that is not there: finite, so that gradients are."""


@final
class Actor(nn.Module):
    """Scores of ground actions, by latent features."""

    def __init__(self, scores: ActionScores) -> None:
        super().__init__()
        self.reader = ObjectReader()
        self.scores = scores

    def forward(self, objects: StateBatch, features: Tensor, keys: Tensor) -> Tensor:
        """``[s, a]``, by what the reader's `keys` returned."""
        nodes, whole = self.reader(features, keys)
        scores: Tensor = self.scores(objects, nodes, whole)
        return scores.clamp_min(NEVER)


@final
class Critic(nn.Module):
    """The discounted rewards that are still to come."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = ObjectReader()
        self.value = nn.Linear(WIDTH, 1)

    def forward(self, features: Tensor, keys: Tensor) -> Tensor:
        """``[h, s]`` of features ``[h, s, LATENT]`` and keys ``[s, n, width]`` as the encoder has them."""
        _, whole = self.reader(features, self.reader.keys(keys))
        values: Tensor = self.value(whole)[..., 0]
        return values


class Imagined(NamedTuple):
    """``h`` imagined steps.

    ``features`` ``[h + 1, s, LATENT]`` with the start; of the actions ``log_chosen`` and ``entropy``
    ``[h, s]``; of the states that follow ``reward`` and ``continues`` ``[h, s]``.
    """

    features: Tensor
    log_chosen: Tensor
    entropy: Tensor
    reward: Tensor
    continues: Tensor


class ActorCriticLosses(NamedTuple):
    """Of actor and critic, and the mean λ-return of the starts."""

    actor: Tensor
    critic: Tensor
    imagined_return: Tensor


def imagine(world: WorldModel, actor: Actor, start: LatentState, around: Surroundings) -> Imagined:
    """Steps of the actor in the model; gradients go through samples, straight through."""
    latent = start
    keys = actor.reader.keys(around.keys)
    features, log_chosen, entropy = [start.features], [], []
    for _ in range(HORIZON):
        logits = actor(around.objects, latent.features.detach(), keys)
        log_probabilities = logits.log_softmax(-1)
        action = straight_through(logits)
        log_chosen.append((log_probabilities * action.detach()).sum(-1))
        entropy.append(-(log_probabilities.exp() * log_probabilities).sum(-1))
        embedded = (action[:, None, :] @ around.actions)[:, 0]
        latent = world.rssm.imagined(world.rssm.advance(latent, embedded))
        features.append(latent.features)
    stacked = torch.stack(features)
    readings = world.readings(stacked[1:], around.keys)
    return Imagined(stacked, torch.stack(log_chosen), torch.stack(entropy), *readings)


def lambda_returns(reward: Tensor, discount: Tensor, value: Tensor) -> Tensor:
    """λ-returns ``[h, s]`` (Sutton, 1988): of each state but the last, the discounted rewards after it.

    ``reward``, ``discount`` and ``value`` are those of the states that follow ``[h, s]``.
    """
    following = value[-1]
    found = []
    for t in range(len(reward) - 1, -1, -1):
        mixed = (1 - LAMBDA) * value[t] + LAMBDA * following
        following = reward[t] + discount[t] * mixed
        found.append(following)
    return torch.stack(found[::-1])


def actor_critic_losses(
    world: WorldModel, actor: Actor, critic: Critic, slow: Critic, start: LatentState, around: Surroundings
) -> ActorCriticLosses:
    """What imagined steps teach actor and critic; nothing else gets a gradient."""
    with frozen(world, slow):
        dream = imagine(world, actor, start, around)
        discount = DISCOUNT * dream.continues
        ahead = slow(dream.features[1:], around.keys)
        returns = lambda_returns(dream.reward, discount, ahead)
    weight = torch.cat([torch.ones_like(discount[:1]), discount[:-1]]).cumprod(0).detach()
    value = critic(dream.features[:-1].detach(), around.keys)
    advantage = (returns - value).detach()
    objective = REINFORCE * dream.log_chosen * advantage + (1 - REINFORCE) * returns
    actor_loss = -(weight * (objective + ENTROPY * dream.entropy)).mean()
    critic_loss = 0.5 * (weight * (value - returns.detach()).square()).mean()
    return ActorCriticLosses(actor_loss, critic_loss, returns[0].detach().mean())


@contextmanager
def frozen(*modules: nn.Module) -> Iterator[None]:
    """Gradients go through these networks and not to their weights."""
    weights = [p for module in modules for p in module.parameters() if p.requires_grad]
    for weight in weights:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in weights:
            weight.requires_grad_(True)
