"""Time limits are about planning, not about compiling kernels."""

from __future__ import annotations

import time

import numba

from pdsketch import budget as clock
from pdsketch.kernels.aside import Announcement


def test_the_clock_goes() -> None:
    before = clock.now()
    time.sleep(0.01)
    assert clock.now() - before >= 0.01


def test_the_clock_stands_still_while_a_kernel_is_compiled() -> None:
    @numba.njit
    def square(value: float) -> float:
        return value * value

    @numba.njit
    def squares(count: int) -> float:
        total = 0.0
        for value in range(count):
            total += square(value)
        return total

    before, wall = clock.now(), time.monotonic()
    assert squares(3) == 5.0
    assert clock.now() - before < (time.monotonic() - wall) / 2


def test_who_waits_for_compilation_is_told_once(capfd):
    told = Announcement(after=0.05)
    for wait in (0.03, 0.0, 0.04, 0.2):  # all in all, more than that; kernels within kernels
        told.on_start(None)
        told.on_start(None)
        time.sleep(wait)
        told.on_end(None)
        told.on_end(None)
    assert capfd.readouterr().err.count("compiling the planner's kernels") == 1


def test_a_short_compilation_and_a_long_search_say_nothing(capfd):
    told = Announcement(after=0.2)
    told.on_start(None)
    told.on_end(None)
    time.sleep(0.4)
    assert not capfd.readouterr().err
