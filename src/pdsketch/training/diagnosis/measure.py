"""How good a model is on episodes, crisply: goals by kind, effects by action and predicate, preconditions.

This runs over and over during a fit and only counts; what is looked at once, at
its end, watches it (`MeasureListener`).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Protocol, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import Action, Predicate
from pdsketch.tensor import CRISP, harden
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.diagnosis.compare import Compared, Comparer, gaps
from pdsketch.training.diagnosis.counts import GoalKind, Judged, Measures, TransitionErrors
from pdsketch.training.losses import real_entries
from pdsketch.training.time_slice import TimeSlice, Transition, where
from pdsketch.training.training_set import TrainingSet

CHUNK = 4096
"""Examples that are measured together, to bound memory."""


class MeasureListener(Protocol):
    """Is shown what a measurement sees."""

    def goals(self, states: Array, truth: Array, label: Array) -> None:
        """The truth of each example's goal, and what it should be, of examples that say so."""

    def effect(self, action: Action, predicate: Predicate, found: Compared) -> None:
        """What an action was predicted to do to a predicate."""


def measure(
    training: TrainingSet, states: Array, most: int | None = None, watcher: MeasureListener | None = None
) -> Measures:
    """Measure on some examples of a training set, at most so many, evenly spread; each transition once."""
    if most is not None and len(states) > most:
        states = states[np.linspace(0, len(states) - 1, most).astype(np.int64)]
    with torch.no_grad():
        tally = _Tally(training, states, watcher)
        for some in training.dataset.parts(states, CHUNK):
            tally.count(some)
    return tally.measures()


