"""A batch in shares, which several processes work on: each sums up gradients, and all make the same step.

The loss of a batch is the mean of its shares' losses, whoever computes them. So a fit in N processes is the
fit of one process with as many shares, up to the order of summation. All processes hold all data and all
weights; one of them, which leads, writes files and shows progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import torch
import torch.distributed as dist
from torch import Tensor

from pdsketch.lang import error
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.loss_means import LossMeans


@final
class Shares:
    """Which shares of each batch are this process's, and what the processes tell each other."""

    def __init__(self, count: int, device: torch.device) -> None:
        together = count > 1 and dist.is_available() and dist.is_initialized()
        self.count = count
        self.rank = dist.get_rank() if together else 0
        self.processes = dist.get_world_size() if together else 1
        self._device = device
        if count % self.processes:
            raise error(
                "bad-option",
                f"{count} shares cannot be dealt out to {self.processes} processes",
                help=f"make `shares` a multiple of {self.processes}",
            )

    @property
    def leads(self) -> bool:
        """Whether this process writes files."""
        return self.rank == 0

    def of(self, batch: Array) -> list[Array]:
        """The shares of a batch that this process computes; each holds its part of every stratum."""
        if self.count == 1:
            return [batch]
        shares = [batch[at :: self.count] for at in range(self.rank, self.count, self.processes)]
        return [share for share in shares if len(share)]

    def begin(self, parameters: list[Any]) -> None:
        """All begin with the weights of the process that leads."""
        if self.processes > 1:
            for parameter in parameters:
                dist.broadcast(parameter.detach(), 0)

    @torch.no_grad()
    def add_up(self, parameters: list[Any], *, stop: bool) -> bool:
        """Add up the gradients of all processes; whether any of them wants to stop.

        A parameter that no share reaches stays without a gradient.
        """
        if self.processes == 1:
            return stop
        flags = [float(p.grad is not None) for p in parameters] + [float(stop)]
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        told = torch.cat([torch.tensor(flags, device=self._device), *(part.reshape(-1) for part in parts)])
        dist.all_reduce(told)
        reached, rest = told[: len(parameters)].tolist(), told[len(flags) :]
        for parameter, some in zip(parameters, reached, strict=True):
            own, rest = rest[: parameter.numel()], rest[parameter.numel() :]
            parameter.grad = own.reshape(parameter.shape).clone() if some else None
        return bool(told[len(parameters)] > 0)

    def means(self, found: LossMeans, names: Mapping[str, Any]) -> LossMeans:
        """The loss terms of all processes."""
        if self.processes == 1:
            return found
        zero = torch.zeros((), dtype=torch.float64, device=self._device)
        sums = [torch.as_tensor(found.sums.get(name, zero), device=self._device).double() for name in names]
        counts = [float(found.counts.get(name, 0)) for name in names]
        told = torch.stack([*sums, *torch.tensor(counts, dtype=torch.float64, device=self._device)])
        dist.all_reduce(told)
        each: list[Tensor] = list(told)
        number = {name: int(n) for name, n in zip(names, each[len(sums) :], strict=True)}
        total = dict(zip(names, each, strict=False))
        return LossMeans(
            {n: total[n] for n in names if number[n]}, {n: number[n] for n in names if number[n]}
        )
