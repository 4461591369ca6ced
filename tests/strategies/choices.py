"""Where random choices come from: Hypothesis, which can shrink them, or a seed, which varies them more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Choices(Protocol):
    """What the generators ask of chance."""

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        ...

    def number(self, low: int, high: int) -> int:
        """A number between two others, both included."""
        ...

    def coin(self) -> bool:
        """Heads or tails."""
        ...

    def some(self, options: Sequence[T], low: int, high: int, *, unique: bool = False) -> list[T]:
        """A list of options, so and so long."""
        ...


class Drawn:
    """Choices that Hypothesis makes, and shrinks when a test fails."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def pick(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def coin(self) -> bool:
        return self._draw(st.booleans())

    def some(self, options: Sequence[T], low: int, high: int, *, unique: bool = False) -> list[T]:
        if not options:
            return []
        return self._draw(st.lists(st.sampled_from(options), min_size=low, max_size=high, unique=unique))


class Seeded:
    """Choices of a random number generator."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def coin(self) -> bool:
        return self._random.random() < 0.5

    def some(self, options: Sequence[T], low: int, high: int, *, unique: bool = False) -> list[T]:
        if not options:
            return []
        high = min(high, len(options)) if unique else high
        length = self._random.randint(low, high)
        return self._random.sample(options, length) if unique else self._random.choices(options, k=length)


def chosen(draw: Draw, make: Callable[[Choices], T], lively: Callable[[T], bool]) -> T:
    """Something made of choices: by a seed for the most part, by Hypothesis to make a failure small.

    Of what comes from seeds, a few are tried until one is lively.
    """
    if draw(st.integers(0, 9)) == 0:  # of ten, for Hypothesis takes six times as long
        return make(Drawn(draw))
    seed = draw(st.integers(1, 2**32))
    made = make(Seeded(seed))
    for attempt in range(1, 5):
        if lively(made):
            break
        made = make(Seeded(seed + attempt * 2**32))
    return made
