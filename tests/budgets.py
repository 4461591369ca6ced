"""Budgets whose clock and meter do as they are told, and the work of a function in lines."""

from __future__ import annotations

import sys
from collections.abc import Callable

from pdsketch.budget import Budget


class Until:
    """A clock or a meter that stands at 0, and at the look number ``last`` jumps beyond every limit."""

    def __init__(self, last: float = float("inf")) -> None:
        self.last = last
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return 0.0 if self.looks < self.last else 1e15


class Steady:
    """A clock that goes on by so many seconds with each look."""

    def __init__(self, step: float = 1.0) -> None:
        self.step = step
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def out_of_time_at(look: float) -> Budget:
    """A budget whose time is up when the clock is looked at for that time."""
    return Budget(seconds=1.0, clock=Until(look + 1))  # the first look is the budget's own


def out_of_memory_at(look: float) -> Budget:
    """A budget whose memory is used up when the meter is looked at for that time; it is at every look."""
    return Budget(megabytes=1e6, clock=Steady(0.02), meter=Until(look + 1))


def work(function: Callable[[], object]) -> int:
    """How many lines of Python a function runs: its work, on any machine."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += 1
        return seen

    before = sys.gettrace()
    sys.settrace(seen)  # type: ignore[arg-type]
    try:
        function()
    finally:
        sys.settrace(before)
    return count
