"""The figures of a measurement: goals by kind, effects by action and predicate, preconditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, final

import numpy as np

from pdsketch.training.data.episode_arrays import Array


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

    @property
    def accuracy(self) -> float:
        """The part of all variables that was predicted right."""
        return 1.0 - self.wrong / max(1, self.variables)

    @property
    def no_change(self) -> float:
        """What a model would score that predicts no change."""
        return 1.0 - self.changed / max(1, self.variables)

    def as_json(self) -> dict[str, Any]:
        """Counts and rates."""
        return {
            **asdict(self),
            "error": self.wrong / max(1, self.variables),
            "error_changed": self.wrong_changed / max(1, self.changed),
            "distance": self.distance / max(1, self.variables),
            "right_changed": self.right_changed,
            "right_unchanged": self.right_unchanged,
            "no_change": self.no_change,
        }


@final
@dataclass(frozen=True)
class Measures:
    """Goal accuracy and transition errors on some episodes.

    ``goals`` are the kinds of goals, ``by_goal`` ``[g, 4]`` the counts of each
    formula of the data (as in `Judged`). ``effects`` are the errors by action and
    predicate, ``preconditions`` those of learned preconditions, by action, where the
    data has ``executable``. ``steps_right`` counts steps of which every variable was
    predicted right, ``steps_still`` those in which nothing changed, of ``steps``.
    """

    goals: tuple[GoalKind, ...]
    effects: Mapping[str, Mapping[str, TransitionErrors]]
    preconditions: Mapping[str, Judged]
    steps: int
    steps_right: int
    steps_still: int
    predicates: tuple[str, ...] = ()
    by_goal: Array = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64), repr=False)

    @property
    def judged(self) -> Judged:
        """All goals together."""
        return Judged.of(self.by_goal)

    @property
    def positives(self) -> int:
        """The states in which the goal held."""
        return self.judged.positives

    @property
    def negatives(self) -> int:
        """The states in which it did not."""
        return self.judged.negatives

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

    @property
    def transitions(self) -> dict[str, TransitionErrors]:
        """The errors by predicate, over all actions."""
        found = {name: TransitionErrors() for name in self.predicates}
        for effects in self.effects.values():
            for name, errors in effects.items():
                found[name].add(errors)
        return found

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        judged = self.judged
        return {
            "goal_accuracy": self.goal_accuracy,
            "goal_accuracy_positives": judged.right_positives / max(1, judged.positives),
            "goal_accuracy_negatives": judged.right_negatives / max(1, judged.negatives),
            "goal_always_false": judged.always_false,
            "goal_balanced": judged.balanced,
            "positives": judged.positives,
            "negatives": judged.negatives,
            "step_accuracy": self.step_accuracy,
            "step_no_change": self.no_change,
            "steps": self.steps,
            "goals": [kind.as_json() for kind in self.goals],
            "transitions": {name: found.as_json() for name, found in self.transitions.items()},
            "effects": {
                action: {name: found.as_json() for name, found in effects.items()}
                for action, effects in self.effects.items()
            },
            "preconditions": {name: found.as_json() for name, found in self.preconditions.items()},
        }
