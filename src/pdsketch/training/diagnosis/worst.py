"""The predictions that are furthest off: which episode, which step, what was predicted and what was seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.lang import Action, ObjectType, Predicate
from pdsketch.tensor import SHOWN, Universe, numbers
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.diagnosis.measures import Compared, gaps
from pdsketch.training.time_slice import TimeSlice
from pdsketch.training.training_set import TrainingSet

KEPT = 50
"""So many of each are kept."""

_PER_KIND = 10
"""Worst predictions that are kept of each action and predicate, so that one does not fill the list."""


T = TypeVar("T")


@final
@dataclass(frozen=True)
class WrongStep:
    """A ground variable that was mispredicted: before the action, as predicted, and as seen."""

    episode: int
    step: int
    action: str
    variable: str
    before: str
    predicted: str
    seen: str

    def __str__(self) -> str:
        return (
            f"episode {self.episode}, step {self.step}, {self.action}: {self.variable} was {self.before}, "
            f"predicted {self.predicted}, seen {self.seen}"
        )


@final
@dataclass(frozen=True)
class WrongGoal:
    """A goal that was misjudged: its soft truth, and what the data says."""

    episode: int
    state: int
    formula: str
    truth: float
    label: bool

    def __str__(self) -> str:
        return (
            f"episode {self.episode}, state {self.state}: truth {self.truth:.2f}, "
            f"should be {str(self.label).lower()}: {self.formula}"
        )


@final
class Worst:
    """Watches measurements and keeps a bounded number of wrong steps and goals.

    The worst of each action and predicate (of each kind of goal and label) come
    first, the most frequent kinds of error before the others, then the second of each, and so on.
    """

    def __init__(self, training: TrainingSet) -> None:
        self.training = training
        self._steps: dict[tuple[str, str], list[tuple[float, WrongStep]]] = defaultdict(list)
        self._goals: dict[tuple[int, bool], list[int]] = defaultdict(list)
        self._counts: dict[tuple[Any, ...], int] = defaultdict(int)

    def goals(self, states: Array, truth: Array, label: Array) -> None:
        """Note misjudged goals."""
        family = self.training.schedule.family.cpu().numpy()[self.training.dataset.goal[states]]
        wrong = truth != label
        for at, should in {(int(f), bool(s)) for f, s in zip(family[wrong], label[wrong], strict=True)}:
            rows = np.flatnonzero(wrong & (family == at) & (label == should))
            kept = self._goals[at, should]
            kept += states[rows[: KEPT - len(kept)]].tolist()
            self._counts[at, should] += len(rows)

    def effect(self, action: Action, predicate: Predicate, found: Compared) -> None:
        """Note mispredicted variables, one a step."""
        wrong = found.wrong.reshape(len(found.wrong), -1)
        rows = int(wrong.any(-1).sum())
        if not rows:
            return
        gap = gaps(found.found, found.wanted, predicate) if predicate.type.prim == "float32" else found.wrong
        # A prediction that is no number is further off than any other.
        size = torch.where(wrong, gap.reshape(wrong.shape).float().nan_to_num(nan=torch.inf), -1.0)
        most, place = size.max(-1)
        key = (action.name, predicate.name)
        self._counts[key] += rows
        order = most.argsort(descending=True, stable=True)[: min(rows, _PER_KIND)].tolist()
        kept = self._steps[key]
        kept += [
            (float(most[row]), self._step(action, predicate, found, row, int(place[row]))) for row in order
        ]
        kept.sort(key=lambda entry: -entry[0])
        del kept[_PER_KIND:]

    def _step(self, action: Action, predicate: Predicate, found: Compared, row: int, place: int) -> WrongStep:
        objects = found.wrong.shape[1:]
        index = tuple(int(i) for i in np.unravel_index(place, tuple(objects))) if objects else ()
        state = int(found.states[row])
        episode, step = placed(self.training, state)
        universe = self._universe(episode)
        types = predicate.object_types
        names = [universe.members(type_)[i] for type_, i in zip(types, index, strict=True)]
        shown = [
            brief(numbers(table[(row, *index)], predicate.type))
            for table in (found.before, found.found, found.wanted)
        ]
        return WrongStep(
            episode, step, self._action(action, state, universe), _words(predicate.name, names), *shown
        )

    def _universe(self, episode: int) -> Universe:
        arrays = self.training.dataset.arrays
        found: Universe = arrays.universes[arrays.universe[episode]]
        return found

    def _action(self, action: Action, state: int, universe: Universe) -> str:
        at = self.training.actions.index(action)
        arguments = self.training.parameters(at, self.training.dataset.place(np.array([state])))
        words = []
        for parameter in action.parameters:
            value = arguments[parameter.name][0, 0]
            if isinstance(parameter.type, ObjectType):
                words.append(universe.members(parameter.type)[int(value)])
            else:
                words.append(brief(value))
        return _words(action.name, words)

    def steps(self) -> tuple[WrongStep, ...]:
        """The wrong steps that were kept."""
        kinds = sorted(self._steps, key=lambda key: -self._counts[key])
        return _in_turn([[step for _, step in self._steps[key]] for key in kinds])

    def wrong_goals(self) -> tuple[WrongGoal, ...]:
        """The wrong goals that were kept, with their soft truth."""
        kinds = sorted(self._goals, key=lambda key: -self._counts[key])
        return _in_turn([self._told(np.array(self._goals[key])) for key in kinds])

    @torch.no_grad()
    def _told(self, states: Array) -> list[WrongGoal]:
        """Misjudged goals of one kind, those furthest off first."""
        dataset = self.training.dataset
        current = TimeSlice(self.training, self.training.model.logic, dataset.place(states))
        current.prepare(goals=True, step=False)
        truth = current.truth().float().cpu().numpy()
        label = dataset.outcomes[states]
        found = []
        for row in np.argsort(-np.abs(truth - label), kind="stable").tolist():
            episode, state = placed(self.training, int(states[row]))
            formula = dataset.arrays.goals[dataset.goal[states[row]]]
            found.append(WrongGoal(episode, state, formula, float(truth[row]), bool(label[row])))
        return found


def placed(training: TrainingSet, example: int) -> tuple[int, int]:
    """The episode of an example, and the place of its state there."""
    dataset = training.dataset
    episode = int(dataset.episode[example])
    return episode, int(dataset.state[example] - dataset.arrays.starts[episode])


def brief(value: Tensor) -> str:
    """A value in a few characters."""
    flat = value.detach().flatten().tolist()
    words = [str(v).lower() if isinstance(v, bool) else f"{v:.4g}" for v in flat[:SHOWN]]
    if not value.dim():
        return words[0]
    more = f", … {len(flat)} numbers" if len(flat) > SHOWN else ""
    return f"[{', '.join(words)}{more}]"


def _words(name: str, arguments: Iterable[str]) -> str:
    return f"({' '.join([name, *arguments])})"


def _in_turn(lists: Sequence[Sequence[T]]) -> tuple[T, ...]:
    """The first of each list, then the second of each, and so on, up to `KEPT`."""
    found = [item for turn in zip_longest(*lists) for item in turn if item is not None]
    return tuple(found[:KEPT])
