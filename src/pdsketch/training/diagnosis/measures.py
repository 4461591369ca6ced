"""How good a model is on episodes, crisply: goals by kind, effects by action and predicate, preconditions.

This runs over and over during a fit and only counts; what is looked at once, at
its end, watches it (`MeasureListener`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import prod
from typing import Any, Protocol, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import Action, Predicate
from pdsketch.tensor import CRISP, SPREAD, Codes, Quantiser, codes_of, harden, tolerance_of
from pdsketch.training.data.device_dataset import ROWS, evenly
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.likelihoods import differs
from pdsketch.training.losses import real_entries
from pdsketch.training.time_slice import TimeSlice, Transition, encode
from pdsketch.training.training_set import TrainingSet

# The figures of a measurement: goals by kind, effects by action and predicate, preconditions.


@final
@dataclass(frozen=True)
class Judged:
    """How often a formula was judged right, where it should be true and where false."""

    positives: int = 0
    negatives: int = 0
    right_positives: int = 0
    right_negatives: int = 0

    @property
    def count(self) -> int:
        """How often it was judged."""
        return self.positives + self.negatives

    @property
    def accuracy(self) -> float:
        """The part judged right; 1 where nothing was judged."""
        return (self.right_positives + self.right_negatives) / self.count if self.count else 1.0

    @property
    def always_false(self) -> float:
        """What a model would score that always says no."""
        return self.negatives / self.count if self.count else 1.0

    @property
    def balanced(self) -> float:
        """The mean of the accuracies on positives and on negatives; 0.5 is no better than a constant."""
        parts = [
            right / count
            for right, count in (
                (self.right_positives, self.positives),
                (self.right_negatives, self.negatives),
            )
            if count
        ]
        return sum(parts) / len(parts) if parts else 1.0

    def as_json(self) -> dict[str, Any]:
        """Counts and rates."""
        return {
            **asdict(self),
            "accuracy": self.accuracy,
            "always_false": self.always_false,
            "balanced": self.balanced,
        }

    @staticmethod
    def of(counts: Array) -> Judged:
        """The sum of rows ``[n, 4]`` in the order of the fields."""
        total = counts.reshape(-1, 4).sum(0)
        return Judged(*(int(n) for n in total))


@final
@dataclass(frozen=True)
class GoalKind:
    """Goals that differ only in their objects, or in which of several derived predicates they name.

    ``formula`` is the one of them that was judged wrong most often,
    ``formulas`` how many there are.
    """

    formula: str
    formulas: int
    judged: Judged

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"formula": self.formula, "formulas": self.formulas, **self.judged.as_json()}


@final
@dataclass
class TransitionErrors:
    """How well the ground variables of a predicate were predicted.

    ``variables`` and ``changed`` count them over all steps, ``wrong`` and
    ``wrong_changed`` those whose prediction is another value than the outcome.
    ``wrong_value`` counts the changed ones for which the value that the effect
    would write is wrong, whether or not its condition let it. ``distance`` is the sum of
    absolute errors, ``value_distance`` that of the values to be written to changed
    variables, and ``change`` how far these moved.
    """

    variables: int = 0
    changed: int = 0
    wrong: int = 0
    wrong_changed: int = 0
    wrong_value: int = 0
    distance: float = 0.0
    value_distance: float = 0.0
    change: float = 0.0

    def add(self, other: TransitionErrors) -> None:
        """Count these, too."""
        for part in fields(self):
            setattr(self, part.name, getattr(self, part.name) + getattr(other, part.name))

    @property
    def right_changed(self) -> float:
        """The part of the changed variables that was predicted right; 1 where none changed."""
        return 1.0 - self.wrong_changed / max(1, self.changed)

    @property
    def right_unchanged(self) -> float:
        """The part of the unchanged variables that was predicted right."""
        return 1.0 - (self.wrong - self.wrong_changed) / max(1, self.variables - self.changed)

    def as_json(self) -> dict[str, Any]:
        """Counts and rates."""
        return {
            **asdict(self),
            "distance": self.distance / max(1, self.variables),
            "right_changed": self.right_changed,
            "right_unchanged": self.right_unchanged,
        }


@final
@dataclass(frozen=True)
class Measures:
    """Goal accuracy and transition errors on some episodes.

    ``goals`` are the kinds of goals, ``by_goal`` ``[g, 4]`` the counts of each
    formula of the data (as in `Judged`). ``effects`` are the errors by action and
    predicate, ``preconditions`` those of preconditions, by action, where the data has
    ``executable``: of those learned, and of written ones where something was refused.
    ``steps_right`` counts steps of which every variable was predicted right,
    ``steps_still`` those in which nothing changed, of ``steps``.
    """

    goals: tuple[GoalKind, ...]
    effects: Mapping[str, Mapping[str, TransitionErrors]]
    preconditions: Mapping[str, Judged]
    steps: int
    steps_right: int
    steps_still: int
    by_goal: Array = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64), repr=False)

    @property
    def judged(self) -> Judged:
        """All goals together."""
        return Judged.of(self.by_goal)

    @property
    def goal_accuracy(self) -> float:
        """The part of all states whose goal was judged right."""
        return self.judged.accuracy

    @property
    def step_accuracy(self) -> float:
        """The part of all steps predicted right in every variable."""
        return self.steps_right / self.steps if self.steps else 1.0

    @property
    def no_change(self) -> float:
        """The part of all steps that a model would predict right that predicts no change."""
        return self.steps_still / self.steps if self.steps else 1.0

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "goal_accuracy": self.goal_accuracy,
            "judged": self.judged.as_json(),
            "step_accuracy": self.step_accuracy,
            "no_change": self.no_change,
            "steps": self.steps,
            "goals": [kind.as_json() for kind in self.goals],
            "effects": {
                action: {name: found.as_json() for name, found in effects.items()}
                for action, effects in self.effects.items()
            },
            "preconditions": {name: found.as_json() for name, found in self.preconditions.items()},
        }


# When a predicted value counts as the outcome: ints and Booleans exactly, floats within a tolerance.

_PARTS_OF_SPREAD = 8
"""Encodings are equal within their deviation divided by this, before noise is known; set by hand."""


@final
class Comparer:
    """Tells, for each state variable of a training set, which predictions are another value.

    An observed float is another value when a planner would give it another
    code and it is further off than its type's tolerance. An encoded one, whose
    outcome is itself a network's, when it is off by more than the noise that `fit`
    recorded or, before it has, by more than an eighth of the standard deviation of
    the encodings of the measured states.
    """

    def __init__(self, training: TrainingSet, states: Array) -> None:
        some = evenly(states, ROWS)
        encoded = encode(training, training.dataset.place(some), CRISP) if len(some) else {}
        self._quantisers: dict[str, Quantiser] = {}
        self._tolerances: dict[str, Tensor | float] = {}
        notes = training.model.notes
        known = codes_of(notes)
        for predicate in training.domain.state_predicates:
            if predicate.type.prim != "float32":
                continue
            name, tolerance = predicate.name, tolerance_of(notes, predicate)
            if name in encoded:
                noisy = name in notes.get(SPREAD, {})
                self._tolerances[name] = tolerance if noisy else _spread(encoded[name], predicate)
            elif name in training.dataset:
                width = prod(training.dataset.arrays.shapes[name])
                codes = known.get(name, Codes.uniform(width, tolerance))
                self._quantisers[name] = Quantiser(codes, training.dataset.device)
                self._tolerances[name] = tolerance

    def unequal(self, found: Tensor, wanted: Tensor, predicate: Predicate) -> Tensor:
        """Which ground variables have another value ``[row, *objects]``."""
        tolerance = self._tolerances.get(predicate.name)
        if tolerance is None:
            return differs(found, wanted, predicate)
        found, wanted = _flat(found, predicate), _flat(wanted, predicate)
        # What is no number is near nothing.
        far = ~((found - wanted).abs() <= tolerance)
        quantiser = self._quantisers.get(predicate.name)
        if quantiser is not None:
            width = found.shape[-1]
            codes = [quantiser.codes(t.reshape(-1, width)).reshape(t.shape) for t in (found, wanted)]
            far &= (codes[0] != codes[1]) | found.isnan()
        return far.any(-1)


def gaps(found: Tensor, wanted: Tensor, predicate: Predicate) -> Tensor:
    """How far apart two values are, summed over the numbers of each ground variable."""
    return (_flat(found, predicate).float() - _flat(wanted, predicate).float()).abs().sum(-1)


def _spread(encoded: Tensor, predicate: Predicate) -> Tensor:
    """A part of the deviation of encodings, and no less than their type's tolerance."""
    flat = _flat(encoded, predicate)
    spread = flat.reshape(-1, flat.shape[-1]).std(0, correction=0) / _PARTS_OF_SPREAD
    return spread.clamp_min(predicate.type.tolerance)


