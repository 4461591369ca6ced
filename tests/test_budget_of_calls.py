"""One budget of time and memory: what it lets pass, what it stops, and what does not count."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from tests.budgets import Until, out_of_memory_at, out_of_time_at

from pdsketch.budget import (
    UNLIMITED,
    Budget,
    OutOfMemoryError,
    OutOfTimeError,
    current,
)


class Hand:
    """A clock or a meter that is set by hand."""

    def __init__(self) -> None:
        self.value = 0.0

    def __call__(self) -> float:
        return self.value


def made(seconds=None, megabytes=None):
    clock, meter = Hand(), Hand()
    return Budget(seconds, megabytes, clock=clock, meter=meter), clock, meter


def test_time_runs_out_after_the_deadline_and_not_before():
    budget, clock, _ = made(seconds=2)
    clock.value = 2.0
    budget.check()
    assert budget.left() == 0
    clock.value = 2.1
    with pytest.raises(OutOfTimeError) as stopped:
        budget.check()
    assert stopped.value.status == "out-of-time"


def test_memory_is_what_the_process_grew_by():
    clock, meter = Hand(), Hand()
    meter.value = 7e9
    budget = Budget(megabytes=10, clock=clock, meter=meter)
    meter.value += 9e6
    budget.check()
    assert budget.room() == 1e6
    meter.value += 2e6
    clock.value += 1.0  # the meter is not read at every check
    with pytest.raises(OutOfMemoryError) as stopped:
        budget.check()
    assert stopped.value.status == "out-of-memory"


def test_the_meter_is_read_again_when_some_time_has_passed():
    clock, meter = Hand(), Until()
    budget = Budget(megabytes=10, clock=clock, meter=meter)
    for _ in range(100):
        budget.check()
    few = meter.looks
    assert few < 5
    clock.value = 1.0
    budget.check()
    assert meter.looks == few + 1


def test_what_would_not_fit_is_refused_before_it_is_taken():
    budget, _, meter = made(megabytes=10)
    meter.value = 4e6
    assert budget.fits(6e6)
    budget.reserve(6e6)
    assert not budget.fits(6.1e6)
    with pytest.raises(OutOfMemoryError):
        budget.reserve(6.1e6)


def test_memory_that_a_call_says_it_holds_counts_where_the_process_did_not_grow():
    budget, _, _ = made(megabytes=10)
    budget.hold(8e6)
    assert budget.room() == 2e6
    with pytest.raises(OutOfMemoryError):
        budget.hold(11e6)


def test_short_steps_look_at_the_clock_now_and_then():
    budget = out_of_time_at(2)

    def loop():
        for _ in range(10_000):
            budget.tick()

    with pytest.raises(OutOfTimeError):
        loop()


def test_a_part_of_a_call_does_not_reach_beyond_it():
    budget, clock, meter = made(seconds=5, megabytes=10)
    meter.value, clock.value = 4e6, 1.0
    assert budget.narrowed(seconds=10).left() == 4
    assert budget.narrowed(seconds=2).left() == 2
    assert budget.narrowed(megabytes=100).room() == 6e6
    assert budget.narrowed(megabytes=1).room() == 1e6
    assert UNLIMITED.narrowed(megabytes=1).memory == 1e6


def test_a_little_more_is_granted_for_last_words():
    budget, clock, meter = made(seconds=10, megabytes=100)
    clock.value, meter.value = 10.5, 101e6
    budget.grace().check()
    clock.value = 10.9
    with pytest.raises(OutOfTimeError):
        budget.grace().check()
    clock.value, meter.value = 10.0, 140e6
    with pytest.raises(OutOfMemoryError):
        budget.grace().check()


def test_without_limits_nothing_is_refused():
    assert current() is UNLIMITED
    UNLIMITED.check()
    UNLIMITED.reserve(1e30)
    assert UNLIMITED.fits(1e30)
    assert UNLIMITED.left() == float("inf")


def test_a_running_budget_is_the_current_one_of_its_thread():
    found = []
    with out_of_memory_at(10).running() as budget:
        assert current() is budget
        other = threading.Thread(target=lambda: found.append(current()))
        other.start()
        other.join()
    assert found == [UNLIMITED]
    assert current() is UNLIMITED


def test_an_import_takes_neither_time_nor_memory():
    # In a process of its own: another's memory may shrink while this one grows.
    alone = """
import time
from pdsketch.budget import apart, now, taken
seconds, size = now() - time.monotonic(), taken()
with apart():
    block = b"1" * 50_000_000
    time.sleep(0.02)
assert now() - time.monotonic() - seconds <= -0.02
assert taken() - size < 0.2 * len(block), taken() - size
other = b"1" * 50_000_000
assert taken() - size > 0.8 * len(block), taken() - size
"""
    done = subprocess.run([sys.executable, "-c", alone], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
