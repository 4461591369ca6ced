"""Lists: what they predict, how they are written, and what is kept in files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.abstract.decision_lists.coded import columns, plain_prediction, with_sets

from pdsketch.abstract.decision_lists.decision_list import DecisionList, DecisionRule
from pdsketch.abstract.decision_lists.examples import CodedExamples, CodedSet
from pdsketch.abstract.decision_lists.literals import (
    AtLeast,
    ElementHasCode,
    ElementSameCode,
    HasCode,
    SameCode,
    covers,
    literal_text,
    negated,
)

CODES = st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True).map(tuple)
ELEMENTS = st.one_of(
    st.builds(ElementHasCode, st.integers(0, 1), CODES, st.booleans()),
    st.builds(ElementSameCode, st.integers(0, 1), st.integers(0, 1), st.booleans()),
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
    door, doors = AtLeast(0, (ElementHasCode(0, (1,)),)), AtLeast(0, (ElementHasCode(0, (1,)),), 2)
    bodies = [
        (HasCode(0, (1, 2)),),
        (HasCode(0, (0,)),),
        (HasCode(0, (1, 2), False), SameCode(0, 1)),
        (SameCode(0, 1, False), door),
        (negated(door),),
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


class Babyai:
    def argument(self, i):
        return ["(robot-pose ?r)", "(robot-dir ?r)"][i]

    def fact(self, i, code):
        return f"({['robot-pose', 'robot-dir'][i]}@{code} ?r)"

    def variable(self, group):
        return "?t - item"

    def element(self, group, column):
        return "(pose ?t)"

    def element_fact(self, group, column, code):
        return f"({['item-pose', 'item-feature'][column]}@{code} ?t)"

    def membership(self, group):
        return "(robot-facing ?r ?t)"


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (HasCode(0, (36,)), "(robot-pose@36 ?r)"),
        (HasCode(1, (0, 2), False), "(not (or (robot-dir@0 ?r) (robot-dir@2 ?r)))"),
        (
            AtLeast(0, (ElementSameCode(0, 0), ElementHasCode(1, (9,)))),
            "(exists (?t - item)"
            " (and (robot-facing ?r ?t) (= (pose ?t) (robot-pose ?r)) (item-feature@9 ?t)))",
        ),
        (
            AtLeast(0, (ElementHasCode(1, (9,), False),), 2, False),
            "(not (at-least-2 (?t - item) (and (robot-facing ?r ?t) (not (item-feature@9 ?t)))))",
        ),
        (SameCode(0, 1), "(= (robot-pose ?r) (robot-dir ?r))"),
        (AtLeast(0, ()), "(exists (?t - item) (robot-facing ?r ?t))"),
    ],
)
def test_literals_are_written_with_names(literal, text):
    assert literal_text(literal, Babyai()) == text


def test_rows_that_do_not_fit_are_refused():
    examples = rows()
    (group,) = examples.sets
    with pytest.raises(ValueError, match="scalar code is outside"):
        CodedExamples(examples.codes + 1, examples.columns, examples.y)
    with pytest.raises(ValueError, match=r"\[row, argument\]"):
        CodedExamples(examples.codes[:, :1], examples.columns, examples.y)
    with pytest.raises(ValueError, match="labels"):
        CodedExamples(examples.codes, examples.columns, examples.y - 1)
    with pytest.raises(ValueError, match="element's code"):
        CodedExamples(
            examples.codes,
            examples.columns,
            examples.y,
            (CodedSet(group.codes, group.mask, columns((2, 2))),),
        )
    short = CodedSet(group.codes[1:], group.mask, group.columns)
    with pytest.raises(ValueError, match=r"\[row, element, column\]"):
        CodedExamples(examples.codes, examples.columns, examples.y, (short,))
    for weights in (np.ones(3), np.full(len(examples), -1.0)):
        with pytest.raises(ValueError, match="weights"):
            CodedExamples(examples.codes, examples.columns, examples.y, (), weights)
