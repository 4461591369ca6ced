"""Complete tables: lists that agree with all of it, and are short."""

from __future__ import annotations

from itertools import combinations
from time import process_time

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays
from tests.abstract.decision_lists.coded import complete

from pdsketch.abstract.decision_lists.decision_list import (
    UNSEEN,
    DecisionList,
    DecisionRule,
    HasCode,
    SameCode,
    exact_rules,
)


def learned(examples):
    """The rules of a complete table, which agree with all of it."""
    table = examples.y.reshape([column.size for column in examples.columns])
    columns = examples.columns
    pairs = [(i, j) for i, j in combinations(range(len(columns)), 2) if columns[i].is_like(columns[j])]
    rules, default = exact_rules(table, pairs)
    found = DecisionList(tuple(rules), default)
    assert (found.predict(examples) == examples.y).all()
    return found


def n_literals(found):
    return sum(len(rule.literals) for rule in found.rules)


def mentioned(found):
    literals = [literal for rule in found.rules for literal in rule.literals]
    return {literal.argument for literal in literals if isinstance(literal, HasCode)}


def test_xor_of_two_booleans():
    found = learned(complete((2, 2, 3), lambda a, b, _: a ^ b))
    assert len(found.rules) == 2
    assert mentioned(found) == {0, 1}


def test_xor_of_two_booleans_of_one_sort_is_one_inequality():
    found = learned(complete((2, 2, 3), lambda a, b, _: a ^ b, ["bool", "bool"]))
    assert len(found.rules) == 1
    assert found.rules[0].literals in ((SameCode(0, 1),), (SameCode(0, 1, False),))


def test_parity_of_two_codes():
    found = learned(complete((5, 5), lambda a, b: (a + b) % 2))
    assert len(found.rules) == 2
    assert n_literals(found) == 4


def test_red_is_a_disjunction_of_codes():
    found = learned(complete((32, 4), lambda a, _: np.isin(a, [3, 10, 14, 16])))
    assert [rule.literals for rule in found.rules] == [(HasCode(0, (3, 10, 14, 16)),)]
    assert found.default == 0


def forward(pose, direction):
    x = np.clip(pose % 7 + np.array([1, 0, -1, 0])[direction], 0, 6)
    y = np.clip(pose // 7 + np.array([0, 1, 0, -1])[direction], 0, 6)
    return 7 * y + x


def test_a_table_of_transitions():
    found = learned(complete((49, 4), forward))
    assert len(found.rules) <= 170
    assert all(len(rule.literals) <= 2 for rule in found.rules)


def test_rules_with_different_labels_exclude_each_other():
    examples = complete((7, 4, 3), lambda a, b, c: (a * b + c) % 3)
    found = learned(examples)
    backwards = type(found)(found.rules[::-1], found.default)
    assert (backwards.predict(examples) == examples.y).all()


def test_equality_of_two_arguments_within_a_table():
    found = learned(complete((30, 30, 4), lambda a, b, c: (a == b) & (c == 1), ["pose", "pose"]))
    assert len(found.rules) == 1
    assert set(found.rules[0].literals) == {HasCode(2, (1,)), SameCode(0, 1)}


def test_codes_of_different_sorts_are_not_compared():
    found = learned(complete((6, 6), lambda a, b: a == b, ["pose", "colour"]))
    assert all(isinstance(literal, HasCode) for rule in found.rules for literal in rule.literals)


def test_equality_is_not_used_where_it_is_an_accident():
    found = learned(complete((4, 4), lambda a, b: (a < 2) & (b < 3), ["pose", "pose"]))
    assert len(found.rules) == 1
    assert all(isinstance(literal, HasCode) for literal in found.rules[0].literals)


def test_arguments_that_do_not_matter_are_not_mentioned():
    found = learned(complete((3, 5, 4, 2), lambda a, b, c, d: (b + 0 * a) % 3))
    assert mentioned(found) == {1}


def test_a_large_table_takes_less_than_a_second():
    examples = complete((49, 4, 8, 8, 8), lambda p, d, a, b, c: np.where(b > 3, p, forward(p, d)))
    start = process_time()
    found = learned(examples)
    assert process_time() - start < 1
    assert len(found.rules) <= 250


def test_a_table_without_any_structure_is_still_exact():
    random = np.random.default_rng(77)
    examples = complete((30, 20, 10), lambda a, *_: random.integers(0, 5, len(a)))
    learned(examples)


def test_arguments_are_dropped_where_all_that_was_seen_agrees():
    table = np.full((4, 3), UNSEEN)
    table[0] = 0
    table[1, 1], table[2, 2] = 1, 1
    rules, default = exact_rules(table, [], 0)
    assert {literal.argument for rule in rules for literal in rule.literals} == {0}
    assert default == 0


def test_one_label_needs_no_rule():
    found = learned(complete((3, 3), lambda a, _: np.full(len(a), 4)))
    assert found.rules == ()
    assert found.default == 4


def test_one_label_that_is_not_the_default_is_a_rule_without_conditions():
    assert exact_rules(np.full((3, 3), 4), [], 0) == ([DecisionRule((), 4)], 0)


@given(
    arrays.arrays(
        np.int64, arrays.array_shapes(min_dims=1, max_dims=4, max_side=4), elements=st.integers(0, 3)
    ),
    st.lists(st.sampled_from(["a", "b", None]), min_size=4, max_size=4),
)
def test_exact_lists_agree_with_random_tables(table, sorts):
    examples = complete(table.shape, lambda *codes: table[codes], sorts)
    learned(examples)


@given(
    arrays.arrays(
        np.int64, arrays.array_shapes(min_dims=1, max_dims=3, max_side=3), elements=st.integers(0, 1)
    ),
    st.integers(0, 2),
)
def test_rules_agree_with_random_tables_whatever_the_default(table, default):
    examples = complete(table.shape, lambda *codes: table[codes])
    rules, other = exact_rules(table, [], default)
    assert other == default
    assert (DecisionList(tuple(rules), default).predict(examples) == examples.y).all()
