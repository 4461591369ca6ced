"""Drafts narrowed by the engine are those that the reference narrows."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.task import reference
from tests.task.drafts import Facts, drafts, simplify

from pdsketch.budget import Budget, OutOfMemoryError, OutOfTimeError, current
from pdsketch.core import Draft, PreparedDraft, PreparedGoal, narrow
from pdsketch.core.rows import CSR, csr_of

NONE = np.zeros(0, np.bool_)


def simplified(draft, derived, layer, init):
    start = np.zeros(len(derived), np.bool_)
    start[: len(init)] = init
    return simplify(draft, Facts(start, np.zeros_like(start), derived, layer), current())


def check(found, expected):
    for name, other in expected.items():
        own = getattr(found if name in ("solvable", "kept", "chosen", "possible") else found.task, name)
        if isinstance(own, CSR):
            own = [row.tolist() for row in own]
        assert (own if isinstance(own, bool | int | list) else list(own)) == other, name


@given(drafts(recursive=True), st.data())
def test_what_is_left_of_a_draft_is_what_the_reference_leaves(drawn, data):
    draft, derived, layer, init = drawn
    free = init & np.array(
        data.draw(st.lists(st.booleans(), min_size=len(init), max_size=len(init))), np.bool_
    )
    n_ops = len(draft.costs)
    if n_ops > 1 and data.draw(st.booleans()):
        first = data.draw(st.integers(1, n_ops - 1))
        draft = replace(draft, groups=csr_of([range(first), range(first, n_ops)]))
    facts = Facts(init, free, derived, layer)
    check(simplify(draft, facts, current()), reference.narrowed(draft, facts))


@given(drafts(recursive=True), st.data())
def test_a_goal_may_be_added_with_facts_of_its_own(drawn, data):
    draft, derived, layer, init = drawn
    n = len(derived)
    axioms = []
    for new in range(n, n + data.draw(st.integers(1, 3))):
        below = st.one_of(
            st.integers(0, 2 * n - 1),
            st.integers(2 * n, 2 * new - 1) if new > n else st.nothing(),
        )
        axioms += [
            (new, body) for body in data.draw(st.lists(st.lists(below, max_size=2), min_size=1, max_size=3))
        ]
    top = 1 + max(head for head, _ in axioms)
    wanted = replace(draft, goal=np.array([2 * (top - 1), *draft.goal.tolist()], np.int32))
    more = Facts(
        np.concatenate([init, np.zeros(top - n, np.bool_)]),
        np.zeros(top, np.bool_),
        np.concatenate([derived, np.ones(top - n, np.bool_)]),
        np.concatenate([layer, np.arange(9, 9 + top - n, dtype=np.int32)]).astype(np.int32),
    )
    heads, bodies = np.array([head for head, _ in axioms]), csr_of([body for _, body in axioms])
    goal = PreparedGoal(wanted.goal, heads, bodies, possible=draft.possible, n_facts=top - n, layer=9)
    prepared = PreparedDraft(draft, derived, layer, current())
    expected = reference.narrowed(wanted, more, axioms)
    for _ in range(2):  # what was made ready is not used up
        check(narrow(prepared, goal, init, NONE, current()), expected)


def test_negations_of_what_a_goal_adds_are_followed_to_the_end():
    """The first new fact always holds, so that the second never does, and the third, the goal, always."""
    draft, facts = long_chain(1)
    heads, bodies = np.array([2, 3, 4]), csr_of([[], [5], [7]])
    goal = PreparedGoal(np.array([8]), heads, bodies, possible=True, n_facts=3, layer=1)
    prepared = PreparedDraft(draft, facts.derived, facts.layer, current())
    found = narrow(prepared, goal, facts.init, NONE, current())
    assert found.solvable
    assert len(found.task.goal) == 0


def long_chain(n):
    """Facts that come about one after the other."""
    draft = Draft(
        costs=np.ones(n),
        preconditions=CSR(np.arange(n + 1, dtype=np.int32), 2 * np.arange(n, dtype=np.int32)),
        owners=np.arange(n, dtype=np.int32),
        conditions=CSR(np.zeros(n + 1, np.int32), np.zeros(0, np.int32)),
        heads=CSR(np.arange(n + 1, dtype=np.int32), 2 * np.arange(1, n + 1, dtype=np.int32)),
        axiom_heads=np.zeros(0, np.int32),
        axiom_bodies=csr_of([]),
        goal=np.array([2 * n], np.int32),
        possible=True,
        groups=csr_of([]),
    )
    init = np.arange(n + 1) == 0
    return draft, Facts(init, np.zeros_like(init), np.zeros_like(init), np.zeros(n + 1, np.int32))


def test_a_chain_of_a_million_facts_is_followed_to_its_end():
    draft, facts = long_chain(1_000_000)
    small = simplify(draft, facts, current())
    assert small.solvable
    assert len(small.chosen) == 1_000_000


@pytest.mark.parametrize(
    ("given", "limit"), [({"megabytes": 10}, OutOfMemoryError), ({"seconds": 0.01}, OutOfTimeError)]
)
def test_limits_are_heard_inside(given, limit):
    draft, facts = long_chain(1_000_000)
    budget = Budget(**given)
    started = process_time()
    with pytest.raises(limit):
        simplify(draft, facts, budget)
    assert process_time() - started < 0.15  # the whole of it takes more than twice as long
