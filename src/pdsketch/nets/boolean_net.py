"""Perceptrons over the features of all arguments; for truths there is nothing beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.features import NORM_FLOOR, Argument, Features, membership
from pdsketch.nets.forms import BlankForm
from pdsketch.nets.layers import WIDTH, linear
from pdsketch.nets.normalise import Normalise
from pdsketch.nets.signature import Signature


class Perceptron(nn.Module):
    """Two hidden layers. ``form``: the simple function that answers in its place; ``rivals``: others that
    explain as much, and differ where nothing was seen.
    """

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__()
        self.signature = signature
        self.form: BlankForm | None = None
        self.rivals: tuple[BlankForm, ...] = ()
        self.features = Features(signature, generator)
        self.register_buffer("member", membership(self.features.factors), persistent=False)
        self.first = linear(sum(self.features.factors), WIDTH, generator)
        self.second = linear(WIDTH, WIDTH, generator)

    @property
    def reading(self) -> list[Tensor]:
        """The weights of the layers that read the features."""
        return [self.first.weight]

    def hidden(self, features: Tensor) -> Tensor:
        """What the last layer gets."""
        return torch.relu(self.second(torch.relu(self.first(features))))


class BooleanNet(Perceptron):
    """At first as true as false."""

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__(signature, generator)
        self.last = linear(WIDTH, 1, generator, zero=True)

    def forward(self, *args: Argument) -> Tensor:
        """The truth ``[..., 1]``."""
        if self.form is not None:
            return cast(Tensor, self.form(*args))
        features = self.features
        singles = features.values(args)
        parts = [*features.alone(singles), *features.between(singles)]
        whole = features.whole(parts, args, features.elements(args))
        return torch.sigmoid(cast(Tensor, self.last(self.hidden(whole))))


def is_free(network: BooleanNet) -> bool:
    """Whether a network speaks for itself, and nobody watches or records what it is given."""
    if network.form is not None or network._forward_hooks or network._forward_pre_hooks:
        return False
    return not any(part.recording for part in network.modules() if isinstance(part, Normalise))


@torch.no_grad()
def add_group_lassos(networks: Sequence[Perceptron], weight: float) -> None:
    """Add to the gradients, for networks of one signature, that of ``weight`` times the norms of all factors.

    Nothing is added where nothing was learned: a network that no example reached stays as it is.
    """
    layers = [one.reading for one in networks if all(own.grad is not None for own in one.reading)]
    if layers:
        member = cast(Tensor, networks[0].member)
        every = [torch.stack(own) for own in zip(*layers, strict=True)]
        squares = torch.stack([own.square().sum(1) for own in every]).sum(0)
        shrink = (weight * (squares @ member + NORM_FLOOR).rsqrt() @ member.T).unsqueeze(1)
        for own, whole in zip(zip(*layers, strict=True), every, strict=True):
            torch._foreach_add_([cast(Tensor, one.grad) for one in own], list((whole * shrink).unbind()))
