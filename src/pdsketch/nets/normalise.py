"""Inputs of any scale: their mean and spread, recorded once from data and fixed from then on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

CONSTANT_VARIANCE = 1e-10
"""A number whose variance is no more than this part of its square never varies, but for rounding."""


class Normalise(nn.Module):
    """``(x − mean) / spread`` over the last axis, the identity until `recording` has seen data.

    The statistics are buffers, saved with the weights. They never change while
    training, so that a prediction does not depend on what else is in its batch.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("spread", torch.ones(size))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.recording = False
        self._moments: tuple[Tensor, Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """The input with about zero mean and unit spread.

        While recording, by what was recorded so far: what others record behind it is then what they will get.
        """
        if self.recording and x.numel():
            self._record(x.detach())
            mean, spread = self._so_far()
            return (x - mean.to(x)) / spread.to(x)
        return (x - cast(Tensor, self.mean)) / cast(Tensor, self.spread)

    def _record(self, x: Tensor) -> None:
        rows = x.reshape(-1, x.shape[-1]).double()
        count = torch.tensor(float(len(rows)), dtype=torch.float64, device=x.device)
        moments = (count, rows.sum(0), rows.square().sum(0))
        if self._moments is not None:
            moments = cast(
                "tuple[Tensor, Tensor, Tensor]",
                tuple(a + b for a, b in zip(self._moments, moments, strict=True)),
            )
        self._moments = moments

    def _so_far(self) -> tuple[Tensor, Tensor]:
        """The mean and the spread of what was recorded."""
        assert self._moments is not None
        count, total, squares = self._moments
        mean = total / count
        variance = (squares / count - mean.square()).clamp_min(0.0)
        # A dimension that never varies says nothing; it is left at its own scale.
        varies = variance > CONSTANT_VARIANCE * (1.0 + mean.square())
        return mean, torch.where(varies, variance.sqrt(), torch.ones_like(mean))

    def settle(self) -> None:
        """Take over what was recorded, if anything was."""
        if self._moments is not None and self._moments[0] > 0:
            mean, spread = self._so_far()
            cast(Tensor, self.mean).copy_(mean)
            cast(Tensor, self.spread).copy_(spread)
            cast(Tensor, self.seen).fill_(int(self._moments[0]))
        self._moments = None


@contextmanager
def recording(module: nn.Module) -> Iterator[bool]:
    """Within, every `Normalise` that has seen nothing yet records its inputs; afterwards it uses them.

    Yields whether there is anything to record: networks that were trained
    before keep the statistics with which they were trained.
    """
    fresh = [m for m in module.modules() if isinstance(m, Normalise) and not int(cast(Tensor, m.seen))]
    for one in fresh:
        one.recording = True
    try:
        yield bool(fresh)
    finally:
        for one in fresh:
            one.recording = False
            one.settle()
