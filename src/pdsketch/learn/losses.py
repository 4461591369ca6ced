"""The losses of a batch: goals, transitions, lookahead, preconditions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang.domain import Predicate
from pdsketch.lang.terms import BlankCall
from pdsketch.lang.types import ObjectType
from pdsketch.learn.columns import Array
from pdsketch.learn.frame import Frame, Move, encode
from pdsketch.learn.options import Options
from pdsketch.learn.study import Study
from pdsketch.tensor.logic import logic_of
from pdsketch.tensor.values import fully_soft, is_categorical

_LEAST = 1e-6
"""Truth values stay this far from 0 and 1 in a logarithm."""

_UNLIKELY = 1e-12
"""Added to probabilities before their logarithm: far below what a sure and wrong network says, so that
it still hears of its error."""

SLACK = 0.05
"""A number that is off by this part of its scale is e times less likely to be what was written."""

PRIORS = ("rarity", "usage")
"""The terms that say what is likely before any example; they hold for a part of a fit only."""

_MOST_SEEN = 20_000

_ROUND = 0.01
"""Errors of numbers are squared below this part of their scale, so that they end where they should."""


@final
class Losses:
    """The terms of the loss for batches of states of a study.

    An error of a number is divided by its scale, so that no unit of measurement
    outweighs another: how much the action changes it, where it is seen to, else
    its standard deviation. The paper's plain L1 divides by nothing.
    """

    def __init__(self, study: Study, options: Options) -> None:
        self.study = study
        self.options = options
        self.logic = logic_of(options.tnorm)
        self.scales = {} if options.paper else change_scales(study)

    def terms(self, states: Array) -> dict[str, Tensor]:
        """The loss terms, not yet weighted; those without any example are left out."""
        options = self.options
        frame = Frame(self.study, self.logic, states)
        wants_step = bool(options.transition or options.lookahead)
        frame.prepare(goals=bool(options.goal or options.lookahead), step=wants_step)
        found: dict[str, Tensor] = {}
        if options.goal:
            self._add(found, "goal", self._goal_loss(frame))
        if options.precondition:
            self._add(found, "precondition", self._precondition_loss(frame))
        if options.rarity:
            self._add(found, "rarity", self._rarity(frame))
        if options.usage:
            self._add(found, "usage", self._usage(frame))
        after = frame.step() if wants_step else None
        if after is not None and len(after) and options.transition:
            self._add(found, "transition", self._transition_loss(frame, after))
        if options.lookahead:
            self._add(found, "lookahead", self._lookahead_loss(after))
        return found

    def total(self, terms: Mapping[str, Tensor], priors: Mapping[str, float] | None = None) -> Tensor | None:
        """The weighted sum; ``priors`` are the parts of the prior terms that hold (none: nothing of them)."""
        weights = {name: float(getattr(self.options, name)) for name in terms}
        weights |= {name: weights[name] * (priors or {}).get(name, 0.0) for name in PRIORS if name in terms}
        weighted = [term * weights[name] for name, term in terms.items()]
        return torch.stack(weighted).sum() if weighted else None

    @staticmethod
    def _add(found: dict[str, Tensor], name: str, term: Tensor | None) -> None:
        if term is not None:
            found[name] = term

    # -- goals ------------------------------------------------------------------------

    def _goal_loss(self, frame: Frame) -> Tensor | None:
        if not len(frame.judged):
            return None
        return self._balanced_entropy(frame.truth(), self.study.packed.outcomes[frame.states[frame.judged]])

    def _lookahead_loss(self, frame: Frame | None) -> Tensor | None:
        """The goal on the predicted states, one step ahead and further."""
        parts = []
        for ahead in range(1, self.options.horizon + 1):
            if frame is None or not len(frame):
                break
            last = ahead == self.options.horizon
            frame.prepare(goals=True, step=not last)
            term = self._goal_loss(frame)
            parts += [] if term is None else [term]
            frame = None if last else frame.step()
        return torch.stack(parts).mean() if parts else None

    def _balanced_entropy(self, truth: Tensor, labels: Array) -> Tensor:
        """Binary cross-entropy in which all positives together weigh as much as all negatives."""
        positive = int(labels.sum())
        negative = len(labels) - positive
        both = bool(positive and negative)
        weights = np.where(labels, 0.5 / max(1, positive), 0.5 / max(1, negative))
        weights = weights if both else np.full(len(labels), 1.0 / len(labels))
        table = torch.from_numpy(np.stack([labels, weights]).astype(np.float32)).to(truth.device)
        target, weight = table[0], table[1]
        inside = truth.clamp(_LEAST, 1.0 - _LEAST)
        # NaN passes through, for the trainer to tell of; torch's own check would end in its error.
        number = torch.nan_to_num(inside, nan=0.5)
        entropy = torch.nn.functional.binary_cross_entropy(number, target, reduction="none")
        entropy = torch.where(torch.isnan(inside), inside, entropy)
        return (entropy * weight).sum()

    def _rarity(self, frame: Frame) -> Tensor | None:
        """How often the predicates that are blanks are true, summed over predicates.

        A conjunction that is false does not say which of its parts is; this
        lets each part be false wherever nothing speaks for it.
        """
        parts = []
        for table, truth in frame.tables.items():
            predicate = self.study.domain.predicates[self.study.tables[table]]
            # Where there are no objects, there is nothing to be rare.
            if predicate.type.is_bool and isinstance(predicate.body, BlankCall) and truth.numel():
                parts.append(truth.mean())
        return torch.stack(parts).sum() if parts else None

    def _usage(self, frame: Frame) -> Tensor | None:
        """How far encoded ints are from using their codes: each sure of one, all used alike.

        The negative mutual information of inputs and codes (Krause, Perona and Gomes,
        2010), as a part of the most there can be. Without it two things may share a code from
        the start, and nothing tells them apart again.
        """
        parts = []
        for name, table in frame.encoded.items():
            type_ = self.study.domain.predicates[name].type
            if is_categorical(type_) and table.numel():
                codes = fully_soft(table, type_)
                codes = codes.reshape(-1, max(1, math.prod(type_.shape or ())), codes.shape[-1])
                mean = codes.mean(0)
                each = -(codes * (codes + _UNLIKELY).log()).sum(-1).mean(0)
                all_ = -(mean * (mean + _UNLIKELY).log()).sum(-1)
                parts.append(((each - all_) / math.log(max(2, codes.shape[-1]))).mean())
        return torch.stack(parts).sum() if parts else None

    # -- transitions ------------------------------------------------------------------

    def _transition_loss(self, frame: Frame, after: Frame) -> Tensor | None:
        """What actions were predicted to write against what came about.

        Balanced: changed and unchanged variables weigh alike, and so do actions.
        Plain: the mean over all variables that were written.
        """
        parts, counts = [], []
        for move in after.moves:
            targets = self.targets(after, move)
            for name in move.new:
                parts.append(self._variable_loss(frame, move, name, targets[name]))
                counts.append(1.0 if self.options.balanced else float(len(move.rows)))
        if not parts:
            return None
        weights = torch.tensor(counts, device=parts[0].device)
        weights = weights / (len(after.moves) if self.options.balanced else weights.sum())
        return (torch.stack(parts) * weights).sum()

    def targets(self, after: Frame, move: Move) -> dict[str, Tensor]:
        """What the data says of the variables that an action writes, in the states after it."""
        states = after.states[move.first : move.first + len(move.rows)]
        found = self.study.observed(states, move.new)
        if len(found) < len(move.new):
            with torch.set_grad_enabled(self.options.latent_gradient):
                found |= encode(self.study, states, self.logic)
        return found

    def _variable_loss(self, frame: Frame, move: Move, name: str, target: Tensor) -> Tensor:
        """The loss of what one action wrote to one predicate."""
        predicate = self.study.domain.predicates[name]
        before = frame.value(name, move.rows)
        changed = differs(before, target, predicate)
        real = real_entries(self.study, frame.states[move.rows], predicate)
        mean = partial(_combined, changed=changed, real=real, balanced=self.options.balanced)
        if self.options.paper:
            return mean(_distance(move.new[name], target, predicate))
        scale = self.scale(move, predicate, target)
        if name not in move.writes:
            return mean(unlikelihood(move.new[name], target, predicate, scale))
        gate, value = move.writes[name]
        wrong = unlikelihood(value, target, predicate, scale)
        stale = unlikelihood(before, target, predicate, scale).detach()
        sharpness = 1.0
        seen = changed if predicate.role == "observed" else torch.zeros_like(changed)
        if predicate.type.prim == "float32":
            # The errors of a vector are means, and whether it was written is a question to all its numbers.
            count = target[0].numel() / max(1, changed[0].numel())
            sharpness = count / SLACK
            seen = seen & (stale * count > SLACK)
        opened, written = choice(gate, wrong, stale, seen, sharpness)
        # A state's gates are right together: their losses add up.
        return mean(opened, whole=True) + mean(written)

    def scale(self, move: Move, predicate: Predicate, target: Tensor) -> Tensor | None:
        """What the errors of a float variable are measured by; of an encoded one, its spread in the batch."""
        if predicate.type.prim != "float32":
            return None
        known = self.scales.get((move.action, predicate.name))
        if known is not None:
            return known
        flat = target.detach().flatten(0, len(predicate.parameters))
        return flat.std(0, correction=0).clamp_min(_ROUND) if len(flat) > 1 else torch.ones_like(flat[0])

    # -- preconditions ------------------------------------------------------------------

    def _precondition_loss(self, frame: Frame) -> Tensor | None:
        """The preconditions against the controller's word."""
        parts = [self._balanced_entropy(truth, labels) for _, truth, labels in self.preconditions(frame)]
        return torch.stack(parts).mean() if parts else None

    def preconditions(self, frame: Frame) -> Iterator[tuple[Array, Tensor, Array]]:
        """Rows, the truth of their action's precondition, and the controller's word, action by action.

        Where the data has that word, and blanks are in the precondition.
        """
        study = self.study
        known = study.packed.executable[frame.states]
        for at, action in enumerate(study.actions):
            rows = np.flatnonzero((frame.action == at) & (known >= 0))
            if not len(rows) or not study.has_blanks(action.precondition):
                continue
            batch = frame.batch(rows, sorted(study.reads.expression(action.precondition)))
            run = study.engine.open(batch, checked=False)
            ground = run.ground(study.parameters(at, frame.states[rows]), 1)
            truth = study.engine.precondition(ground, action.name, self.logic)[:, 0]
            yield rows, truth, known[rows] > 0


