"""How often a whole model is wrong on examples, kind by kind: goals and preconditions that hold and that do
not, variables that change and that stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import torch
from torch import Tensor

from pdsketch.lang import Predicate
from pdsketch.tensor import CRISP
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.likelihoods import differs
from pdsketch.training.losses import Losses, real_entries
from pdsketch.training.time_slice import TimeSlice, Transition

PARTS: Final = (0.0, 0.05, 0.3)
"""Numbers are wrong beyond their tolerance, and beyond these parts of how far they move; set by hand."""

Kind = tuple[Any, ...]
"""What is judged: a kind of goals, a precondition, or what an action writes; and of these, which."""


@final
@dataclass(frozen=True, slots=True)
class Errors:
    """How many of each kind are wrong."""

    wrong: Mapping[Kind, float]

    @property
    def total(self) -> float:
        """All that are wrong."""
        return sum(self.wrong.values())

    def within(self, other: Errors) -> bool:
        """Whether no kind is worse than in another model."""
        return all(wrong <= other.wrong[kind] for kind, wrong in self.wrong.items())


@torch.no_grad()
def errors(losses: Losses, states: Array) -> Errors:
    """The errors of the model on some examples, crisply."""
    tally = _Tally(losses)
    for part in losses.training.dataset.parts(states):
        tally.take(part)
    return tally.found()


@final
class _Tally:
    def __init__(self, losses: Losses) -> None:
        self.losses, self.training = losses, losses.training
        self._kinds: list[Kind] = []
        self._sums: list[Tensor] = []
        kind_of_goal = torch.zeros(len(self.training.goals), dtype=torch.int64)
        for at, goals in enumerate(self.training.kinds):
            kind_of_goal[goals] = at
        self._kind_of_goal = kind_of_goal.to(self.training.dataset.device)

    def take(self, states: Array) -> None:
        """Count the errors of some examples."""
        training = self.training
        current = TimeSlice(training, CRISP, training.dataset.place(states))
        current.prepare(goals=True, step=True)
        if len(current.judged):
            goal = self._kind_of_goal[current.goal.index_select(0, current.judged)]
            truth, label = current.truth() > 0.5, current.outcomes
            for at in range(len(training.kinds)):
                self._judged(("goal", at), truth[goal == at], label[goal == at])
        for at, _, truth, word in current.preconditions():
            self._judged(("executed", at), truth > 0.5, word)
        after = current.step()
        for transition in after.transitions:
            targets = self.losses.targets(after, transition)
            for name, new in transition.new.items():
                self._written(current, transition, training.domain.predicates[name], new, targets[name])

    def _judged(self, kind: Kind, truth: Tensor, label: Tensor) -> None:
        wrong = truth != label
        self._add((kind, True), wrong & label)
        self._add((kind, False), wrong & ~label)

    def _written(
        self, current: TimeSlice, transition: Transition, predicate: Predicate, new: Tensor, target: Tensor
    ) -> None:
        before = current.value(predicate.name, transition.rows)
        changed = differs(before, target, predicate)
        real = real_entries(self.training, current.states.index_select(0, transition.rows), predicate)
        there = torch.ones_like(changed) if real is None else real > 0
        name = transition.action, predicate.name
        if predicate.type.prim != "float32":
            wrong = differs(new, target, predicate) & there
            self._add((name, "changed"), wrong & changed)
            self._add((name, "still"), wrong & ~changed)
            return
        objects = 1 + len(predicate.parameters)
        off = (new - target).abs()
        scale = self.losses.scale(transition, predicate, target)
        assert scale is not None
        for part in PARTS:
            far = ~(off <= torch.clamp(part * scale, min=predicate.type.tolerance))
            wrong = (far.flatten(objects).any(-1) if far.dim() > objects else far) & there
            self._add((name, "changed", part), wrong & changed)
            self._add((name, "still", part), wrong & ~changed)

    def _add(self, kind: Kind, wrong: Tensor) -> None:
        self._kinds.append(kind)
        self._sums.append(wrong.sum())

    def found(self) -> Errors:
        """What was counted, fetched at once."""
        wrong: dict[Kind, float] = {}
        if self._sums:
            for kind, bad in zip(self._kinds, torch.stack(self._sums).tolist(), strict=True):
                wrong[kind] = wrong.get(kind, 0.0) + bad
        return Errors(wrong)
