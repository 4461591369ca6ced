"""A latent world model of episodes: a recurrent state-space model, what is read from it, and its losses."""

from __future__ import annotations

from math import prod
from typing import Any, Final, NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, elu, linear

from pdsketch.lang import Domain, ObjectType
from pdsketch.tensor import StateBatch, is_categorical, presented
from pdsketch_paper.baselines.actions import ActionScores
from pdsketch_paper.baselines.graph import (
    PAIR_WIDTH,
    WIDTH,
    GraphEncoder,
    GraphInput,
    Presented,
    along,
    feature_width,
    shared_type,
)

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
            found.append(LatentState(recurrent, straight_through(logits, noise), logits))
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


def straight_through(logits: Tensor, noise: Tensor | None) -> Tensor:
    """A one-hot sample by `gumbel` noise, or the likeliest class; its gradient is that of its probabilities.

    After Bengio et al. (2013).
    """
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
    return LatentState(recurrent, straight_through(logits, None if likeliest else gumbel(logits)), logits)


def _by_variable(flat: Tensor) -> Tensor:
    return flat.reshape(*flat.shape[:-1], VARIABLES, CLASSES)


@final
class ObjectReader(nn.Module):
    """Latent states and keys of objects → a vector for each object, and one for the whole."""

    def __init__(self) -> None:
        super().__init__()
        self.key = nn.Linear(WIDTH, WIDTH)
        self.latent = nn.Linear(LATENT, WIDTH, bias=False)
        self.inner = nn.Sequential(nn.ELU(), nn.Linear(WIDTH, WIDTH), nn.ELU())
        self.whole = nn.Sequential(nn.Linear(LATENT + WIDTH, WIDTH), nn.ELU())

    def keys(self, keys: Tensor) -> Tensor:
        """The part that depends on keys ``[s, n, width]`` alone: the same at all times."""
        part: Tensor = self.key(keys)
        return part

    def forward(self, features: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes ``[…, s, n, width]`` and wholes ``[…, s, width]``, by features ``[…, s, LATENT]``.

        ``keys`` are what `keys` returned.
        Where a batch is padded, the first object stands again, which changes no maximum.
        """
        nodes = self.inner(self.latent(features)[..., None, :] + keys)
        return nodes, self.whole(torch.cat([features, nodes.max(-2).values], -1))


@final
class SeenState(nn.Module):
    """What is seen as one vector: the encoder's, and the maximum over the objects of each type.

    So the vector of an object that is alone of its type, a robot's, is seen as it is.
    """

    def __init__(self, domain: Domain, nodes: ObjectType) -> None:
        super().__init__()
        shared = [shared_type(domain, ObjectType((name,)), nodes) for name in domain.hierarchy.names]
        below = {type_: domain.hierarchy.descendants(type_.names) for type_ in shared if type_ is not None}
        self.types = tuple({frozenset(names): type_ for type_, names in below.items()}.values())
        self.nodes = nodes
        self.join = nn.Sequential(nn.Linear(WIDTH * (1 + len(self.types)), WIDTH), nn.ELU())

    def forward(self, batch: StateBatch, nodes: Tensor, whole: Tensor) -> Tensor:
        """``[s, width]``, by what the encoder returned."""
        parts = [whole]
        for type_ in self.types:
            if not batch.count(type_):
                parts.append(torch.zeros_like(whole))
                continue
            most = along(batch, nodes, 1, type_, self.nodes).amax(1)
            mask = batch.mask(type_)
            parts.append(most if mask is None else most * mask.any(1, keepdim=True))
        seen: Tensor = self.join(torch.cat(parts, -1))
        return seen


@final
class ActionEmbeddings(nn.Module):
    """An embedding for each ground action, in the order of `ActionScores`."""

    def __init__(self, scores: ActionScores, width: int) -> None:
        super().__init__()
        self.types, self.nodes = scores.types, scores.nodes
        self.names = nn.Embedding(len(self.types), width)
        self.objects = nn.ModuleList(nn.Linear(WIDTH, max(1, len(types)) * width) for types in self.types)
        self.width = width

    def forward(self, batch: StateBatch, keys: Tensor) -> Tensor:
        """``[s, ground actions, width]``: the sum of the embeddings of the name and of each argument."""
        found = []
        for i, types in enumerate(self.types):
            embedded = self.names.weight[i].expand(len(keys), *(1,) * len(types), -1)
            for at, type_ in enumerate(types):
                objects = self.objects[i](along(batch, keys, 1, type_, self.nodes))
                part = objects.unflatten(-1, (len(types), self.width))[:, :, at]
                shape = [1] * len(types)
                shape[at] = part.shape[1]
                embedded = embedded + part.reshape(len(keys), *shape, self.width)
            found.append(embedded.flatten(1, -2) if types else embedded[:, None])
        return torch.cat(found, 1)


@final
class PredicateDecoder(nn.Module):
    """One predicate: a Bernoulli, categorical, or normal distribution of unit variance for each value."""

    def __init__(self, part: Presented, shape: tuple[int, ...], nodes: ObjectType) -> None:
        super().__init__()
        self.predicate, self.nodes = part.predicate, nodes
        self.arity = len(part.predicate.parameters)
        size = prod(shape) if part.pictures else feature_width(part.predicate, shape)
        if self.arity == 2:
            self.first = nn.Linear(WIDTH, PAIR_WIDTH)
            self.second = nn.Linear(WIDTH, PAIR_WIDTH, bias=False)
        self.out = nn.Linear(PAIR_WIDTH if self.arity == 2 else WIDTH, size)

    def forward(self, batch: StateBatch, part: Presented, nodes: Tensor, whole: Tensor) -> Tensor:
        """The negative log-likelihood of what the batch holds, summed over objects ``[s]``."""
        values = batch.tensor(self.predicate.name)
        objects, mask = [], torch.ones((batch.size, *(1,) * self.arity), device=whole.device)
        for axis, outer in enumerate(self.predicate.object_types, start=1):
            inner = shared_type(batch.domain, outer, self.nodes)
            if inner is None or not batch.count(inner):
                return whole.new_zeros(batch.size)
            values = along(batch, values, axis, inner, outer)
            objects.append(along(batch, nodes, 1, inner, self.nodes))
            real = batch.mask(inner)
            if real is not None:
                shape = [-1, *(1,) * self.arity]
                shape[axis] = real.shape[1]
                mask = mask * real.reshape(shape)
        surprise = self._surprise(part, values, self._outputs(objects, whole))
        found: Tensor = (surprise * mask).reshape(batch.size, -1).sum(1)
        return found

    def _outputs(self, objects: list[Tensor], whole: Tensor) -> Tensor:
        if self.arity == 2:
            pairs = self.first(objects[0])[:, :, None] + self.second(objects[1])[:, None]
            found: Tensor = self.out(nn.functional.elu(pairs))
            return found
        found = self.out(objects[0] if self.arity else whole)
        return found

    def _surprise(self, part: Presented, values: Tensor, outputs: Tensor) -> Tensor:
        """Of each value, its features summed ``[s, *objects]``."""
        leading, type_ = 1 + self.arity, self.predicate.type
        if part.pictures:
            return 0.5 * (part.scaled(values).flatten(leading) - outputs).square().sum(-1)
        features = presented(values, type_, leading).flatten(leading)
        if type_.prim == "bool":
            return binary_cross_entropy_with_logits(outputs, features, reduction="none").sum(-1)
        if is_categorical(type_):
            logits = outputs.reshape(*outputs.shape[:-1], -1, type_.choices or 1)
            return -(features.reshape(logits.shape) * logits.log_softmax(-1)).sum((-2, -1))
        return 0.5 * ((features - part.mean) / part.scale - outputs).square().sum(-1)


@final
class GraphDecoder(nn.Module):
    """All predicates that the encoder reads."""

    def __init__(self, graph: GraphInput, shapes: dict[str, tuple[int, ...]]) -> None:
        super().__init__()
        parts = [part for part in graph.presented if isinstance(part, Presented)]
        self.predicates = nn.ModuleList(
            PredicateDecoder(part, shapes[part.predicate.name], graph.node_type) for part in parts
        )

    def forward(self, batch: StateBatch, graph: GraphInput, nodes: Tensor, whole: Tensor) -> Tensor:
        """The negative log-likelihood of states ``[s]``, by vectors of objects and of the whole."""
        total = whole.new_zeros(batch.size)
        for decoder, part in zip(self.predicates, graph.presented, strict=True):
            total = total + decoder(batch, part, nodes, whole)
        return total


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
