"""Lists: what they predict, how they are written, and what is kept in files."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, strategies as st
from tests.abstract.decision_lists.coded import plain_prediction, with_sets

from pdsketch.abstract.decision_lists.decision_list import (
    AtLeast,
    DecisionList,
    DecisionRule,
    HasCode,
    SameCode,
    covers,
)

CODES = st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True).map(tuple)
ELEMENTS = st.one_of(
    st.builds(HasCode, st.integers(0, 1), CODES, st.booleans()),
    st.builds(SameCode, st.integers(0, 1), st.integers(0, 1), st.booleans()),
)
LITERALS = st.one_of(
    st.builds(HasCode, st.integers(0, 1), CODES, st.booleans()),
    st.builds(SameCode, st.just(0), st.just(1), st.booleans()),
    st.builds(
        AtLeast, st.just(0), st.lists(ELEMENTS, max_size=2).map(tuple), st.sampled_from([1, 2]), st.booleans()
    ),
)
RULES = st.builds(DecisionRule, st.lists(LITERALS, max_size=3).map(tuple), st.integers(0, 3))
LISTS = st.builds(DecisionList, st.lists(RULES, max_size=4).map(tuple), st.integers(0, 3))


def rows(seed=0):
    return with_sets(30, (3, 3), (3, 3), lambda codes, *_: codes[:, 0], sorts=("pp", "pp"), most=4, seed=seed)


@given(LISTS, st.integers(0, 100))
def test_a_list_says_what_its_first_rule_that_holds_says(found, seed):
    examples = rows(seed)
    expected = [plain_prediction(found, examples, row) for row in range(len(examples))]
    assert found.predict(examples).tolist() == expected


@given(LISTS, st.integers(0, 20))
def test_rules_that_exclude_each_other_never_hold_together(found, seed):
    examples = rows(seed)
    hits = [covers(rule.literals, examples) for rule in found.rules]
    for at, rule in enumerate(found.rules):
        overridden = found.overridden_by(at)
        assert all(found.rules[earlier].label != rule.label for earlier in overridden)
        for earlier in range(at):
            if found.rules[earlier].label != rule.label and earlier not in overridden:
                assert not (hits[earlier] & hits[at]).any()


def test_which_rules_exclude_each_other():
    door, doors = AtLeast(0, (HasCode(0, (1,)),)), AtLeast(0, (HasCode(0, (1,)),), 2)
    bodies = [
        (HasCode(0, (1, 2)),),
        (HasCode(0, (0,)),),
        (HasCode(0, (1, 2), False), SameCode(0, 1)),
        (SameCode(0, 1, False), door),
        (replace(door, positive=False),),
        (doors,),
    ]
    found = DecisionList(tuple(DecisionRule(body, label) for label, body in enumerate(bodies)), 9)
    assert [found.overridden_by(at) for at in range(6)] == [
        (),
        (),
        (1,),
        (0, 1),
        (0, 1, 2),
        (0, 1, 2, 3),
    ]
