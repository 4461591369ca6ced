"""Decision trees from weighted examples, grown best first (as of Shi, 2007), with readings as tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from pdsketch.nets import NEAR, Condition, InputReading, Node

Array = np.ndarray[Any, Any]

MOST_VALUES: Final = 64
"""A tree of more leaves, a table of more rows, a choice between more numbers is no simple function: it costs
as much as a network.
"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReadingRows:
    """Distinct rows of readings ``values [row, reading]``, the ``weights`` of each class ``[row, class]``."""

    readings: tuple[InputReading, ...]
    values: Array
    weights: Array

    @staticmethod
    def of(
        readings: Sequence[InputReading], values: Array, classes: Array, weights: Array, count: int
    ) -> ReadingRows:
        """Equal rows as one: the ``values`` of some ``readings``, with ``weights`` and ``classes``, of which
        there are ``count``.
        """
        if not len(readings):
            return ReadingRows((), np.zeros((1, 0)), np.bincount(classes, weights, count)[None])
        rows, place = np.unique(values, axis=0, return_inverse=True)
        place = place.reshape(-1)
        total: Array = np.zeros((len(rows), count))
        np.add.at(total, (place, classes), weights)
        return ReadingRows(tuple(readings), rows, total)


@final
class Grown:
    """A tree of many leaves; `of` is the one of fewer that it was on the way."""

    def __init__(self, rows: ReadingRows, allowed: Sequence[int]) -> None:
        self._rows, self._allowed = rows, allowed
        self._steps = [step(rows.values[:, at]) for at in range(len(rows.readings))]
        self._totals = [rows.weights.sum(0)]
        self._splits: dict[int, tuple[Condition, int]] = {}
        self.order: list[int] = []
        self._grow()

    def _grow(self) -> None:
        members = {0: np.arange(len(self._rows.values))}
        waiting = {0: self._best(members[0])}
        while waiting and len(members) < MOST_VALUES:
            at = max(waiting, key=lambda node: waiting[node][0])
            _, test, column = waiting.pop(at)
            total = self._totals[at]
            if test is None or total.sum() - total.max() < 1e-9:
                continue
            own = members.pop(at)
            held = _holds(test, self._rows.values[own, column])
            self._splits[at] = test, len(self._totals)
            self.order.append(at)
            for some in (own[held], own[~held]):
                members[len(self._totals)] = some
                self._totals.append(self._rows.weights[some].sum(0))
                waiting[len(self._totals) - 1] = self._best(some)

    def _best(self, members: Array) -> tuple[float, Condition | None, int]:
        """The test that lowers Gini's impurity most."""
        weights = self._rows.weights[members]
        base = _impurity(weights.sum(0))
        found: tuple[float, Condition | None, int] = (-1.0, None, 0)
        if base < 1e-12:
            return found
        for at in self._allowed:
            reading = self._rows.readings[at]
            values, place = np.unique(self._rows.values[members, at], return_inverse=True)
            if len(values) < 2:
                continue
            each = np.stack([np.bincount(place, own, len(values)) for own in weights.T], 1)
            for order, tests, yes in _splits(reading, values, each):
                gains = base - _impurity(yes) - _impurity(each.sum(0) - yes)
                k = int(gains.argmax())
                gain = float(gains[k]) * (1.2 - 0.2 * reading.price)  # of what is nearly as good the cheaper
                gain *= 0.97 if not order and not reading.is_discrete else 1.0
                if gain > found[0] + 1e-12:
                    near = 0.0 if reading.is_discrete else NEAR * self._steps[at]
                    found = gain, Condition(reading, float(tests[k]), 0.0 if order else near, order), at
        return found if found[0] > 1e-9 else (-1.0, None, 0)

    def sizes(self) -> Iterator[int]:
        """The numbers of leaves that are worth a look: small ones, then ever larger ones, and all."""
        full = len(self.order) + 1
        yield from (n for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32) if n < full)
        yield full

    def of(self, leaves: int) -> tuple[list[Condition], Node, Array]:
        """Tests, the tree of so many leaves, and the weights of the classes in each leaf."""
        cut, tests, ends = set(self.order[: leaves - 1]), list[Condition](), list[Array]()

        def node(at: int) -> Node:
            if at not in cut:
                ends.append(self._totals[at])
                return len(ends) - 1
            test, first = self._splits[at]
            tests.append(test)
            return len(tests) - 1, *_both(node, first)

        found = node(0)
        return tests, found, np.array(ends)


def _both(node: Any, first: int) -> tuple[Node, Node]:
    return node(first), node(first + 1)


def _splits(reading: InputReading, values: Array, each: Array) -> Iterator[tuple[bool, Array, Array]]:
    """Whether it is by order, the values to compare with, and the weights of the classes where it holds."""
    if len(values) <= MOST_VALUES:
        yield False, values, each
    if not reading.is_discrete:
        yield True, (values[1:] + values[:-1]) / 2, each.cumsum(0)[:-1]


def _impurity(weights: Array) -> Any:
    total = weights.sum(-1)
    return total - (weights**2).sum(-1) / np.maximum(total, 1e-12)


def _holds(test: Condition, values: Array) -> Array:
    held: Array = values <= test.value if test.order else np.abs(values - test.value) <= test.tolerance + 1e-6
    return held


def step(values: Array) -> float:
    """The smallest step between the values of a reading."""
    steps = np.diff(np.unique(values))
    return float(steps.min()) if len(steps) else 1.0
