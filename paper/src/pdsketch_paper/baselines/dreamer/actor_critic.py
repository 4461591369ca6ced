"""Actor and critic, and how both learn from imagined steps (Hafner et al., 2021)."""

from __future__ import annotations

from typing import Final, NamedTuple, final

import torch
from torch import Tensor, nn

from pdsketch.tensor import StateBatch
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.dreamer.reading import ObjectReader
from pdsketch_paper.baselines.dreamer.rssm import LatentState, gumbel
from pdsketch_paper.baselines.dreamer.world_model import Surroundings, WorldModel
from pdsketch_paper.baselines.encoder import WIDTH

HORIZON: Final = 10
"""Imagined steps; DreamerV2 has 15. Set by hand, for the CPU's sake."""

DISCOUNT: Final = 0.97
"""Of a reward one step later; set by hand, for episodes of tens of steps (DreamerV2: 0.995, of thousands)."""

LAMBDA: Final = 0.95
"""How far λ-returns look before they trust the critic: DreamerV2's."""

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
        """``[s, a]``, by features and what the reader's `keys` returned; times side by side become rows."""
        nodes, whole = self.reader(features, keys)
        scores: Tensor = self.scores(objects, nodes.flatten(0, -3), whole.flatten(0, -2))
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

    ``features`` ``[h + 1, s, LATENT]`` with the start; the places of the ``actions`` ``[h, s]``; of the
    states that follow ``reward`` and ``continues`` ``[h, s]``.
    """

    features: Tensor
    actions: Tensor
    reward: Tensor
    continues: Tensor


class ActorCriticLosses(NamedTuple):
    """Of actor and critic, and the mean λ-return of the starts."""

    actor: Tensor
    critic: Tensor
    imagined_return: Tensor


@torch.no_grad()
def imagine(world: WorldModel, actor: Actor, start: LatentState, around: Surroundings) -> Imagined:
    """Steps of the actor in the model; no gradient goes through them."""
    latent = start
    keys = actor.reader.keys(around.keys)
    features, actions = [start.features], []
    for _ in range(HORIZON):
        logits = actor(around.objects, features[-1], keys)
        actions.append((logits + gumbel(logits)).argmax(-1))
        latent = world.rssm.imagined(world.rssm.advance(latent, around.embedding(actions[-1])))
        features.append(latent.features)
    stacked = torch.stack(features)
    return Imagined(stacked, torch.stack(actions), *world.readings(stacked[1:], around.keys))


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
    """What imagined steps teach actor and critic; nothing else gets a gradient.

    The actor's is that of REINFORCE (Williams, 1992), as DreamerV2's where actions are discrete.
    """
    dream = imagine(world, actor, start, around)
    seen = dream.features[:-1]
    discount = DISCOUNT * dream.continues
    with torch.no_grad():
        returns = lambda_returns(dream.reward, discount, slow(dream.features[1:], around.keys))
    weight = torch.cat([torch.ones_like(discount[:1]), discount[:-1]]).cumprod(0)
    value = critic(seen, around.keys)
    again = around.objects.select(torch.arange(seen.shape[1], device=seen.device).repeat(len(seen)))
    log_probabilities = actor(again, seen, actor.reader.keys(around.keys)).log_softmax(-1)
    log_probabilities = log_probabilities.reshape(*seen.shape[:2], -1)
    log_chosen = log_probabilities.gather(-1, dream.actions[..., None])[..., 0]
    entropy = -(log_probabilities.exp() * log_probabilities).sum(-1)
    advantage = returns - value.detach()
    actor_loss = -(weight * (log_chosen * advantage + ENTROPY * entropy)).mean()
    critic_loss = 0.5 * (weight * (value - returns).square()).mean()
    return ActorCriticLosses(actor_loss, critic_loss, returns[0].mean())
