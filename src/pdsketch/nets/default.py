"""The default network of a blank, made from its signature alone."""

from __future__ import annotations

import torch
from torch import nn

from pdsketch.nets.signature import Signature


def make(signature: Signature, generator: torch.Generator | None = None) -> nn.Module:
    """A fresh network for the signature; its weights depend on the generator alone."""
    raise NotImplementedError
