"""A Boolean of one code, a vector of ints: each int votes, and the votes are added up.

Few examples settle such a function (*red* is one colour, whatever the type),
while a perceptron of the same inputs learns the examples by heart. Any *and*
and any *or* of values of different ints is a sum of votes; what is not (an
exclusive or) is left to a hidden layer that is dear to use.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.layers import NARROW, linear
from pdsketch.nets.signature import Signature

STRIDE = 10.0
"""How much further a vote moves in one step than a weight does."""

VOTE, HIDDEN = 3.0, 60.0
"""What the votes of one int cost, and the hidden layer, beside an input factor of another network."""


def fits(signature: Signature) -> bool:
    """Whether the signature is a Boolean of one vector of ints with choices."""
    if len(signature.inputs) != 1 or signature.residual is not None:
        return False
    one, output = signature.inputs[0], signature.output
    code = one.spec.is_categorical and len(one.spec.shape) == 1 and not one.is_set
    return code and output.prim == "bool" and output.shape == ()


class Scores(nn.Module):
    """``votes`` ``[ints, choices]``, a bias, and a hidden layer beside them."""

    def __init__(self, signature: Signature, generator: torch.Generator | None) -> None:
        super().__init__()
        spec = signature.inputs[0].spec
        choices = cast(int, spec.choices)
        self.signature = signature
        self.votes = nn.Parameter(torch.zeros(spec.size, choices))
        self.bias = nn.Parameter(torch.zeros(1))
        self.first = linear(spec.size * choices, NARROW, generator)
        self.last = linear(NARROW, 1, generator, zero=True)

    def forward(self, code: Tensor) -> Tensor:
        """``[..., ints, choices]``, one-hot, to ``[..., 1]``."""
        flat = code.flatten(-2)
        hidden = torch.relu(self.first(flat))
        # Of unit length, so that the hidden layer cannot get strong behind the back of its price.
        hidden = nn.functional.layer_norm(hidden, (NARROW,)) / math.sqrt(NARROW)
        sure = STRIDE * (nn.functional.linear(flat, self.votes.reshape(1, -1)) + self.bias)
        return torch.sigmoid(sure + self.last(hidden))

    @torch.no_grad()
    def add_sparsity(self, weight: float) -> None:
        """Add the gradients of ``weight`` times the norm of each int's votes, and of the hidden layer."""
        if self.votes.grad is None or self.last.weight.grad is None:
            return
        norms = (self.votes.square().sum(-1, keepdim=True) + 1e-8).sqrt()
        self.votes.grad.add_(self.votes / norms, alpha=weight * VOTE * STRIDE)
        last = self.last.weight
        self.last.weight.grad.add_(last / (last.norm() + 1e-4), alpha=weight * HIDDEN)