def _flat(tensor: Tensor, predicate: Predicate) -> Tensor:
    """A table with one axis for the value's own numbers."""
    leading = tensor.shape[: 1 + len(predicate.parameters)]
    return tensor.reshape(*leading, int(np.prod(tensor.shape[len(leading) :], dtype=np.int64)))


@final
@dataclass(frozen=True)
class Compared:
    """One predicate after one action: tables before, predicted and seen, and which entries are wrong.

    ``states`` are the states before, ``wrong`` and ``changed`` ``[row, *objects]``; ``real``, which of these
    are objects (None: all).
    """

    states: Array
    before: Tensor
    found: Tensor
    wanted: Tensor
    wrong: Tensor
    changed: Tensor
    real: Tensor | None


class MeasureListener(Protocol):
    """Is shown what a measurement sees."""

    def goals(self, states: Array, truth: Array, label: Array) -> None:
        """The truth of each example's goal, and what it should be, of examples that say so."""

    def effect(self, action: Action, predicate: Predicate, found: Compared) -> None:
        """What an action was predicted to do to a predicate."""


def measure(
    training: TrainingSet, states: Array, most: int | None = None, watcher: MeasureListener | None = None
) -> Measures:
    """Measure on some examples of a training set, evenly spread; each transition once.

    ``states`` are places in the data of ``training``; of more than ``most``, so many are taken. ``watcher``
    is told of each part as it is measured.
    """
    if most is not None:
        states = evenly(states, most)
    with torch.no_grad():
        tally = _Tally(training, states, watcher)
        for some in training.dataset.parts(states):
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
        for at, rows, could, word in current.preconditions(*self.training.refused):
            counts = _judged(could.cpu().numpy(), word.cpu().numpy())[once[rows].cpu().numpy()]
            if len(counts):
                self.preconditions[self.training.actions[at].name] += counts.sum(0)
        after = current.step(once)
        for transition in after.transitions:
            self._transition(current, after, transition)

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
            value = found if writes is None else harden(writes.value, predicate.type)
            compared = Compared(
                current.states[transition.rows].cpu().numpy(), before, found, wanted, wrong, changed, real
            )
            counted = self._count(compared, value, predicate)
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

    def _count(self, compared: Compared, value: Tensor, predicate: Predicate) -> TransitionErrors:
        """The counts of one predicate after one action, fetched from the device at once."""
        changed, wanted, real = compared.changed, compared.wanted, compared.real
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
