"""The losses of a batch: goals, transitions, lookahead, preconditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import Predicate, error
from pdsketch.tensor import fully_soft, is_categorical, logic_of
from pdsketch.training.data.device_dataset import ROWS
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.likelihoods import (
    HUBER_WIDTH,
    LOG_FLOOR,
    LOG_MARGIN,
    combined,
    differs,
    distance,
    mixture_losses,
    unlikelihood,
)
from pdsketch.training.options import Options
from pdsketch.training.time_slice import TimeSlice, Transition, encode
from pdsketch.training.training_set import TrainingSet

WRITE_TOLERANCE = 0.05
"""An error of this part of a number's scale divides the odds that it was written by e; set by hand."""


Mean = Callable[..., Tensor]
"""From errors of variables to their mean."""


TERMS: Final = ("goal", "precondition", "usage", "transition", "lookahead")
"""The summands of the loss, which are weighted by the options of these names."""


@final
class Losses:
    """The terms of the loss for batches of states of a training set.

    An error of a number is divided by its scale, so that no unit of measurement
    outweighs another: how much the action changes it, where it is seen to, else
    its standard deviation. Plain distances are divided by nothing.
    """

    def __init__(self, training: TrainingSet, options: Options) -> None:
        self.training = training
        self.options = options
        self.balanced = not options.paper
        self.logic = logic_of("godel" if options.paper else "product")
        weights = {name: float(getattr(options, name)) for name in TERMS}
        self.weights = {name: weight for name, weight in weights.items() if weight}

    @cached_property
    def scales(self) -> dict[tuple[int, str], Tensor]:
        """What the errors of observed float variables are divided by, by action and predicate."""
        return change_scales(self.training)

    def terms(self, states: Array, doubt: float = 0.0) -> dict[str, Tensor]:
        """The loss terms, not yet weighted; those without any example are left out.

        ``doubt``: how little is known yet of what encodings mean (`mixture_losses`).
        """
        current = TimeSlice(self.training, self.logic, self.training.dataset.place(states))
        ahead = "transition" in self.weights or "lookahead" in self.weights
        current.prepare(goals="goal" in self.weights or "lookahead" in self.weights, step=ahead)
        after = cache(current.step)
        compute: Mapping[str, Callable[[], Tensor | None]] = {
            "goal": lambda: self._goal_loss(current),
            "precondition": lambda: self._precondition_loss(current),
            "usage": lambda: self._usage(current),
            "transition": lambda: self._transition_loss(current, after(), doubt),
            "lookahead": lambda: self._lookahead_loss(after()),
        }
        found = {name: compute[name]() for name in self.weights}
        return {name: value for name, value in found.items() if value is not None}

    def total(self, terms: Mapping[str, Tensor], doubt: float = 0.0) -> Tensor | None:
        """The weighted sum; that encodings use their codes counts as far as they are in ``doubt``."""
        weights = {**self.weights, "usage": self.weights.get("usage", 0.0) * doubt}
        weighted = [value * weights[name] for name, value in terms.items()]
        return torch.stack(weighted).sum() if weighted else None

    def judgement(self, current: TimeSlice) -> Tensor:
        """The loss of what is said of observed states: their goals, and their actions' preconditions."""
        parts = (self._goal_loss(current), self._precondition_loss(current))
        zero = torch.zeros((), device=current.states.device)
        return torch.stack([zero, *(part for part in parts if part is not None)]).sum()

    # -- goals ------------------------------------------------------------------------

    def _goal_loss(self, current: TimeSlice) -> Tensor | None:
        if not len(current.judged):
            return None
        return self._balanced_entropy(current.truth(), current.outcomes)

    def _lookahead_loss(self, after: TimeSlice) -> Tensor | None:
        """The goal on the predicted states, one step ahead."""
        if not len(after):
            return None
        after.prepare(goals=True, step=False)
        return self._goal_loss(after)

    def _balanced_entropy(self, truth: Tensor, labels: Tensor) -> Tensor:
        """Binary cross-entropy in which all positives together weigh as much as all negatives."""
        target = labels.to(truth.dtype)
        share = target.mean()
        # Half of all weight each; where one of them does not occur, all are equal.
        weight = torch.where(labels, 0.5 / share, 0.5 / (1.0 - share)) / len(labels)
        weight = torch.where((share > 0.0) & (share < 1.0), weight, 1.0 / len(labels))
        inside = truth.clamp(LOG_MARGIN, 1.0 - LOG_MARGIN)
        # NaN passes through, for the trainer to tell of; torch's own check would end in its error.
        number = torch.nan_to_num(inside, nan=0.5)
        entropy = torch.nn.functional.binary_cross_entropy(number, target, reduction="none")
        entropy = torch.where(torch.isnan(inside), inside, entropy)
        return (entropy * weight).sum()

    def _usage(self, current: TimeSlice) -> Tensor | None:
        """How far encoded ints are from using their codes: each sure of one, all used alike.

        The negative mutual information of inputs and codes (Krause, Perona and Gomes,
        2010), as a part of the most there can be. Without it two things may share a code from
        the start, and nothing tells them apart again.
        """
        parts = []
        for name, table in current.encoded.items():
            type_ = self.training.domain.predicates[name].type
            if is_categorical(type_) and table.numel():
                codes = fully_soft(table, type_)
                codes = codes.reshape(-1, max(1, math.prod(type_.shape or ())), codes.shape[-1])
                mean = codes.mean(0)
                each = -(codes * (codes + LOG_FLOOR).log()).sum(-1).mean(0)
                all_ = -(mean * (mean + LOG_FLOOR).log()).sum(-1)
                parts.append(((each - all_) / math.log(max(2, codes.shape[-1]))).mean())
        return torch.stack(parts).sum() if parts else None

    # -- transitions ------------------------------------------------------------------

    def _transition_loss(self, current: TimeSlice, after: TimeSlice, doubt: float) -> Tensor | None:
        """What actions were predicted to write against what came about.

        Balanced: changed and unchanged variables weigh alike, and so do actions.
        Plain: the mean over all variables that were written.
        """
        parts, counts = [], []
        for transition in after.transitions:
            targets = self.targets(after, transition)
            for name in transition.new:
                if self.options.paper:
                    parts.append(self._distance_loss(current, transition, name, targets[name]))
                else:
                    parts.append(self._likelihood_loss(current, transition, name, targets[name], doubt))
                counts.append(1.0 if self.balanced else float(len(transition.rows)))
        if not parts:
            return None
        weights = torch.tensor(counts, device=parts[0].device)
        weights = weights / (len(after.transitions) if self.balanced else weights.sum())
        return (torch.stack(parts) * weights).sum()

    def targets(self, after: TimeSlice, transition: Transition) -> dict[str, Tensor]:
        """What the data says of the variables that an action writes, in the states after it.

        What is encoded there receives no gradient: else encodings collapse.
        """
        states = after.states[transition.first : transition.first + len(transition.rows)]
        found = self.training.observed(states, transition.new)
        if len(found) < len(transition.new):
            with torch.no_grad():
                found |= encode(self.training, states, self.logic)
        return found

    def _distance_loss(self, current: TimeSlice, transition: Transition, name: str, target: Tensor) -> Tensor:
        """The mean distance of what one action wrote to one predicate, however it was written."""
        predicate = self.training.domain.predicates[name]
        changed = differs(current.value(name, transition.rows), target, predicate)
        mean = self._mean(changed, current, transition, name)
        return mean(distance(transition.new[name], target, predicate))

    def _mean(self, changed: Tensor, current: TimeSlice, transition: Transition, name: str) -> Mean:
        """How the errors of the variables that one action wrote are averaged."""
        predicate = self.training.domain.predicates[name]
        real = real_entries(self.training, current.states.index_select(0, transition.rows), predicate)
        return partial(combined, changed=changed, real=real, balanced=self.balanced)

    def _likelihood_loss(
        self, current: TimeSlice, transition: Transition, name: str, target: Tensor, doubt: float
    ) -> Tensor:
        """The negative log-likelihood of what one action wrote to one predicate."""
        predicate = self.training.domain.predicates[name]
        before = current.value(name, transition.rows)
        changed = differs(before, target, predicate)
        mean = self._mean(changed, current, transition, name)
        scale = self.scale(transition, predicate, target)
        if name not in transition.writes:
            return mean(unlikelihood(transition.new[name], target, predicate, scale))
        writes = transition.writes[name]
        wrong = torch.stack([unlikelihood(value, target, predicate, scale) for value in writes.values])
        stale = unlikelihood(before, target, predicate, scale).detach()
        sharpness, observed = 1.0, predicate.role == "observed"
        seen = changed if observed else torch.zeros_like(changed)
        if predicate.type.prim == "float32":
            # The errors of a vector are means, and whether it was written is a question to all its numbers.
            # Those of an encoding say much the same: together they count as one.
            count = target[0].numel() / max(1, changed[0].numel()) if observed else 1.0
            sharpness = count / WRITE_TOLERANCE
            seen = seen & (stale * count > WRITE_TOLERANCE)
        doubt = 0.0 if observed else doubt
        opened, written = mixture_losses(writes.gate, writes.shares, wrong, stale, seen, sharpness, doubt)
        # A state's gates are right together: their losses add up.
        return mean(opened, whole=True) + mean(written)

    def scale(self, transition: Transition, predicate: Predicate, target: Tensor) -> Tensor | None:
        """What the errors of a float variable are measured by; of an encoded one, its spread in the batch."""
        if predicate.type.prim != "float32":
            return None
        known = self.scales.get((transition.action, predicate.name))
        if known is not None:
            return known
        flat = target.detach().flatten(0, len(predicate.parameters))
        return flat.std(0, correction=0).clamp_min(HUBER_WIDTH) if len(flat) > 1 else torch.ones_like(flat[0])

    # -- preconditions ------------------------------------------------------------------

    def _precondition_loss(self, current: TimeSlice) -> Tensor | None:
        """The preconditions against the controller's word."""
        parts = [self._balanced_entropy(truth, labels) for _, _, truth, labels in current.preconditions()]
        return torch.stack(parts).mean() if parts else None


