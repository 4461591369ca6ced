"""Dreamer as an agent: an actor and a critic that learn in the imagination of a world model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Final, NamedTuple, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pdsketch.lang import Domain, Step
from pdsketch.tensor import State, StateBatch
from pdsketch.training import Array
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.dreamer.world_model import (
    LatentState,
    ObjectReader,
    Observed,
    Surroundings,
    WorldModel,
    gumbel,
)
from pdsketch_paper.baselines.graph import WIDTH, Shapes
from pdsketch_paper.baselines.network import AgentBaseline, Demonstrations


class Sequences(NamedTuple):
    """The states of ``count`` sequences, a row for each, sequence by sequence.

    ``examples`` ``[r]``; ``sequence`` ``[r]`` that each belongs to; the ``first`` row of each sequence
    ``[count]``; whether the goal is reached there, ``success`` ``[r]``. ``grid`` ``[t, count]`` has the row
    of each time: after a sequence's end, its last. ``place`` ``[r]`` says where in the (flat) grid it stands.
    """

    examples: Tensor
    sequence: Tensor
    first: Tensor
    success: Tensor
    grid: Tensor
    place: Tensor


@lru_cache(maxsize=2)  # demonstrations, and what was practised
def ends(demonstrations: Demonstrations) -> Array:
    """The last example that follows each one: the first success of its run, or the run's end ``[e]``.

    A run ends before the first state of which it is not known whether the goal holds.
    """
    dataset = demonstrations.dataset
    place = np.arange(len(dataset))
    first = np.flatnonzero(demonstrations.step == 0)
    stops = np.append(first[1:], len(place))[demonstrations.run] - 1
    unknown = np.minimum.reduceat(np.where(dataset.goal < 0, place, len(place)), first)
    reached = np.minimum.reduceat(np.where(demonstrations.to_go == 0, place, len(place)), first)
    found: Array = np.minimum(stops, np.minimum(unknown - 1, reached)[demonstrations.run])
    return found


def starts(demonstrations: Demonstrations) -> Array:
    """The examples after which at least one step is known."""
    return np.flatnonzero(ends(demonstrations) > np.arange(len(demonstrations.dataset)))


def sequences(demonstrations: Demonstrations, begins: Array, length: int) -> Sequences:
    """The sequences that begin at some examples; those of long runs begin earlier, and are full."""
    last = ends(demonstrations)[begins]
    begins = np.maximum(begins - demonstrations.step[begins], np.minimum(begins, last - length + 1))
    lengths = np.minimum(last - begins + 1, length)
    first = np.cumsum(lengths) - lengths
    sequence = np.repeat(np.arange(len(begins)), lengths)
    time = np.arange(len(sequence)) - first[sequence]
    examples = begins[sequence] + time
    grid = first + np.minimum(np.arange(lengths.max())[:, None], lengths - 1)
    place = demonstrations.dataset.place
    return Sequences(
        place(examples),
        place(sequence),
        place(first),
        place(demonstrations.to_go[examples] == 0).bool(),
        place(grid),
        place(time * len(begins) + sequence),
    )


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


LENGTH: Final = 16
"""States in a sequence; DreamerV2 has 50. An expert in BabyAI's rooms takes about ten steps."""

STARTS: Final = 1
"""So many states a sequence are starts of imagined steps: set by hand, for the CPU's sake."""


class EpisodeMemory(NamedTuple):
    """What is kept of an episode: the keys of its objects ``[n, width]``, and the recurrent part ``[r]``."""

    keys: Tensor
    recurrent: Tensor


class SequenceLosses(NamedTuple):
    """The losses of one batch of sequences; ``cloning`` is that on demonstrated actions."""

    world: Tensor
    dream: ActorCriticLosses
    cloning: Tensor

    def total(self, cloning: float, dreaming: float = 1.0) -> Tensor:
        """The sum, with the weights of `cloning` and of the actor's part in imagination.

        One backward pass serves all: what is imagined reaches the weights of actor and critic alone.
        """
        return self.world + dreaming * self.dream.actor + self.dream.critic + cloning * self.cloning


