"""Many states of one draft, each searched."""

from __future__ import annotations

from operator import le
from time import monotonic

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.task.drafts import drafts
from tests.task.test_narrow import simplified

from pdsketch.budget import Budget, OutOfMemoryError, OutOfTimeError, current
from pdsketch.core import Posed
from pdsketch.core.rows import csr_of
from pdsketch.search.options import problem_options
from pdsketch.search.packed.engine import search, search_many
from pdsketch.task.draft import Draft
from pdsketch.task.grounding import task_of
from pdsketch.task.narrowing import prepare, prepare_goal


def searched(draft, derived, layer, inits, options, work=1e9, per_effect=False, threads=None):
    goal = prepare_goal(draft.goal, (), possible=draft.possible)
    prepared = prepare(draft, derived, layer, current())
    most = 1 << 40 if options.max_expansions is None else options.max_expansions
    posed = [Posed(prepared, goal, init, most) for init in inits]
    return search_many(posed, options, work, per_effect=per_effect, threads=threads)


ASTAR = problem_options(search="astar", heuristic="ff")


@given(drafts(), st.sampled_from(["astar", "wastar", "gbfs"]), st.integers(0, 20), st.booleans())
def test_a_search_of_a_draft_is_that_of_its_task(drawn, name, most, per_effect):
    draft, derived, layer, init = drawn
    small = simplified(draft, derived, layer, init)
    options = problem_options(search=name, heuristic="ff", max_expansions=most)
    (found,) = searched(draft, derived, layer, init[None], options, per_effect=per_effect)
    facts = tuple(("f", str(i)) for i in small.kept.tolist())
    task = task_of(small, facts, [("o", str(i)) for i in small.chosen.tolist()])
    expected = search(task, options, per_effect=per_effect)
    assert found.is_solved == (expected.status == "solved")
    counts = (expected.expanded, expected.evaluated, expected.generated)
    if found.is_solved:  # the goal and siblings of it may be left out
        assert all(map(le, found[1:4], counts))
    elif small.solvable:
        assert found[1:4] == counts
    plan = [] if expected.plan is None else small.chosen[list(expected.plan)].tolist()
    assert found.plan == plan


def row_of(n, *, chained=False):
    """Facts to be made true one by one, in any order, or each after the one before."""
    asked = [[2 * i + 1, *([2 * i - 2] if chained and i else [])] for i in range(n)]
    draft = Draft(
        rules=np.arange(n, dtype=np.int32),
        origins=np.zeros(n, np.int32),
        costs=np.ones(n),
        preconditions=csr_of(asked),
        owners=np.arange(n, dtype=np.int32),
        conditions=csr_of([[] for _ in range(n)]),
        heads=csr_of([[2 * i] for i in range(n)]),
        axiom_heads=np.zeros(0, np.int32),
        axiom_bodies=csr_of([]),
        goal=2 * np.arange(n, dtype=np.int32),
        possible=True,
        groups=(),
    )
    return draft, np.zeros(n, np.bool_), np.zeros(n, np.int32)


def test_operators_are_found_by_the_facts_that_they_ask_for():
    draft, derived, layer = row_of(5, chained=True)
    (found,) = searched(draft, derived, layer, derived[None], ASTAR)
    assert (found.is_solved, found.plan) == (True, [0, 1, 2, 3, 4])


def test_plans_of_different_lengths_are_kept_beside_each_other():
    n = 30
    draft, derived, layer = row_of(n)
    inits = np.stack([np.arange(n) >= 20, derived, np.arange(n) >= 3])
    found = searched(draft, derived, layer, inits, ASTAR, 1e9, False)
    assert [sorted(one.plan) for one in found] == [[*range(20)], [*range(n)], [*range(3)]]


@given(drafts(unit=True))
def test_work_bounds_expansions(drawn):
    draft, derived, layer, init = drawn
    (found,) = searched(draft, derived, layer, init[None], ASTAR, 0.5, False)
    assert found.expanded <= 1


@given(drafts(unit=True), st.data(), st.sampled_from([1e9, 0.5]), st.integers(1, 5))
def test_many_states_are_searched_as_each_alone_by_however_many_threads(drawn, data, work, threads):
    draft, derived, layer, init = drawn
    others = data.draw(st.lists(st.lists(st.booleans(), min_size=len(init), max_size=len(init)), max_size=3))
    inits = np.array([init, *others], np.bool_).reshape(-1, len(init))
    together = searched(draft, derived, layer, inits, ASTAR, work, True, threads)
    assert together == [searched(draft, derived, layer, one[None], ASTAR, work, True, 1)[0] for one in inits]


@pytest.mark.parametrize(
    ("limits", "error"), [({"seconds": 0.2}, OutOfTimeError), ({"megabytes": 30}, OutOfMemoryError)]
)
def test_a_limit_ends_the_searches_of_all_threads(limits, error):
    """Switches that may be thrown in any order, and a goal that blind search does not get to."""
    n = 60
    draft, derived, layer = row_of(n)
    blind = problem_options(search="astar", heuristic="blind")
    started = monotonic()
    with Budget(**limits).running(), pytest.raises(error):
        searched(draft, derived, layer, np.stack([derived] * 4), blind, threads=2)
    assert monotonic() - started < 5