@final
@dataclass
class LossMeans:
    """Sums stay on their device, so that a step does not wait for them."""

    sums: dict[str, Tensor] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, terms: Mapping[str, Tensor]) -> None:
        """Take in the terms of a step."""
        for name, term in terms.items():
            self.sums[name] = self.sums.get(name, 0.0) + term.detach().double()
            self.counts[name] = self.counts.get(name, 0) + 1

    def figures(self, step: int) -> dict[str, float]:
        """The means; an `Error` if one is no number."""
        found = {name: float(total) / self.counts[name] for name, total in self.sums.items()}
        for name, value in found.items():
            if not math.isfinite(value):
                raise error(
                    "diverged",
                    f"the {name} loss is no longer a number at step {step}",
                    help="lower `learning_rate`, or look for extreme values in the data",
                )
        return found


def real_entries(training: TrainingSet, states: Tensor, predicate: Predicate) -> Tensor | None:
    """Which entries of a padded table are variables of real objects ``[row, *objects]``; None: all."""
    whole = training.dataset.states
    if whole.rows is None:
        return None
    rows = whole.rows.index_select(0, training.dataset.rows(states))
    found = whole.layout.real(predicate.object_types, rows)
    return None if found is None else found.to(torch.float32)


@torch.no_grad()
def change_scales(training: TrainingSet) -> dict[tuple[int, str], Tensor]:
    """How much each action changes each number of the observed float variables that it writes, where it does.

    The root mean square of the changes, by action and predicate; the standard
    deviation of the values where nothing was seen to change, or where that is less.
    """
    found = {}
    for at, action in enumerate(training.actions):
        states = np.flatnonzero((training.dataset.action == at) & training.executed & training.dataset.once)
        states = states[: training.dataset.at_once(ROWS)]
        for name in training.reads.writes(action.name):
            predicate = training.domain.predicates[name]
            if name not in training.dataset or predicate.type.prim != "float32" or not len(states):
                continue
            here = training.dataset.place(states)
            before = training.observed(here, [name])[name]
            if not before.numel():
                continue
            change = (training.observed(here + 1, [name])[name] - before).flatten(
                0, len(predicate.parameters)
            )
            spread = before.flatten(0, len(predicate.parameters)).double().std(0, correction=0).float()
            count = (change != 0).sum(0).clamp_min(1)
            moved = (change.double().square().sum(0) / count).sqrt().float()
            scale = torch.where(
                moved > 0, torch.where(spread > 0, torch.minimum(moved, spread), moved), spread
            )
            found[at, name] = torch.where(scale > 1e-8, scale, torch.ones_like(scale))
    return found
