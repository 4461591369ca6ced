"""Many states of one draft, each searched."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.task.drafts import drafts
from tests.task.test_narrow import simplified

from pdsketch.budget import Budget, current
from pdsketch.core import Draft, Phase, Posed, PreparedDraft, PreparedGoal
from pdsketch.core.rows import csr_of
from pdsketch.search.options import SEARCHES, problem_options
from pdsketch.search.packed.engine import schedule_of, search, search_many
from pdsketch.task.grounding import task_of


def searched(draft, derived, layer, inits, schedule, most=None, per_effect=False, threads=None):
    goal = PreparedGoal(draft.goal, possible=draft.possible)
    prepared = PreparedDraft(draft, derived, layer, current())
    posed = [Posed(prepared, goal, init, most) for init in inits]
    return search_many(posed, schedule, per_effect=per_effect, threads=threads)


ASTAR = (Phase("ff", 1.0, 1.0),)
SHORT = (Phase("ff", 1.0, 1.0, work=0.5),)


@given(drafts(), st.sampled_from(SEARCHES), st.integers(0, 20), st.booleans())
def test_a_search_of_a_draft_is_that_of_its_task(drawn, name, most, per_effect):
    draft, derived, layer, init = drawn
    small = simplified(draft, derived, layer, init)
    options = problem_options(search=name, heuristic="ff", max_expansions=most)
    schedule = schedule_of(options)
    (found,) = searched(draft, derived, layer, init[None], schedule, most, per_effect=per_effect)
    facts = tuple(("f", str(i)) for i in small.kept)
    task = task_of(small, facts, [("o", str(i)) for i in small.chosen])
    expected = search(task, options, per_effect=per_effect)
    assert found.status == (expected.status if small.solvable else "unsolvable")
    if small.solvable:
        assert counts(found) == counts(expected)
    plan = None if expected.plan is None else tuple(small.chosen[step] for step in expected.plan)
    assert found.plan == plan


def counts(found):
    return found.expanded, found.evaluated, found.generated


def row_of(n, *, chained=False):
    """Facts to be made true one by one, in any order, or each after the one before."""
    asked = [[2 * i + 1, *([2 * i - 2] if chained and i else [])] for i in range(n)]
    draft = Draft(
        costs=np.ones(n),
        preconditions=csr_of(asked),
        owners=np.arange(n, dtype=np.int32),
        conditions=csr_of([[] for _ in range(n)]),
        heads=csr_of([[2 * i] for i in range(n)]),
        axiom_heads=np.zeros(0, np.int32),
        axiom_bodies=csr_of([]),
        goal=2 * np.arange(n, dtype=np.int32),
        possible=True,
        groups=csr_of([]),
    )
    return draft, np.zeros(n, np.bool_), np.zeros(n, np.int32)


def test_operators_are_found_by_the_facts_that_they_ask_for():
    draft, derived, layer = row_of(5, chained=True)
    (found,) = searched(draft, derived, layer, derived[None], ASTAR)
    assert (found.status, found.plan) == ("solved", (0, 1, 2, 3, 4))


def test_plans_of_different_lengths_are_kept_beside_each_other():
    n = 30
    draft, derived, layer = row_of(n)
    inits = np.stack([np.arange(n) >= 20, derived, np.arange(n) >= 3])
    found = searched(draft, derived, layer, inits, ASTAR)
    assert [sorted(one.plan) for one in found] == [[*range(20)], [*range(n)], [*range(3)]]


@given(drafts(unit=True))
def test_work_bounds_expansions(drawn):
    draft, derived, layer, init = drawn
    (found,) = searched(draft, derived, layer, init[None], SHORT)
    assert found.expanded <= 1


@given(drafts(unit=True), st.data(), st.sampled_from([ASTAR, SHORT]), st.integers(1, 5))
def test_many_states_are_searched_as_each_alone_by_however_many_threads(drawn, data, schedule, threads):
    draft, derived, layer, init = drawn
    others = data.draw(st.lists(st.lists(st.booleans(), min_size=len(init), max_size=len(init)), max_size=3))
    inits = np.array([init, *others], np.bool_).reshape(-1, len(init))
    together = searched(draft, derived, layer, inits, schedule, 50, True, threads)
    assert together == [searched(draft, derived, layer, one[None], schedule, 50, True, 1)[0] for one in inits]


@pytest.mark.parametrize(
    ("limits", "status"), [({"seconds": 0.2}, "out-of-time"), ({"megabytes": 30}, "out-of-memory")]
)
def test_a_limit_ends_a_search_and_what_others_found_is_kept(limits, status):
    """Switches that may be thrown in any order: blind search gets to the goal from close to it alone."""
    n = 60
    draft, derived, layer = row_of(n)
    inits = np.stack([np.arange(n) >= 1, derived, derived, np.arange(n) >= 2])
    started = process_time()
    with Budget(**limits).running():
        found = searched(draft, derived, layer, inits, (Phase("blind", 1.0, 1.0),), threads=2)
    assert process_time() - started < 5
    assert [one.status for one in found][:3] == ["solved", status, status]


def test_the_next_search_of_a_schedule_begins_where_one_may_take_no_more():
    draft, derived, layer = row_of(12)
    blind, greedy = Phase("blind", 1.0, 1.0, most_evaluations=7), Phase("ff", 0.0, 1.0, lazy=True)
    (alone,) = searched(draft, derived, layer, derived[None], (greedy,))
    (found,) = searched(draft, derived, layer, derived[None], (blind, greedy))
    assert (found.status, found.plan) == ("solved", alone.plan)
    assert found.evaluated == 7 + alone.evaluated
    (found,) = searched(draft, derived, layer, derived[None], (blind, greedy), 2)
    assert (found.status, found.expanded) == ("gave-up", 2)


@pytest.mark.parametrize(("share", "expanded"), [(0.5, 5), (0.01, 1), (1.0, 10)])
def test_a_search_takes_its_share_of_the_expansions_that_are_left(share, expanded):
    draft, derived, layer = row_of(12)
    blind = Phase("blind", 1.0, 1.0)
    (found,) = searched(draft, derived, layer, derived[None], (blind._replace(share=share),), 10)
    assert (found.status, found.expanded) == ("gave-up", expanded)
    (found,) = searched(draft, derived, layer, derived[None], (blind._replace(share=share), blind), 10)
    assert (found.status, found.expanded) == ("gave-up", 10)
