"""Tasks narrowed by one kernel are those that are simplified step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, strategies as st
from tests.task.drafts import drafts

from pdsketch.budget import current
from pdsketch.kernels.csr import CSR, csr_of, stack
from pdsketch.task.narrowing import narrow, small_of
from pdsketch.task.reach import draft_rows, with_goal
from pdsketch.task.simplify import Facts, simplify

FIELDS = (
    "kept",
    "init",
    "goal",
    "chosen",
    "costs",
    "preconditions",
    "effects",
    "conditions",
    "heads",
    "axiom_heads",
    "axiom_bodies",
    "axiom_layers",
)


def simplified(draft, derived, layer, init):
    start = np.zeros(len(derived), np.bool_)
    start[: len(init)] = init
    return simplify(draft, Facts(start, np.zeros_like(start), derived, layer), current())


def check(found, expected):
    assert found.solvable == expected.solvable
    assert found.n_basic == expected.n_basic
    for name in FIELDS:
        own, other = getattr(found, name), getattr(expected, name)
        if isinstance(own, CSR):
            assert own.starts.tolist() == other.starts.tolist(), name
            own, other = own.items, other.items
        assert own.tolist() == other.tolist(), name


@given(drafts(recursive=True))
def test_narrowing_is_simplification(drawn):
    draft, derived, layer, init = drawn
    found = small_of(narrow(draft_rows(draft, derived, layer), init))
    check(found, simplified(draft, derived, layer, init))


@given(drafts(recursive=True), st.data())
def test_a_goal_may_be_added_with_facts_of_its_own(drawn, data):
    draft, derived, layer, init = drawn
    n = len(derived)
    axioms = []
    for new in range(n, n + data.draw(st.integers(1, 3))):
        below = st.one_of(
            st.integers(0, 2 * n - 1),
            st.integers(n, new - 1).map(lambda f: 2 * f) if new > n else st.nothing(),
        )
        axioms += [
            (new, body) for body in data.draw(st.lists(st.lists(below, max_size=2), min_size=1, max_size=3))
        ]
    top = 1 + max(head for head, _ in axioms)
    wanted = replace(
        draft,
        goal=np.array([2 * (top - 1), *draft.goal.tolist()], np.int32),
        axiom_heads=np.array([*draft.axiom_heads.tolist(), *(head for head, _ in axioms)], np.int32),
        axiom_bodies=stack([draft.axiom_bodies, csr_of([body for _, body in axioms])]),
    )
    more = np.concatenate([derived, np.ones(top - n, np.bool_)])
    layers = np.concatenate([layer, np.full(top - n, 9, np.int32)]).astype(np.int32)
    rows = with_goal(draft_rows(draft, derived, layer), wanted, more, layers)
    check(small_of(narrow(rows, init)), simplified(wanted, more, layers, init))
