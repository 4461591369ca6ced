"""How the engine is called: limits and Ctrl-C are heard inside, and what goes wrong is an answer."""

from __future__ import annotations

import _ctypes
import signal
import subprocess
import sys
from collections import deque
from threading import Thread
from time import monotonic, process_time

import pytest
from tests.heuristics.tasks import chain, make_task

from pdsketch import core
from pdsketch.budget import UNLIMITED, Budget, OutOfTimeError
from pdsketch.core import searching
from pdsketch.search.options import problem_options
from pdsketch.search.packed.engine import schedule_of

BLIND = schedule_of(problem_options(search="astar", heuristic="blind"))


def endless():
    """Switches that may be thrown in any order, and a goal that none of them reaches."""
    facts = " ".join([*(f"x{i}" for i in range(60)), "never"])
    ways = [(f"s{i}", f"~x{i}", f"x{i}", 1.0) for i in range(60)]
    return make_task(facts, "", "never", [*ways, ("end", "never", "never", 1.0)])


class InterruptError(Exception):
    """What the handler of a signal raises here."""


@pytest.fixture
def alarm():
    """An exception in the main thread, 0.1 seconds later."""

    def ring(_signal, _frame):
        raise InterruptError

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_signal_is_heard_inside_of_a_call(alarm, monkeypatch):
    """A slice of ten seconds is cut short by what the handler raises."""
    monkeypatch.setattr(searching, "_BRIEF", 0)
    search = core.Search(endless(), BLIND, UNLIMITED)
    started = process_time()
    alarm()
    with pytest.raises(InterruptError):
        search.run(10.0, UNLIMITED)
    assert process_time() - started < 2


def test_a_signal_is_heard_between_two_slices(alarm):
    search = core.Search(endless(), BLIND, UNLIMITED)
    started = process_time()
    alarm()
    with pytest.raises(InterruptError):
        deque((search.run(0.02, UNLIMITED) for _ in range(500)), maxlen=0)
    assert process_time() - started < 2


def test_the_time_is_heard_inside_of_a_call():
    search = core.Search(endless(), BLIND, UNLIMITED)
    started, taken = monotonic(), process_time()
    with pytest.raises(OutOfTimeError):
        search.run(10.0, Budget(seconds=0.1))
    assert monotonic() - started > 0.05
    assert process_time() - taken < 2


def test_the_other_threads_go_on_while_one_is_in_the_library():
    """The interpreter's lock is released: the main thread counts while a search takes half a second."""
    search = core.Search(endless(), BLIND, UNLIMITED)
    thread = Thread(target=search.run, args=(0.5, UNLIMITED))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
    assert turns > 1000


def test_memory_that_the_system_refuses_is_an_answer():
    """No exception of C++ ends the process."""
    code = """
import resource
from tests.core.test_library import BLIND, endless
from pdsketch import core
from pdsketch.budget import UNLIMITED
search = core.Search(endless(), BLIND, UNLIMITED)
search.run(0.01, UNLIMITED)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 60_000_000, resource.RLIM_INFINITY))
try:
    search.run(60.0, UNLIMITED)
except MemoryError:
    print(search.progress().states > 1000)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


def test_a_library_that_is_none_is_told(monkeypatch):
    monkeypatch.setenv("PDSKETCH_CORE", __file__)
    code = "import pdsketch.core.library; pdsketch.core.library.library()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "no-engine" in done.stderr
    assert "make core" in done.stderr


def test_a_library_that_is_no_engine_is_told(monkeypatch):
    monkeypatch.setenv("PDSKETCH_CORE", _ctypes.__file__)
    code = "import pdsketch.core.library; pdsketch.core.library.library()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "error[no-engine]" in done.stderr
    assert "no planning engine" in done.stderr


def test_evaluations_end_when_the_time_is_over():
    task = chain(3000)
    states = task.init[None].repeat(2000, axis=0)
    evaluator = core.TaskEvaluator(task, "lmcut", None, per_effect=False, budget=UNLIMITED)
    started = process_time()
    with pytest.raises(OutOfTimeError):
        evaluator.values(states, Budget(seconds=0.1))
    assert process_time() - started < 2


def test_states_are_derived_and_go_on():
    task = make_task(
        "a b", "a", "b", [("add", "a ~b", "b", 1.0)], derived="both", axioms=[(0, "both", "a b")]
    )
    states = core.States(task)
    first = states.derived(task.init)
    assert first.tolist() == [True, False, False]
    assert states.applicable(first).tolist() == [0]
    assert states.successor(first, 0).tolist() == [True, True, True]
