"""A fit under way ↔ its checkpoint."""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from pdsketch.training.checkpoint import (
    Checkpoint,
    FitProgress,
    OverwriteWarning,
    load_checkpoint,
    moments_of,
    restore_moments,
    save_checkpoint,
)

if TYPE_CHECKING:
    from pdsketch.training.trainer import Trainer


def save(trainer: Trainer) -> None:
    """Write the checkpoint of a fit that has one."""
    if trainer.options.checkpoint is None or not trainer.shares.leads:
        return
    stopping = trainer.stopping
    facts = FitProgress(
        step=trainer.step,
        history=trainer.history,
        sums={name: float(total) for name, total in trainer.means.sums.items()},
        counts=trainer.means.counts,
        best_loss=None if math.isinf(stopping.best_loss) else stopping.best_loss,
        waited=stopping.waited,
        round=trainer.rounds.round,
        began=trainer.rounds.began,
    )
    moments = moments_of(trainer.model, trainer.optimiser)
    found = Checkpoint(
        trainer.model.state_dict(), moments, stopping.best, trainer.rounds.first, trainer.rounds.kept, facts
    )
    save_checkpoint(trainer.options.checkpoint, found, trainer.setup)


def resume(trainer: Trainer) -> bool:
    """Take over the checkpoint, if there is one and it was asked for."""
    path = trainer.options.checkpoint
    if path is None:
        return False
    if not trainer.options.resume:
        if Path(path).exists():
            message = f"{path} holds a checkpoint, which is written over: `resume` goes on from it"
            warnings.warn(message, OverwriteWarning, stacklevel=4)
        return False
    found = load_checkpoint(path, trainer.model, trainer.setup)
    if found is None:
        _say(trainer, f"nothing to resume: there is no {path}")
        return False
    _restore(trainer, found)
    _say(trainer, f"resumes {path}, at step {trainer.step} of {trainer.options.steps}")
    return True


def _restore(trainer: Trainer, found: Checkpoint) -> None:
    device, facts = trainer.training.dataset.device, found.facts
    trainer.model.load_state_dict(dict(found.weights))
    restore_moments(trainer.model, trainer.optimiser, found.moments)
    trainer.step = trainer.resumed = facts.step
    trainer.history = list(facts.history)
    trainer.means.sums = {
        name: torch.tensor(total, dtype=torch.float64, device=device) for name, total in facts.sums.items()
    }
    trainer.means.counts = dict(facts.counts)
    trainer.stopping.best_loss = math.inf if facts.best_loss is None else facts.best_loss
    trainer.stopping.waited = facts.waited
    trainer.stopping.best = {name: t.to(device) for name, t in found.best.items()}
    trainer.rounds.first = {name: t.to(device) for name, t in found.first.items()}
    trainer.rounds.round, trainer.rounds.began = facts.round, facts.began
    if found.kept:
        trainer.rounds.restore({name: t.to(device) for name, t in found.kept.items()})


def _say(trainer: Trainer, message: str) -> None:
    if trainer.options.progress:
        sys.stderr.write(f"fit: {message}\n")
        sys.stderr.flush()