@final
class _Tally:
    """The counts of a measurement under way."""

    def __init__(self, training: TrainingSet, states: Array, watcher: MeasureListener | None) -> None:
        self.training = training
        self.watcher = watcher
        self.comparer = Comparer(training, states)
        self.by_goal = np.zeros((len(training.goals), 4), dtype=np.int64)
        self.effects: dict[str, dict[str, TransitionErrors]] = {}
        self.preconditions: dict[str, Array] = defaultdict(lambda: np.zeros(4, dtype=np.int64))
        self.steps, self.right, self.still = 0, 0, 0

    def count(self, states: Array) -> None:
        """Count the goals of some examples, and the steps from their states."""
        dataset = self.training.dataset
        current = TimeSlice(self.training, CRISP, dataset.place(states))
        current.prepare(goals=True, step=True)
        judged = states[dataset.goal[states] >= 0]
        truth, label = current.truth().cpu().numpy() > 0.5, dataset.outcomes[judged]
        np.add.at(self.by_goal, dataset.goal[judged], _judged(truth, label))
        if self.watcher is not None:
            self.watcher.goals(judged, truth, label)
        once = torch.from_numpy(dataset.once[states]).to(dataset.device)
        self._preconditions(current, once)
        after = current.step(once)
        for transition in after.transitions:
            self._transition(current, after, transition)

    def _preconditions(self, current: TimeSlice, once: Tensor) -> None:
        """Learned preconditions against the controller's word, where the data has it."""
        training = self.training
        for at in training.guarded:
            action = training.actions[at]
            rows = where(once & (current.action == at))
            if not len(rows):
                continue
            batch = current.batch(rows, sorted(training.reads.reads(action.precondition)))
            run = training.engine.open(batch, checked=False)
            ground = run.ground(training.parameters(at, current.states[rows]), 1)
            truth = training.engine.precondition(ground, action.name, CRISP)[:, 0].cpu().numpy()
            word = training.dataset.executable[current.states[rows].cpu().numpy()]
            known = word >= 0
            if known.any():
                self.preconditions[action.name] += _judged(truth[known], word[known] > 0).sum(0)

    def _transition(self, current: TimeSlice, after: TimeSlice, transition: Transition) -> None:
        """Compare one action's predictions with what came about."""
        training = self.training
        action = training.actions[transition.action]
        states = after.states[transition.first : transition.first + len(transition.rows)]
        target = TimeSlice(training, CRISP, states)
        errors = self.effects.setdefault(action.name, {})
        every = torch.arange(len(states), device=states.device)
        wrong_rows = torch.zeros(len(states), dtype=torch.bool, device=training.dataset.device)
        changed_rows = wrong_rows.clone()
        for predicate in training.domain.state_predicates:
            before = current.value(predicate.name, transition.rows)
            wanted = target.value(predicate.name, every)
            found = transition.new.get(predicate.name, before)
            real = real_entries(training, states, predicate)
            wrong, changed = (self._unequal(value, wanted, predicate, real) for value in (found, before))
            writes = transition.writes.get(predicate.name)
            value = found if writes is None else harden(writes[1], predicate.type)
            compared = Compared(
                current.states[transition.rows].cpu().numpy(), before, found, wanted, wrong, changed
            )
            counted = self._count(compared, value, predicate, real)
            errors.setdefault(predicate.name, TransitionErrors()).add(counted)
            wrong_rows |= wrong.reshape(len(states), -1).any(-1)
            changed_rows |= changed.reshape(len(states), -1).any(-1)
            if self.watcher is not None:
                self.watcher.effect(action, predicate, compared)
        self.steps += len(states)
        self.right += int((~wrong_rows).sum())
        self.still += int((~changed_rows).sum())

    def _unequal(self, found: Tensor, wanted: Tensor, predicate: Predicate, real: Tensor | None) -> Tensor:
        unequal = self.comparer.unequal(found, wanted, predicate)
        return unequal if real is None else unequal & (real > 0)

    def _count(
        self, compared: Compared, value: Tensor, predicate: Predicate, real: Tensor | None
    ) -> TransitionErrors:
        """The counts of one predicate after one action, fetched from the device at once."""
        changed, wanted = compared.changed, compared.wanted
        same = value is compared.found
        wrong_value = compared.wrong if same else self._unequal(value, wanted, predicate, real)
        gap = gaps(compared.found, wanted, predicate)
        value_gap = gap if same else gaps(value, wanted, predicate)
        moved = gaps(compared.before, wanted, predicate)
        everything = torch.ones_like(gap) if real is None else real
        figures = (
            everything,
            changed,
            compared.wrong,
            compared.wrong & changed,
            wrong_value & changed,
            gap * everything,
            value_gap * changed,
            moved * changed,
        )
        sums = torch.stack([figure.sum(dtype=torch.float64) for figure in figures]).tolist()
        return TransitionErrors(*(round(n) for n in sums[:5]), *sums[5:])

    def measures(self) -> Measures:
        """What was counted."""
        return Measures(
            goals=self._kinds(),
            effects=self.effects,
            preconditions={name: Judged.of(counts) for name, counts in self.preconditions.items()},
            steps=self.steps,
            steps_right=self.right,
            steps_still=self.still,
            predicates=tuple(p.name for p in self.training.domain.state_predicates),
            by_goal=self.by_goal,
        )

    def _kinds(self) -> tuple[GoalKind, ...]:
        """The goals that were judged, by kind."""
        found = []
        texts = self.training.dataset.arrays.goals
        for alike in self.training.kinds:
            members = np.array(alike)
            members = members[self.by_goal[members, :2].sum(1) > 0]
            if len(members):
                counts = self.by_goal[members]
                wrong = counts[:, :2].sum(1) - counts[:, 2:].sum(1)
                example = texts[members[int(wrong.argmax())]]
                found.append(GoalKind(example, len(members), Judged.of(counts)))
        return tuple(found)


def _judged(truth: Array, label: Array) -> Array:
    """Each state's part in the counts of `Judged`, ``[n, 4]``."""
    return np.stack([label, ~label, label & truth, ~label & ~truth], axis=1).astype(np.int64)
