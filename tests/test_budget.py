"""The budget of a call, by a clock and a meter of our own."""

from __future__ import annotations

from collections import deque
from threading import Event, Thread

import pytest

from pdsketch import budget
from pdsketch.budget import Aside, Budget, OutOfMemoryError, OutOfTimeError, current


class World:
    """Time and memory as the test says."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.bytes = 5e9

    def budget(self, seconds=None, megabytes=None) -> Budget:
        return Budget(seconds, megabytes, clock=lambda: self.seconds, meter=lambda: self.bytes)

    def goes_on(self, seconds: float = 0.0, megabytes: float = 0.0) -> None:
        self.seconds += seconds
        self.bytes += megabytes * 1e6


def test_time_counts_from_the_beginning_of_the_call():
    world = World()
    ours = world.budget(seconds=2)
    world.goes_on(1.9)
    ours.check()
    assert ours.left() == pytest.approx(0.1)
    world.goes_on(0.2)
    with pytest.raises(OutOfTimeError):
        ours.check()


def test_what_the_process_held_before_is_not_the_calls():
    world = World()
    ours = world.budget(megabytes=10)
    world.goes_on(1, 9)
    ours.check()
    assert ours.room() == pytest.approx(1e6)
    world.goes_on(1, 2)
    with pytest.raises(OutOfMemoryError):
        ours.check()


def test_a_part_of_a_call_does_not_reach_beyond_it():
    world = World()
    outer = world.budget(seconds=2, megabytes=10)
    world.goes_on(1, 6)
    inner = outer.narrowed(seconds=60, megabytes=100)
    world.goes_on(1.5)
    with pytest.raises(OutOfTimeError):
        inner.check()
    world.goes_on(-1.5)
    assert inner.room() == pytest.approx(4e6)
    closer = outer.narrowed(seconds=0.1, megabytes=1)
    world.goes_on(0.2)
    with pytest.raises(OutOfTimeError):
        closer.check()
    outer.check()


def test_what_a_call_says_that_it_holds_counts_though_the_process_did_not_grow():
    ours = World().budget(megabytes=10)
    ours.hold(9e6)
    assert not ours.fits(2e6)
    with pytest.raises(OutOfMemoryError):
        ours.hold(11e6)


def test_room_is_asked_for_before_it_is_taken():
    ours = World().budget(megabytes=10)
    ours.reserve(9e6)
    with pytest.raises(OutOfMemoryError):
        ours.reserve(11e6)


def test_short_steps_look_at_the_clock_now_and_then():
    world = World()
    ours = world.budget(seconds=1)
    world.goes_on(2)
    with pytest.raises(OutOfTimeError):
        deque((ours.tick() for _ in range(10_000)), maxlen=0)


def test_a_little_more_is_left_to_say_what_was_found():
    world = World()
    ours = world.budget(seconds=10, megabytes=100)
    world.goes_on(10.2, 101)
    with pytest.raises(OutOfTimeError):
        ours.check()
    ours.grace().check()
    world.goes_on(1)
    with pytest.raises(OutOfTimeError):
        ours.grace().check()


def test_a_budget_is_that_of_its_call_alone():
    before = current()
    ours = World().budget(seconds=1)
    with ours.running():
        assert current() is ours
    assert current() is before


def test_what_is_put_aside_does_not_count_however_it_is_nested():
    now = [0.0]
    aside = Aside(lambda: now[0])
    with aside:
        now[0] = 3.0
        with aside:
            now[0] = 4.0
            assert aside.total == 4.0
        now[0] = 6.0
    now[0] = 99.0
    assert aside.total == 6.0


def test_the_time_and_the_memory_of_imports_are_not_counted(monkeypatch):
    size, time = [10e6], [5.0]
    monkeypatch.setattr(budget, "resident", lambda: size[0])
    monkeypatch.setattr(budget, "monotonic", lambda: time[0])
    monkeypatch.setattr(budget, "_BYTES", Aside(lambda: size[0]))
    monkeypatch.setattr(budget, "_SECONDS", Aside(lambda: time[0]))
    before, started = budget.taken(), budget.now()
    with budget.apart():
        size[0] += 50e6
        time[0] += 60.0
    assert (budget.taken(), budget.now()) == (before, started)
    size[0] += 1e6
    time[0] += 1.0
    assert (budget.taken(), budget.now()) == (before + 1e6, started + 1.0)


def test_an_import_that_fails_ends_what_is_put_aside():
    now = [0.0]
    aside = Aside(lambda: now[0])

    def load():
        with aside:
            now[0] = 2.0
            raise ImportError

    with pytest.raises(ImportError):
        load()
    now[0] = 5.0
    assert aside.total == 2.0


def test_what_another_thread_imports_stays_aside():
    now, inside, over = [0.0], Event(), Event()
    aside = Aside(lambda: now[0])

    def load():
        with aside:
            inside.set()
            over.wait()

    other = Thread(target=load)
    other.start()
    inside.wait()
    with aside:
        now[0] = 3.0
    now[0] = 4.0
    assert aside.total == 4.0
    over.set()
    other.join()