def unlikelihood(found: Tensor, target: Tensor, predicate: Predicate, scale: Tensor | None) -> Tensor:
    """The negative log-likelihood of each ground variable's value ``[row, *objects]``.

    Ints and Booleans: of the value that came about, added up over a vector's
    elements. Numbers: Laplace's, which a few outliers do not sway, rounded at its tip;
    the mean over the numbers of a vector.
    """
    wanted, found = fully_soft(target, predicate.type), fully_soft(found, predicate.type)
    objects = 1 + len(predicate.parameters)
    if is_categorical(predicate.type):
        losses = -(wanted * (found + _UNLIKELY).log()).sum(-1)
    elif predicate.type.prim == "float32":
        errors = (found - wanted).abs() / (1.0 if scale is None else scale)
        losses = torch.sqrt(errors.square() + _ROUND**2) - _ROUND
        return losses.flatten(objects).mean(-1) if losses.dim() > objects else losses
    elif predicate.type.prim == "bool":
        right, left = (found + _UNLIKELY).log(), (1.0 - found + _UNLIKELY).log()
        losses = -(wanted * right + (1.0 - wanted) * left)
    else:
        losses = (found - wanted).abs()
    return losses.flatten(objects).sum(-1) if losses.dim() > objects else losses


def _distance(found: Tensor, target: Tensor, predicate: Predicate) -> Tensor:
    """The paper's L1 between two tables, a number for each ground variable."""
    wanted, found = fully_soft(target, predicate.type), fully_soft(found, predicate.type)
    errors = (found - wanted).abs()
    if is_categorical(predicate.type):
        errors = 0.5 * errors.sum(-1)
    objects = 1 + len(predicate.parameters)
    return errors.flatten(objects).mean(-1) if errors.dim() > objects else errors


