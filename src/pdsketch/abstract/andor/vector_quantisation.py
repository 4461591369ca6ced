"""A layer of vector quantisation behind networks, while they are trained on (van den Oord et al., 2017)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, cast, final

import torch
from torch import Tensor, nn

COMMITMENT: Final = 0.25
"""How much values are drawn to their codes; van den Oord's."""

DECAY: Final = 0.99
"""Of the moving averages that codes are, as in van den Oord's appendix."""


class _StraightThrough(torch.autograd.Function):
    """The code in the place of a value; the gradient passes as if nothing had been replaced.

    It also draws values to their codes: the gradient of the commitment loss, a mean square in units of the
    codes' variance.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, codes: Tensor, variance: float) -> Tensor:
        ctx.save_for_backward((values - codes) / variance)
        return codes.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (off,) = ctx.saved_tensors
        return gradient + 2 * COMMITMENT / max(1, off.numel()) * off, None, None


@final
class QuantisationLayer:
    """Replaces values of one type by the nearest of some codes, which follow the values."""

    def __init__(self, codes: Tensor) -> None:
        self.codes = codes
        self._counts = torch.ones(len(codes), device=codes.device)
        self._sums = codes.clone()
        self._variance = max(float(codes.var(0, correction=0).mean()), 1e-12)

    def __call__(self, network: nn.Module, _given: object, values: Tensor) -> Tensor:
        """What a hook of a network returns in the place of its result."""
        flat = values.reshape(-1, self.codes.shape[1])
        nearest = torch.cdist(flat.detach(), self.codes).argmin(1)
        chosen = self.codes[nearest].reshape(values.shape)
        if network.training and torch.is_grad_enabled():
            self._follow(flat.detach(), nearest)
        return cast(Tensor, _StraightThrough.apply(values, chosen, self._variance))  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def _follow(self, values: Tensor, nearest: Tensor) -> None:
        """Move codes to the mean of what they stand for, as a moving average."""
        members = nn.functional.one_hot(nearest, len(self.codes)).to(values)
        self._counts = DECAY * self._counts + (1 - DECAY) * members.sum(0)
        self._sums = DECAY * self._sums + (1 - DECAY) * members.T @ values
        self.codes = self._sums / self._counts.clamp(min=1e-6).unsqueeze(1)


@contextmanager
def quantised(
    layers: Mapping[str, QuantisationLayer], networks: Mapping[str, Iterable[nn.Module]]
) -> Iterator[None]:
    """Within, the results of the networks of each type go through its layer."""
    with ExitStack() as stack:
        for name, layer in layers.items():
            for network in networks[name]:
                stack.callback(network.register_forward_hook(layer).remove)
        yield
