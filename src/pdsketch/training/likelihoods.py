"""How far predictions are from what came about, variable by variable, and their means over a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from pdsketch.lang import Predicate
from pdsketch.tensor import fully_soft, is_categorical

LOG_MARGIN = 1e-6
"""Truth values are clamped this far from 0 and 1 before a logarithm: the least that float32 tells from 1."""

LOG_FLOOR = 1e-12
"""Added to probabilities before their logarithm: far below the error of a confident and wrong network, which
thereby keeps its gradient."""

HUBER_WIDTH = 0.01
"""Errors of numbers are quadratic below this part of their scale (a smooth L1): they reach 0. Set by hand."""


def unlikelihood(found: Tensor, target: Tensor, predicate: Predicate, scale: Tensor | None) -> Tensor:
    """The negative log-likelihood of each ground variable's value ``[row, *objects]``.

    ``found`` is what was predicted of ``predicate`` and ``target`` what came about, ``[row, *objects,
    *value]``. Ints and Booleans: of the value that came about, added up over a vector's elements. Numbers:
    Laplace's, which a few outliers do not sway, rounded at its tip; the mean over the numbers of a vector, in
    units of ``scale`` (None: 1).
    """
    wanted, found = fully_soft(target, predicate.type), fully_soft(found, predicate.type)
    objects = 1 + len(predicate.parameters)
    if is_categorical(predicate.type):
        losses = -(wanted * (found + LOG_FLOOR).log()).sum(-1)
    elif predicate.type.prim == "float32":
        errors = (found - wanted).abs() / (1.0 if scale is None else scale)
        losses = torch.sqrt(errors.square() + HUBER_WIDTH**2) - HUBER_WIDTH
        return losses.flatten(objects).mean(-1) if losses.dim() > objects else losses
    elif predicate.type.prim == "bool":
        right, left = (found + LOG_FLOOR).log(), (1.0 - found + LOG_FLOOR).log()
        losses = -(wanted * right + (1.0 - wanted) * left)
    else:
        losses = (found - wanted).abs()
    return losses.flatten(objects).sum(-1) if losses.dim() > objects else losses


def distance(found: Tensor, target: Tensor, predicate: Predicate) -> Tensor:
    """The paper's L1 between two tables, a number for each ground variable."""
    wanted, found = fully_soft(target, predicate.type), fully_soft(found, predicate.type)
    errors = (found - wanted).abs()
    if is_categorical(predicate.type):
        errors = 0.5 * errors.sum(-1)
    objects = 1 + len(predicate.parameters)
    return errors.flatten(objects).mean(-1) if errors.dim() > objects else errors


def mixture_losses(
    gate: Tensor,
    shares: Tensor,
    wrong: Tensor,
    stale: Tensor,
    written: Tensor,
    sharpness: float,
    doubt: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """The losses of conditional assignments: a step of expectation maximisation (Dempster et al., 1977).

    A variable is a mixture: of new values, by the odds of the ``gate`` and among each other by their
    ``shares [writer, ...]``, and of the old one.
    The responsibility of the new value is 1 where the variable is seen to have changed (``written``);
    elsewhere it follows from the gate and from the errors of the values, ``wrong [writer, ...]`` of the new
    and ``stale`` of the old one (``sharpness`` times their difference are the log-odds). The gate and the
    shares are fitted to the responsibilities. A new value is fitted where it is responsible and wherever its
    gate holds: what a goal says of the gate thereby reaches a value that was written over an equal one.
    Blending the values instead would let half a gate and twice the change pass for the truth.

    ``doubt``, from 1 to 0 in the course of a fit: how little the errors say so far (deterministic annealing,
    Ueda and Nakano, 1998). While an encoder still sees everything alike, the old value is right everywhere:
    gates would close, and behind closed gates no new value is learned. In doubt the new value is fitted
    wherever there may be one.
    """
    gate = gate.clamp(LOG_MARGIN, 1.0 - LOG_MARGIN)
    shares = shares.clamp_min(LOG_MARGIN)
    with torch.no_grad():
        likely = shares.log() - sharpness * wrong
        least = -likely.logsumexp(0) / sharpness
        odds = (1.0 - doubt) * torch.logit(gate) + sharpness * (stale - least)
        responsibility = torch.where(written, torch.ones_like(gate), torch.sigmoid(odds))
        among = likely.softmax(0)
        asked = (torch.maximum(responsibility, gate) * among).clamp_min(doubt)
    opened = -responsibility * gate.log() - (1.0 - responsibility) * (1.0 - gate).log()
    return opened - responsibility * (among * shares.log()).sum(0), (asked * wrong).sum(0)


def combined(
    errors: Tensor, changed: Tensor, real: Tensor | None, *, balanced: bool, whole: bool = False
) -> Tensor:
    """The mean error, or the mean of the changed variables' and the unchanged ones' mean errors.

    ``errors`` are those of ground variables, ``changed`` says which of them changed, ``real`` which are of
    objects that there are (None: all). ``balanced`` chooses the second, in which the few variables that
    change count as much as the rest; ``whole``: the errors of a row are added up, and the mean is over rows.
    """
    if not balanced:
        count = torch.ones_like(errors) if real is None else real
        return (errors * count).sum() / count.sum().clamp_min(1.0)
    moved = changed.to(errors.dtype)
    stayed = 1.0 - moved
    if real is not None:
        moved, stayed = moved * real, stayed * real
    return 0.5 * (_mean(errors, moved, whole=whole) + _mean(errors, stayed, whole=whole))


def _mean(errors: Tensor, counted: Tensor, *, whole: bool) -> Tensor:
    """The mean over the variables that count, or, for ``whole`` rows, of the sum over each row's."""
    count = (counted.flatten(1).sum(1) > 0).sum() if whole and counted.dim() > 1 else counted.sum()
    return (errors * counted).sum() / count.clamp_min(1.0)


def differs(before: Tensor, after: Tensor, predicate: Predicate) -> Tensor:
    """Which ground variables changed."""
    with torch.no_grad():
        if before.dtype != after.dtype:
            before, after = fully_soft(before, predicate.type), fully_soft(after, predicate.type)
        unequal = before != after
        own = unequal.dim() - 1 - len(predicate.parameters)
        return unequal.flatten(-own).any(-1) if own else unequal