def choice(
    gate: Tensor, wrong: Tensor, stale: Tensor, written: Tensor, sharpness: float
) -> tuple[Tensor, Tensor]:
    """The losses of a conditional assignment: was the variable written, and was it written right?

    A variable either takes the new value, by the odds of the gate, or keeps the
    old one; which of the two it was is seen where it changed (``written``), and
    is judged by the errors of the new value and the old elsewhere (``sharpness``
    times their difference are the log-odds). The gate is then asked for that. The
    new value is asked to be right where it was taken and wherever the gate
    holds: what a goal says of the gate thereby reaches a value that was written over
    an equal one. Blending the two values instead would let half a gate and
    twice the change pass for the truth.
    """
    gate = gate.clamp(_LEAST, 1.0 - _LEAST)
    with torch.no_grad():
        odds = torch.logit(gate) + sharpness * (stale - wrong)
        taken = torch.where(written, torch.ones_like(gate), torch.sigmoid(odds))
        asked = torch.maximum(taken, gate)
    return -taken * gate.log() - (1.0 - taken) * (1.0 - gate).log(), asked * wrong


def _combined(
    errors: Tensor, changed: Tensor, real: Tensor | None, *, balanced: bool, whole: bool = False
) -> Tensor:
    """The mean error, or the mean of the changed variables' and the unchanged ones' mean errors."""
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


