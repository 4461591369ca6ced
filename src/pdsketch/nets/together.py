"""Boolean networks of one signature evaluated as one: weights side by side, one batched product a layer.

Many blanks of a sketch are of one kind (*red*, *green*, *box*, *open*, each of
an object's code). Alone, each is a dozen small operations, and their number is
what a step on few examples costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import cast, final

import torch
from torch import Tensor, nn

from pdsketch.nets.boolean_net import BooleanNet
from pdsketch.nets.encode import Flat
from pdsketch.nets.normalise import Normalise

_BUFFERS = ("mean", "spread")
"""What networks of one signature do not share, beside their weights."""

Shared = dict["Together", tuple[list[BooleanNet], list[Tensor]]]
"""Weights side by side, for as long as nobody changes them."""


def can_join(network: nn.Module | None) -> bool:
    """Whether others of its signature may be evaluated with a network: not if it reads sets or images."""
    if type(network) is not BooleanNet or network.features.pools:
        return False
    return all(isinstance(encoder, Flat) for encoder in network.features.encoders.values())


def is_free(network: BooleanNet) -> bool:
    """Whether a network speaks for itself, and nobody watches or records what it is given."""
    if network.form is not None or network._forward_hooks or network._forward_pre_hooks:
        return False
    return not any(part.recording for part in _statistics(network))


def _statistics(network: BooleanNet) -> list[Normalise]:
    """The parts of a network that hold what it knows of its inputs."""
    features = network.features
    parts = (*features.encoders.values(), *features.relations)
    return [cast(Normalise, part.normalise) for part in parts if part.normalise is not None]


@final
class Together:
    """Evaluates networks of one signature on one another's behalf; gradients reach each one's own weights."""

    def __init__(self, like: BooleanNet) -> None:
        self.signature = like.signature
        # A network like each of them, whose weights are put in at every call.
        self._frame = deepcopy(like)
        self._frame.train()
        self._slots = _emptied(self._frame)
        self._statistics = _statistics(self._frame)
        for part in self._statistics:
            part.recording = False  # the network may be recording by now, its frame never does
            for name in _BUFFERS:
                del part._buffers[name]
        self._weights: dict[BooleanNet, list[Tensor]] = {}

    def __call__(self, networks: Sequence[BooleanNet], args: Sequence[Tensor], shared: Shared) -> Tensor:
        """The truth ``[network, n, 1]`` for arguments ``[network or 1, n, *axes]``."""
        stacked = self._stacked(networks, shared)
        for (module, name), weights in zip(self._slots, stacked, strict=True):
            module.__dict__[name] = weights
        if self._statistics:
            each = zip(*(_statistics(network) for network in networks), strict=True)
            for part, own in zip(self._statistics, each, strict=True):
                for name in _BUFFERS:
                    part.__dict__[name] = torch.stack([getattr(one, name) for one in own]).unsqueeze(1)
        try:
            return cast(Tensor, self._frame(*args))
        finally:
            for module, name in self._slots:
                module.__dict__.pop(name, None)

    def _stacked(self, networks: Sequence[BooleanNet], shared: Shared) -> list[Tensor]:
        """The weights of all networks side by side.

        The first call with ``shared`` leaves them there for the others, which ask fewer networks or the same.
        """
        known = shared.get(self)
        if known is not None and known[0] == networks:
            return known[1]
        if known is not None and all(network in known[0] for network in networks):
            at = torch.tensor([known[0].index(network) for network in networks])
            return [weights.index_select(0, at.to(weights.device)) for weights in known[1]]
        every = zip(*(self._weights_of(network) for network in networks), strict=True)
        found = [torch.stack(weights) for weights in every]
        shared[self] = list(networks), found
        return found

    def _weights_of(self, network: BooleanNet) -> list[Tensor]:
        found = self._weights.get(network)
        if found is None:
            found = self._weights[network] = list(network.parameters())
        return found


def _emptied(network: BooleanNet) -> list[tuple[nn.Module, str]]:
    """Where the weights of a network belong, in the order of its parameters; they are taken out."""
    slots = []
    for path, _ in list(network.named_parameters()):
        owner, _, name = path.rpartition(".")
        module = network.get_submodule(owner)
        slots.append((module, name))
        del module._parameters[name]
    return slots
