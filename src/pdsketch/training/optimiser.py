"""How a step of a fit is made: AdamW, and gradients of a bounded norm."""

from __future__ import annotations

from inspect import unwrap
from typing import Any, final

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


@torch.no_grad()
def clip(parameters: list[Any], most: float) -> None:
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
