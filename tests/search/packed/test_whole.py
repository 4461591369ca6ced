"""A search in one kernel does what the engine does."""

from __future__ import annotations

from operator import le

import numpy as np
from hypothesis import given, strategies as st
from tests.task.drafts import drafts
from tests.task.test_narrow import simplified

from pdsketch.kernels.csr import csr_of
from pdsketch.search.options import problem_options
from pdsketch.search.packed.advance import ENOUGH, EXHAUSTED, SOLVED
from pdsketch.search.packed.engine import kernel_settings, search
from pdsketch.search.packed.whole import UNSOLVABLE, search_whole
from pdsketch.task.draft import Draft
from pdsketch.task.grounding import task_of
from pdsketch.task.reach import draft_rows

ANSWERS = {"solved": (SOLVED,), "unsolvable": (EXHAUSTED, UNSOLVABLE), "gave-up": (ENOUGH,)}


@given(drafts(unit=True), st.sampled_from(["astar", "wastar", "gbfs"]), st.integers(0, 20), st.booleans())
def test_a_search_in_one_kernel_is_that_of_the_engine(drawn, name, most, per_effect):
    draft, derived, layer, init = drawn
    small = simplified(draft, derived, layer, init)
    options = problem_options(search=name, heuristic="ff", max_expansions=most)
    rows = draft_rows(draft, derived, layer)
    (found,) = search_whole(rows, init[None], kernel_settings(options), 1e9, per_effect)
    facts = tuple(("f", str(i)) for i in small.kept.tolist())
    task = task_of(small, facts, [("o", str(i)) for i in small.chosen.tolist()])
    expected = search(task, options, per_effect=per_effect)
    assert found.answer in ANSWERS[expected.status]
    counts = (expected.expanded, expected.evaluated, expected.generated)
    if found.answer == SOLVED:  # the goal and siblings of it are left out
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
    settings = kernel_settings(problem_options(search="astar", heuristic="ff"))
    (found,) = search_whole(draft_rows(draft, derived, layer), derived[None], settings, 1e9, False)
    assert (found.answer, found.plan) == (SOLVED, [0, 1, 2, 3, 4])


def test_a_search_that_outgrows_its_first_room_begins_anew():
    """Nine facts to be made true one by one: blind search meets all 512 states."""
    n = 9
    draft, derived, layer = row_of(n)
    options = problem_options(search="astar", heuristic="blind")
    rows = draft_rows(draft, derived, layer)
    (found,) = search_whole(rows, derived[None], kernel_settings(options), 1e9, False)
    small = simplified(draft, derived, layer, derived)
    expected = search(task_of(small, tuple(("f", str(i)) for i in range(n)), [("o",)] * n), options)
    assert expected.states == 2**n
    assert (found.answer, found.expanded + 1, tuple(found.plan)) == (SOLVED, expected.expanded, expected.plan)


def test_plans_that_are_longer_than_there_is_room_for_are_kept_beside_others():
    n = 30
    draft, derived, layer = row_of(n)
    inits = np.stack([np.arange(n) >= 20, derived, np.arange(n) >= 3])  # room for 48 steps at first
    settings = kernel_settings(problem_options(search="astar", heuristic="ff"))
    found = search_whole(draft_rows(draft, derived, layer), inits, settings, 1e9, False)
    assert [sorted(one.plan) for one in found] == [[*range(20)], [*range(n)], [*range(3)]]


def test_what_a_call_has_no_work_left_for_is_searched_by_the_next():
    """Each search takes no more than the work that is allowed, all of them together take more."""
    n = 4
    draft, derived, layer = row_of(n)
    inits = np.array([[number >> i & 1 for i in range(n)] for number in range(2**n)], np.bool_)
    settings = kernel_settings(problem_options(search="astar", heuristic="ff"))
    found = search_whole(draft_rows(draft, derived, layer), inits, settings, 10.0, False)
    assert [sorted(one.plan) for one in found] == [np.flatnonzero(~init).tolist() for init in inits]
    assert max(one.evaluated for one in found) <= 10 < sum(one.evaluated for one in found)


@given(drafts(unit=True))
def test_work_bounds_expansions(drawn):
    draft, derived, layer, init = drawn
    settings = kernel_settings(problem_options(search="astar", heuristic="ff"))
    (found,) = search_whole(draft_rows(draft, derived, layer), init[None], settings, 0.5, False)
    assert found.expanded <= 1


@given(drafts(unit=True), st.data(), st.sampled_from([1e9, 0.5]))
def test_many_states_are_searched_as_each_alone(drawn, data, work):
    """Also where each call of the kernel stops after one state, as all work is spent by then."""
    draft, derived, layer, init = drawn
    others = data.draw(st.lists(st.lists(st.booleans(), min_size=len(init), max_size=len(init)), max_size=3))
    inits = np.array([init, *others], np.bool_).reshape(-1, len(init))
    settings = kernel_settings(problem_options(search="astar", heuristic="ff"))
    rows = draft_rows(draft, derived, layer)
    together = search_whole(rows, inits, settings, work, True)
    assert together == [search_whole(rows, one[None], settings, work, True)[0] for one in inits]
