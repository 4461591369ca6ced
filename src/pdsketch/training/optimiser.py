"""How steps of a fit are made: AdamW, gradients of a bounded norm, and schedules."""

from __future__ import annotations

import math
from inspect import unwrap
from typing import Any, Final, final

import torch
from torch import nn
from torch.optim import Optimizer

from pdsketch.training.options import Options


@final
class AdamW(torch.optim.AdamW):
    """torch's, which without this imports its compiler: that takes longer than a small fit."""

    add_param_group = unwrap(Optimizer.add_param_group)
    zero_grad = unwrap(Optimizer.zero_grad)
    state_dict = unwrap(Optimizer.state_dict)
    load_state_dict = unwrap(Optimizer.load_state_dict)
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


MOST_NORM: Final = 10.0
"""Gradients of a larger norm are scaled down to it: a rare one does not throw a fit off its course."""


@torch.no_grad()
def clip(parameters: list[Any], most: float = MOST_NORM) -> None:
    """Scale all gradients down where their norm is more than ``most``."""
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return
    if grads[0].device.type != "cpu":
        nn.utils.clip_grad_norm_(parameters, most, foreach=True)
        return
    norm = float(torch.linalg.vector_norm(torch.cat([grad.reshape(-1) for grad in grads])))
    if not norm <= most:
        torch._foreach_mul_(grads, most / (norm + 1e-6))


def make_optimiser(parameters: list[Any], options: Options) -> torch.optim.Optimizer:
    """AdamW; what is not a matrix (biases, constants) does not decay."""
    matrices = [p for p in parameters if p.dim() > 1]
    others = [p for p in parameters if p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": options.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    fused = all(p.dtype == torch.float32 for p in parameters)
    chosen = [g for g in groups if g["params"]] or [{"params": [torch.zeros(1, requires_grad=True)]}]
    return AdamW(chosen, lr=options.learning_rate, fused=fused)


# -- schedules: the learning rate, and doubt in encodings ----------------------------------

WARMUP: Final = 0.05
"""The part of the steps in which the learning rate rises."""

LAST_RATE: Final = 0.01
"""The learning rate ends at this part of its peak; set by hand."""

DECIDED: Final = 0.6
"""The part of the steps by which it is decided which code of an encoding stands for what; set by hand."""


def learning_rate(step: int, steps: int) -> float:
    """The part of the peak rate: linear warm-up, then a cosine down (Loshchilov and Hutter, 2017)."""
    warm = max(1, round(WARMUP * steps))
    if step < warm:
        return (step + 1) / warm
    done = (step - warm) / max(1, steps - warm)
    return LAST_RATE + (1.0 - LAST_RATE) * 0.5 * (1.0 + math.cos(math.pi * done))


def doubt(step: int, steps: int) -> float:
    """How little is known yet of what encodings mean: from 1 at the first step to 0 where it is `DECIDED`."""
    return max(0.0, 1.0 - step / max(1.0, DECIDED * steps))
