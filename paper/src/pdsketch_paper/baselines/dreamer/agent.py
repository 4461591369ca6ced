"""The agent: a world model of latent states, and an actor that was trained in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple, final

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from pdsketch.lang import Domain, Step
from pdsketch.tensor import State, StateBatch
from pdsketch.training import Array
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.demonstrations import Demonstrations
from pdsketch_paper.baselines.dreamer.actor_critic import (
    NEVER,
    Actor,
    ActorCriticLosses,
    Critic,
    actor_critic_losses,
)
from pdsketch_paper.baselines.dreamer.rssm import LatentState
from pdsketch_paper.baselines.dreamer.sequences import Sequences, sequences, starts
from pdsketch_paper.baselines.dreamer.world_model import Observed, Surroundings, WorldModel
from pdsketch_paper.baselines.encoder import WIDTH
from pdsketch_paper.baselines.graph import Shapes
from pdsketch_paper.baselines.network import AgentBaseline

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
