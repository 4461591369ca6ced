"""Sizes that nobody means: the engine answers, or names the limit, and never takes Python along."""

from __future__ import annotations

import subprocess
import sys
from time import process_time

import numpy as np
import pytest

from pdsketch import core
from pdsketch.budget import UNLIMITED, Budget, OutOfMemoryError, OutOfTimeError, resident
from pdsketch.core import CSR, Draft, Phase, PreparedDraft, PreparedGoal, Task
from pdsketch.core.rows import csr_of, starts_of

WIDE = 2100
MANY = 10_000_000


def same(n, row):
    """The same row, ``n`` times."""
    return CSR(starts_of(np.full(n, len(row))), np.tile(np.array(row, np.int32), n))


def wide():
    """One operator that asks for 2,100 facts, each of which takes an operator to become true."""
    makers = [[2 * fact + 1] for fact in range(WIDE)]
    n = WIDE + 1
    return Task(
        tuple(("f", str(fact)) for fact in range(n)),
        n,
        np.zeros(n, np.bool_),
        np.array([2 * WIDE], np.int32),
        tuple(("o", str(op)) for op in range(n)),
        np.ones(n),
        csr_of([*makers, [2 * fact for fact in range(WIDE)]]),
        csr_of([[op] for op in range(n)]),
        csr_of([[] for _ in range(n)]),
        csr_of([[2 * fact] for fact in range(n)]),
        np.zeros(0, np.int32),
        csr_of([]),
        np.zeros(0, np.int32),
    )


@pytest.mark.parametrize(
    ("estimate", "h"), [("max", 2), ("add", WIDE + 1), ("ff", WIDE + 1), ("lmcut", WIDE + 1)]
)
def test_an_operator_may_have_thousands_of_conditions(estimate, h):
    evaluator = core.TaskEvaluator(wide(), estimate, None, per_effect=False, budget=UNLIMITED)
    assert evaluator.values(np.zeros((1, WIDE + 1), np.bool_), UNLIMITED).tolist() == [h]
    search = core.Search(wide(), (Phase("ff", 0.0, 1.0, lazy=True),), UNLIMITED)
    assert search.run(60.0, UNLIMITED) == core.SOLVED
    assert len(search.result()[0]) == WIDE + 1


def chained(n):
    """A draft in which each fact makes the next one true."""
    facts = 2 * np.arange(n, dtype=np.int32)
    one, none = starts_of(np.ones(n, np.int32)), CSR(np.zeros(n + 1, np.int32), np.zeros(0, np.int32))
    return Draft(
        costs=np.ones(n),
        preconditions=CSR(one, facts),
        owners=np.arange(n, dtype=np.int32),
        conditions=none,
        heads=CSR(one, np.minimum(facts + 2, facts[-1])),
        axiom_heads=np.zeros(0, np.int32),
        axiom_bodies=csr_of([]),
        goal=facts[-1:],
        possible=True,
        groups=csr_of([]),
    )


DRAFT, START = chained(MANY), np.zeros(MANY, np.bool_)
START[0] = True


def narrowed(budget):
    """The task of ten million facts, within a budget, from the state in which the first is true."""
    draft = PreparedDraft(DRAFT, np.zeros(MANY, np.bool_), np.zeros(MANY, np.int32), budget)
    goal = PreparedGoal(DRAFT.goal, possible=True)
    return core.narrow(draft, goal, START, np.zeros(0, np.bool_), budget)


@pytest.mark.parametrize("megabytes", [1, 300])
def test_ten_million_facts_do_not_take_more_memory_than_allowed(megabytes):
    before = resident()
    with pytest.raises(OutOfMemoryError):
        narrowed(Budget(megabytes=megabytes))
    assert resident() - before < 1.05e6 * megabytes + 20e6


@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_ten_million_facts_do_not_take_longer_than_allowed(seconds):
    started = process_time()
    with pytest.raises(OutOfTimeError):
        narrowed(Budget(seconds=seconds))
    assert process_time() - started < seconds + 2


STARVED = """
import resource
import tests.core.test_hostile as hostile
from pdsketch.budget import UNLIMITED, resident
from pdsketch import core
from pdsketch.core import Phase

with open("/proc/self/statm") as file:
    size = 4096 * int(file.read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (size + 150_000_000, -1))
for work in (
    lambda: hostile.narrowed(UNLIMITED),
    lambda: core.Search(hostile.flips(400), (Phase("blind", 1.0, 1.0),), UNLIMITED).run(60.0, UNLIMITED),
):
    try:
        work()
    except MemoryError:
        print("no memory")
"""


def flips(n):
    """Facts to be made true in any order: as many states as there are sets of them."""
    none = same(n, [])
    return Task(
        tuple(("f", str(fact)) for fact in range(n)),
        n,
        np.zeros(n, np.bool_),
        2 * np.arange(n, dtype=np.int32),
        tuple(("o", str(op)) for op in range(n)),
        np.ones(n),
        csr_of([[2 * fact + 1] for fact in range(n)]),
        csr_of([[op] for op in range(n)]),
        none,
        csr_of([[2 * fact] for fact in range(n)]),
        np.zeros(0, np.int32),
        csr_of([]),
        np.zeros(0, np.int32),
    )


@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are limited on Linux alone")
def test_a_machine_without_memory_is_an_answer():
    done = subprocess.run([sys.executable, "-c", STARVED], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n") == ["no memory", "no memory", ""], done.stderr
