"""Where each blank is used: in effects, in goals, in preconditions, as an encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from pdsketch.training.training_set import TrainingSet


@final
@dataclass
class Uses:
    """The uses of one blank, through derived predicates too.

    ``values`` and ``gates`` are effects, each an action and the predicate that it
    writes; ``goals`` are indices of the training's goals; ``preconditions`` are actions;
    ``encodes`` is the encoded variable whose body calls it, if one does.
    """

    values: set[tuple[str, str]] = field(default_factory=set)
    gates: set[tuple[str, str]] = field(default_factory=set)
    goals: set[int] = field(default_factory=set)
    preconditions: set[str] = field(default_factory=set)
    encodes: str | None = None


def uses_of(training: TrainingSet) -> dict[str, Uses]:
    """The uses of every blank of a training set's domain."""
    domain = training.domain
    found = {name: Uses() for name in domain.blanks}
    for predicate in domain.predicates.values():
        if predicate.role == "encoded" and predicate.body is not None:
            for name in domain.analysis.blanks(predicate.body, encoders=False):
                found[name].encodes = predicate.name
    for action in domain.actions.values():
        for update in action.effects:
            effect = (action.name, update.target.predicate)
            for name in domain.analysis.blanks(update.condition, encoders=False):
                found[name].gates.add(effect)
            if update.value is not None:
                for name in domain.analysis.blanks(update.value, encoders=False):
                    found[name].values.add(effect)
        for name in domain.analysis.blanks(action.precondition, encoders=False):
            found[name].preconditions.add(action.name)
    for at, goal in enumerate(training.goals):
        for name in domain.analysis.blanks(goal):
            found[name].goals.add(at)
    return found
