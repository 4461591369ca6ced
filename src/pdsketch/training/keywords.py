"""The options of `fit`, for type checkers and editors; at run time they are the fields of `Options`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from pdsketch.tensor import TNorm
from pdsketch.training.options import VariableLoss


class FitOptions(TypedDict, total=False):
    """What `fit` takes beside ``steps`` and ``seed``; `Options` says what each means."""

    batch: int
    learning_rate: float
    warmup: float
    weight_decay: float
    clip: float
    goal: float
    transition: float
    lookahead: float
    precondition: float
    horizon: int
    sparsity: float
    rarity: float
    usage: float
    forms: bool
    tnorm: TNorm
    balanced: bool
    variable_loss: VariableLoss
    paper: bool
    latent_gradient: bool
    validation: float | None
    evaluate_every: int
    patience: int | None
    shares: int
    time_limit: float | None
    device: str | None
    resident_gib: float | None
    checkpoint: str | None
    checkpoint_every: int
    resume: bool
    log: str | None
    tensorboard: str | None
    progress: bool
    callback: Callable[..., Any] | None