class Followed(NamedTuple):
    """Sequences that the world model has followed: of each its surroundings, of each state all else.

    ``nodes`` and ``whole`` are what the encoder made of the states.
    """

    sequences: Sequences
    batch: StateBatch
    nodes: Tensor
    whole: Tensor
    around: Surroundings
    taken: Tensor
    observed: Observed


@final
class Dreamer(AgentBaseline):
    """DreamerV2 on graphs of objects: a recurrent state-space model, and an actor-critic in imagination.

    ``cloning`` is the weight of demonstrated actions beside the other losses; their gradient also
    shapes the world model, and, by one linear layer (``direct``) that is for nothing else, the encoder:
    what tells actions apart is hardly found through sampled latents. 0 is the original.
    While ``exploring``, actions and latents are sampled; else latents are the likeliest, and actions
    as the ``temperature`` says.
    """

    KIND: ClassVar[str] = "dreamer"

    def __init__(self, domain: Domain, shapes: Shapes, types: Sequence[str] | None = None) -> None:
        super().__init__(domain, shapes, types)
        scores = ActionScores(domain, WIDTH, self.encoder.input.node_type)
        self.world = WorldModel(domain, self.encoder, scores, self.shapes)
        self.actor = Actor(scores)
        self.direct = ActionScores(domain, WIDTH, self.encoder.input.node_type)
        self.critic, self.slow_critic = Critic(), Critic()
        self.slow_critic.load_state_dict(self.critic.state_dict())
        self.slow_critic.requires_grad_(False)
        self.cloning = 1.0
        self.exploring = False
        self._memories: dict[int, EpisodeMemory] = {}

    def reset(self) -> None:
        """Other episodes begin."""
        super().reset()
        self._memories.clear()

    def act(self, state: State, goal: str) -> Step | None:
        """The next action of the one episode that is acted in."""
        return self.act_some({0: state}, {0: goal})[0]

    @torch.no_grad()
    def act_some(self, states: Mapping[int, State], goals: Mapping[int, str]) -> dict[int, Step | None]:
        """The next action of each episode; None where there is no action at all."""
        around, latent, logits = self.look(states, goals)
        if not logits.shape[1]:
            return dict.fromkeys(states)
        chosen = self._chosen(logits)
        following = self.world.rssm.advance(latent, around.embedding(chosen))
        self._memories |= {i: EpisodeMemory(around.keys[row], following[row]) for row, i in enumerate(states)}
        steps = self.actor.scores.steps(around.objects, chosen)
        possible = (logits.amax(1) > NEVER).tolist()
        return {i: step if ok else None for i, step, ok in zip(states, steps, possible, strict=True)}

    def _chosen(self, logits: Tensor) -> Tensor:
        """The places of actions ``[s]``: drawn while exploring or at a temperature, else the likeliest."""
        if self.exploring:
            return torch.multinomial(logits.softmax(-1), 1)[:, 0]
        if self.temperature > 0:  # as `decided` draws them
            noise = torch.from_numpy(self._draw.gumbel(size=logits.shape)).to(logits)
            logits = logits / self.temperature + noise
        return logits.argmax(1)

    def look(
        self, states: Mapping[int, State], goals: Mapping[int, str]
    ) -> tuple[Surroundings, LatentState, Tensor]:
        """What is known of each episode once its state is seen, and the scores of its actions ``[s, a]``."""
        batch, trees, goal = self.seen([*states.values()], [goals[i] for i in states])
        nodes, whole = self.encoder(batch, trees, goal)
        seen = self.world.seen(batch, nodes, whole)
        memories = [self._memories.get(i) for i in states]
        keys = [_fitted(m.keys if m else own, nodes.shape[1]) for m, own in zip(memories, nodes, strict=True)]
        around = self.world.surroundings(batch, torch.stack(keys))
        begun = self.world.rssm.begin(seen)
        recurrent = [m.recurrent if m else own for m, own in zip(memories, begun, strict=True)]
        latent = self.world.rssm.observed(torch.stack(recurrent), seen, likeliest=not self.exploring)
        logits = self.actor(around.objects, latent.features, self.actor.reader.keys(around.keys))
        return around, latent, logits

    def examples(self, demonstrations: Demonstrations) -> Array:
        """Where sequences begin: failures are learned from, too."""
        return starts(demonstrations)

    def loss(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """What a step of training lowers, on the sequences that begin at some examples."""
        return self.losses(demonstrations, examples).total(self.cloning)

    def losses(self, demonstrations: Demonstrations, examples: Tensor) -> SequenceLosses:
        """All losses on the sequences that begin at some examples."""
        followed = self.follow(demonstrations, sequences(demonstrations, _on_host(examples), LENGTH))
        rows, success = followed.sequences.sequence, followed.sequences.success
        losses = self.world.losses(
            self.encoder, followed.batch, followed.around.keys[rows], followed.observed, success
        )
        usable = (~success).nonzero()[:, 0]
        some = usable[torch.randperm(len(usable), device=usable.device)[: STARTS * len(examples)]]
        start = followed.observed.latent.detach().select(some)
        around = followed.around.detach().select(rows[some])
        dream = actor_critic_losses(self.world, self.actor, self.critic, self.slow_critic, start, around)
        return SequenceLosses(losses.mean(), dream, self._cloning(demonstrations, followed))

    @torch.no_grad()
    def score(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """Whether the actor's likeliest action is the one shown, along runs that begin at an example."""
        begins = _on_host(examples)
        begins = begins[demonstrations.step[begins] == 0]
        if not len(begins):
            return torch.zeros(0, device=self.device)
        longest = int(np.bincount(demonstrations.run).max())
        followed = self.follow(demonstrations, sequences(demonstrations, begins, longest), likeliest=True)
        at = _shown(demonstrations, followed)
        return (self._logits(followed, at).argmax(1) == followed.taken[at]).float()

    def follow(
        self, demonstrations: Demonstrations, chunk: Sequences, *, likeliest: bool = False
    ) -> Followed:
        """The world model along sequences."""
        batch, trees, goal = demonstrations.states(chunk.examples)
        nodes, whole = self.encoder(batch, trees, goal)
        seen = self.world.seen(batch, nodes, whole)
        around = self.world.surroundings(batch.with_tensors({}).select(chunk.first), nodes[chunk.first])
        taken = self.actor.scores.targets(batch, *demonstrations.actions(chunk.examples))
        observed = self.world.observe(
            around, seen[chunk.grid], taken[chunk.grid], chunk.place, likeliest=likeliest
        )
        return Followed(chunk, batch, nodes, whole, around, taken, observed)

    def _cloning(self, demonstrations: Demonstrations, followed: Followed) -> Tensor:
        """The cross-entropy of the actions that were shown, by the actor and by the encoder's own layer."""
        at = _shown(demonstrations, followed)
        if not len(at):
            return followed.whole.new_zeros(())
        direct = self.direct(followed.batch, followed.nodes, followed.whole).clamp_min(NEVER)
        taken = followed.taken[at]
        return cross_entropy(self._logits(followed, at), taken) + cross_entropy(direct[at], taken)

    def _logits(self, followed: Followed, at: Tensor) -> Tensor:
        """The actor's scores in some of the states."""
        around = followed.around.select(followed.sequences.sequence[at])
        features = followed.observed.latent.features[at]
        logits: Tensor = self.actor(around.objects, features, self.actor.reader.keys(around.keys))
        return logits


def _shown(demonstrations: Demonstrations, followed: Followed) -> Tensor:
    """The rows of the states in which an action was taken that led to the goal."""
    shown = demonstrations.taken & (demonstrations.to_go > 0)
    return demonstrations.dataset.place(np.flatnonzero(shown[_on_host(followed.sequences.examples)]))


def _on_host(examples: Tensor) -> Array:
    found: Array = examples.cpu().numpy()
    return found


def _fitted(keys: Tensor, count: int) -> Tensor:
    """Keys for another number of places: padding, which repeats the first, is added or left out."""
    return torch.cat([keys[:count], keys[:1].expand(max(0, count - len(keys)), -1)])
