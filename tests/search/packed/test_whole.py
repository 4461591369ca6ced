"""A search in one kernel does what the engine does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.task.drafts import drafts
from tests.task.test_narrow import simplified

from pdsketch.search.packed.advance import ENOUGH, EXHAUSTED, SOLVED
from pdsketch.search.packed.engine import PackedOptions, kernel_settings, search
from pdsketch.search.packed.whole import UNSOLVABLE, search_whole
from pdsketch.task.ground import task_of
from pdsketch.task.reach import draft_rows

ANSWERS = {"solved": (SOLVED,), "unsolvable": (EXHAUSTED, UNSOLVABLE), "gave-up": (ENOUGH,)}


@given(drafts(unit=True), st.sampled_from(["astar", "wastar", "gbfs"]), st.integers(0, 20), st.booleans())
def test_a_search_in_one_kernel_is_that_of_the_engine(drawn, name, most, per_effect):
    draft, derived, layer, init = drawn
    small = simplified(draft, derived, layer, init)
    options = PackedOptions(search=name, heuristic="ff", max_expansions=most)
    rows = draft_rows(draft, derived, layer)
    found = search_whole(rows, init, kernel_settings(options), 1e9, per_effect)
    facts = tuple(("f", str(i)) for i in small.kept.tolist())
    task = task_of(small, facts, [("o", str(i)) for i in small.chosen.tolist()])
    expected = search(task, options, per_effect=per_effect)
    assert found.answer in ANSWERS[expected.status]
    if small.solvable:
        counts = (expected.expanded, expected.evaluated, expected.generated)
        assert (found.expanded, found.evaluated, found.generated) == counts
    plan = [] if expected.plan is None else small.chosen[list(expected.plan)].tolist()
    assert found.plan.tolist() == plan


@given(drafts(unit=True))
def test_work_bounds_expansions(drawn):
    draft, derived, layer, init = drawn
    settings = kernel_settings(PackedOptions(search="astar", heuristic="ff"))
    found = search_whole(draft_rows(draft, derived, layer), init, settings, 0.5, False)
    assert found.expanded <= 1
