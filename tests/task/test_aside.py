"""Time limits are about planning, not about compiling kernels."""

from __future__ import annotations

import time

import numba

from pdsketch import budget as clock


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