def real_entries(study: Study, states: Array, predicate: Predicate) -> Tensor | None:
    """Which entries of a padded table are variables of real objects ``[row, *objects]``; None: all."""
    whole = study.packed.states
    found: Tensor | None = None
    types = [p.type for p in predicate.parameters if isinstance(p.type, ObjectType)]
    for at, type_ in enumerate(types):
        mask = whole.layout.mask(type_)
        if mask is None:
            continue
        if whole.rows is not None:
            mask = mask.index_select(0, whole.rows.index_select(0, study.packed.rows(states)))
        shaped = mask.reshape(-1, *(1,) * at, mask.shape[1], *(1,) * (len(types) - at - 1)).to(torch.float32)
        found = shaped if found is None else found * shaped
    if found is None:
        return None
    return found.expand(len(states), *(whole.layout.size(t) for t in types))


@torch.no_grad()
def change_scales(study: Study) -> dict[tuple[int, str], Tensor]:
    """How much each action changes each number of the observed float variables that it writes, where it does.

    The root mean square of the changes, by action and predicate; the standard
    deviation of the values where nothing was seen to change, or where that is less.
    """
    found = {}
    for at, action in enumerate(study.actions):
        states = np.flatnonzero((study.packed.action == at) & study.executed & study.packed.once)[:_MOST_SEEN]
        for name in study.reads.written(action.name):
            predicate = study.domain.predicates[name]
            tensor = study.packed.states.tensors.get(name)
            if tensor is None or predicate.type.prim != "float32" or not tensor.numel() or not len(states):
                continue
            before = study.observed(states, [name])[name]
            change = (study.observed(states + 1, [name])[name] - before).flatten(0, len(predicate.parameters))
            spread = before.flatten(0, len(predicate.parameters)).double().std(0, correction=0).float()
            count = (change != 0).sum(0).clamp_min(1)
            moved = (change.double().square().sum(0) / count).sqrt().float()
            scale = torch.where(
                moved > 0, torch.where(spread > 0, torch.minimum(moved, spread), moved), spread
            )
            found[at, name] = torch.where(scale > 1e-8, scale, torch.ones_like(scale))
    return found
