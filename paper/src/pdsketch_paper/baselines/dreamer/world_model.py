"""The world model: latent states of sequences, and what they say of values, success and the end."""

from __future__ import annotations

from typing import Final, NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from pdsketch.lang import Domain
from pdsketch.tensor import StateBatch
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.dreamer.decoder import GraphDecoder
from pdsketch_paper.baselines.dreamer.reading import ActionEmbeddings, ObjectReader, SeenState
from pdsketch_paper.baselines.dreamer.rssm import RSSM, LatentState, balanced_kl
from pdsketch_paper.baselines.encoder import WIDTH, GraphEncoder

ACTION_WIDTH: Final = 32
"""Numbers in the embedding of a ground action; set by hand."""

KL_SCALE: Final = 0.1
"""The weight of the KL divergence beside log-likelihoods: DreamerV2's for Atari."""


class Surroundings(NamedTuple):
    """What stays the same in an episode.

    Which objects there are (``objects`` holds no values), their keys ``[s, n, width]``, and the embeddings
    of ground actions ``[s, a, width]``.
    """

    objects: StateBatch
    keys: Tensor
    actions: Tensor

    def select(self, rows: Tensor) -> Surroundings:
        """Those of some rows; one may occur more than once."""
        return Surroundings(
            self.objects.select(rows), self.keys.index_select(0, rows), self.actions.index_select(0, rows)
        )

    def detach(self) -> Surroundings:
        """The same without their history."""
        return Surroundings(self.objects, self.keys.detach(), self.actions.detach())

    def embedding(self, places: Tensor) -> Tensor:
        """The embeddings of the ground actions at some places ``[s]`` among the scores."""
        return self.actions[torch.arange(len(places), device=places.device), places]


class Observed(NamedTuple):
    """Latent states of sequences, a row for each state, and the logits of their priors."""

    latent: LatentState
    prior: Tensor


@final
class WorldModel(nn.Module):
    """Latent dynamics, and its readings."""

    def __init__(
        self,
        domain: Domain,
        encoder: GraphEncoder,
        scores: ActionScores,
        shapes: dict[str, tuple[int, ...]],
    ) -> None:
        super().__init__()
        self.rssm = RSSM(WIDTH, ACTION_WIDTH)
        self.seen = SeenState(domain, scores.nodes)
        self.actions = ActionEmbeddings(scores, ACTION_WIDTH)
        self.reader = ObjectReader()
        self.decoder = GraphDecoder(encoder.input, shapes)
        self.reward = nn.Linear(WIDTH, 1)
        self.continues = nn.Linear(WIDTH, 1)

    def surroundings(self, batch: StateBatch, keys: Tensor) -> Surroundings:
        """What stays the same, by first states and the vectors of their objects."""
        return Surroundings(batch.with_tensors({}), keys, self.actions(batch, keys))

    def observe(
        self, around: Surroundings, seen: Tensor, taken: Tensor, rows: Tensor, *, likeliest: bool = False
    ) -> Observed:
        """Latent states along sequences, by ``seen`` ``[t, b, width]`` and the actions' places ``[t, b]``.

        ``rows`` says which of the ``t · b`` states are wanted.
        """
        actions = around.actions[torch.arange(seen.shape[1], device=taken.device), taken[:-1]]
        followed = self.rssm.follow(seen, actions, likeliest=likeliest)
        latent = LatentState(*(part.flatten(0, 1) for part in followed)).select(rows)
        return Observed(latent, self.rssm.expected(latent.recurrent))

    def readings(self, features: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """The probabilities of a reward, and that the episode goes on, by features ``[…, s, LATENT]``."""
        _, whole = self.reader(features, self.reader.keys(keys))
        return self.reward(whole)[..., 0].sigmoid(), self.continues(whole)[..., 0].sigmoid()

    def losses(
        self, encoder: GraphEncoder, batch: StateBatch, keys: Tensor, observed: Observed, success: Tensor
    ) -> Tensor:
        """For each state, the negative evidence lower bound with a weighted KL divergence ``[s]``."""
        features = observed.latent.features
        nodes, whole = self.reader(features, self.reader.keys(keys))
        surprise: Tensor = self.decoder(batch, encoder.input, nodes, whole)
        held = success.to(features.dtype)
        reward = binary_cross_entropy_with_logits(self.reward(whole)[:, 0], held, reduction="none")
        goes_on = binary_cross_entropy_with_logits(self.continues(whole)[:, 0], 1 - held, reduction="none")
        kl = balanced_kl(observed.latent.logits, observed.prior)
        return surprise + reward + goes_on + KL_SCALE * kl
