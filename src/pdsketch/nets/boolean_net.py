"""A Boolean network: a perceptron over the features of all arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.features import NORM_FLOOR, Argument, Features, membership
from pdsketch.nets.forms import BlankForm
from pdsketch.nets.layers import WIDTH, linear
from pdsketch.nets.signature import Signature


class BooleanNet(nn.Module):
    """Two hidden layers; at first as true as false. ``form``: the simple function that answers in its place;
    ``rivals``: others that explain as much, and differ where nothing was seen.
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
        self.last = linear(WIDTH, 1, generator, zero=True)

    def forward(self, *args: Argument) -> Tensor:
        """The truth ``[..., 1]``."""
        if self.form is not None:
            return cast(Tensor, self.form(*args))
        features = self.features
        singles = features.values(args)
        parts = [*features.alone(singles), *features.between(singles)]
        hidden = features.whole(parts, args, features.elements(args))
        return torch.sigmoid(cast(Tensor, self.last(torch.relu(self.second(torch.relu(self.first(hidden)))))))

    def add_sparsity(self, weight: float) -> None:
        """Add the price of its factors to the gradients."""
        add_group_lassos([self], weight)


@torch.no_grad()
def add_group_lassos(networks: Sequence[BooleanNet], weight: float) -> None:
    """Add, for networks of one signature, ``weight`` times the norms of all factors' weights.

    Nothing is added where nothing was learned.
    """
    firsts = [network.first.weight for network in networks if network.first.weight.grad is not None]
    if firsts:
        member = cast(Tensor, networks[0].member)
        whole = torch.stack(firsts)
        shrink = (whole.square().sum(1) @ member + NORM_FLOOR).rsqrt() @ member.T
        price = whole * (weight * shrink).unsqueeze(1)
        torch._foreach_add_([cast(Tensor, first.grad) for first in firsts], list(price.unbind()))
