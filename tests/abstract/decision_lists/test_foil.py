"""Samples, with sets and noise: what is learned from them, and what is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.abstract.decision_lists.coded import noisy, sampled, with_sets

from pdsketch.abstract.decision_lists.decision_list import (
    AtLeast,
    CodedExamples,
    CodedSet,
    HasCode,
    SameCode,
)
from pdsketch.abstract.decision_lists.foil import exception_bits, learn_list, split, tidied
from pdsketch.budget import Budget, OutOfTimeError


def closed_door(codes, elements, mask):
    return ((elements[:, :, 0] == 2) & (elements[:, :, 2] == 1) & mask).any(axis=1)


def faced_doors(n=2000, **options):
    """Type, colour and state of the elements; two scalars that do not matter."""
    return with_sets(n, (4, 7), (4, 6, 3), closed_door, **options)


DOOR = AtLeast(0, (HasCode(0, (2,)), HasCode(2, (1,))))


def bodies(found):
    return {frozenset(rule.literals) for rule in found.rules}


def test_parity_of_two_codes_from_a_sample():
    found = learn_list(sampled(1000, (5, 5, 20, 50), lambda a, b, *_: (a + b) % 2))
    assert len(found.rules) == 2
    assert found.held_out == 1.0


def test_groups_of_codes_that_only_matter_together():
    def group_xor(a, b, *_):
        return (a < 4) ^ (b < 4)

    found = learn_list(sampled(1500, (8, 8, 20, 50), group_xor))
    assert len(found.rules) <= 3
    assert found.held_out == 1.0


def test_transitions_from_a_sample():
    def forward(pose, direction, *_):
        return np.clip(pose + np.array([1, 7, -1, -7])[direction], 0, 48)

    found = learn_list(sampled(3000, (49, 4, 100, 8), forward))
    assert found.held_out >= 0.995
    assert len(found.rules) <= 180


def test_a_table_over_too_many_codes_is_not_believed():
    random = np.random.default_rng(77)
    for size in (100, 400):
        found = learn_list(sampled(500, (size, size, 3), lambda a, *_: random.integers(0, 10, len(a))))
        assert sum(len(literal.codes) for rule in found.rules for literal in rule.literals) <= 20


def test_equality_of_two_arguments_from_a_sample():
    found = learn_list(sampled(1000, (30, 30, 50), lambda a, b, _: a == b, ["pose", "pose"]))
    assert bodies(found) == {frozenset([SameCode(0, 1)])}


@pytest.mark.parametrize("fewest", [0, 2])
def test_some_faced_thing_is_a_closed_door(fewest):
    found = learn_list(faced_doors(fewest=fewest))
    assert found.held_out >= 0.995
    assert found.n_held_out >= 390
    assert bodies(found) == {frozenset([DOOR])}


def test_no_faced_thing_is_a_closed_door():
    examples = faced_doors(fewest=2)
    found = learn_list(replace(examples, y=1 - examples.y))
    assert found.held_out == 1.0
    assert {literal.elements for rule in found.rules for literal in rule.literals} == {DOOR.elements}


def test_at_least_two_warm_things():
    found = learn_list(with_sets(2000, (4, 7), (2, 6), lambda _, e, m: ((e[:, :, 0] == 1) & m).sum(1) >= 2))
    assert bodies(found) == {frozenset([AtLeast(0, (HasCode(0, (1,)),), 2)])}


def test_at_least_two_things_with_one_of_some_codes():
    warm = [2, 5, 6]
    found = learn_list(
        with_sets(2000, (4, 7), (8, 6), lambda _, e, m: (np.isin(e[:, :, 0], warm) & m).sum(1) >= 2)
    )
    assert bodies(found) == {frozenset([AtLeast(0, (HasCode(0, tuple(warm)),), 2)])}


@pytest.mark.parametrize("fewest", [0, 2])
def test_an_element_has_the_code_of_an_argument(fewest):
    def on_it(codes, elements, mask):
        return ((elements[:, :, 0] == codes[:, :1]) & (elements[:, :, 2] == 1) & mask).any(axis=1)

    sorts = (("pose",), ("pose",))
    found = learn_list(with_sets(2000, (9, 7), (9, 6, 3), on_it, sorts=sorts, fewest=fewest))
    assert found.held_out == 1.0
    elements = {SameCode(0, 0), HasCode(2, (1,))}
    assert [set(literal.elements) for rule in found.rules for literal in rule.literals] == [elements]


def test_whether_there_is_anything_at_all():
    found = learn_list(with_sets(1000, (9, 7), (9, 6), lambda _c, _e, mask: mask.any(axis=1)))
    assert found.held_out == 1.0
    assert {type(literal) for rule in found.rules for literal in rule.literals} == {AtLeast}
    assert {literal.elements for rule in found.rules for literal in rule.literals} == {()}


@pytest.mark.parametrize("fewest", [0, 2])
def test_a_set_and_an_argument_that_only_matter_together(fewest):
    def either(codes, elements, mask):
        return ((elements[:, :, 0] == 2) & mask).any(axis=1) ^ (codes[:, 0] == 1)

    found = learn_list(with_sets(2000, (2, 7), (4, 6), either, fewest=fewest))
    assert found.held_out == 1.0
    assert len(found.rules) <= 3


def test_steps_that_something_blocks():
    def step(codes, elements, mask):
        blocked = ((elements[:, :, 0] == 1) & np.isin(elements[:, :, 1], [3, 7, 9]) & mask).any(axis=1)
        return np.where(blocked, codes[:, 0], (codes[:, 0] + 1) % 8)

    for fewest in (0, 2):
        found = learn_list(with_sets(4000, (8, 4), (2, 16, 3), step, fewest=fewest))
        assert found.held_out >= 0.995
        assert len(found.rules) <= 17


@pytest.mark.parametrize(
    "examples",
    [
        sampled(1000, (32, 5, 50, 50), lambda a, *_: np.isin(a, [3, 10, 14, 16])),
        sampled(1000, (2, 2, 30, 30), lambda a, b, *_: a ^ b),
        faced_doors(),
        faced_doors(fewest=2),
    ],
    ids=["red", "xor", "door", "door-many"],
)
def test_noise_makes_lists_no_longer(examples):
    found = learn_list(noisy(examples))
    assert len(found.rules) <= 2
    assert found.held_out >= 0.91
    assert (found.predict(examples) == examples.y).mean() >= 0.995
    assert found.counter_example is not None


def test_a_counter_example_is_a_held_out_row_that_the_list_gets_wrong():
    examples = noisy(faced_doors())
    found = learn_list(examples)
    row = found.counter_example
    assert found.predict(examples)[row] != examples.y[row]
    assert row in split(examples)[1]


def test_coins_teach_nothing():
    examples = faced_doors()
    coins = replace(examples, y=np.random.default_rng(5).integers(0, 2, len(examples)))
    found = learn_list(coins)
    assert len(found.rules) <= 5
    assert found.held_out < 0.6


def test_one_label_only():
    examples = faced_doors(200)
    found = learn_list(replace(examples, y=np.full(200, 3)))
    assert found.rules == ()
    assert found.default == 3
    assert found.held_out == 1.0


def test_no_examples_make_an_empty_list():
    found = learn_list(faced_doors(200).take(np.arange(0)))
    assert found.rules == ()
    assert found.default == 0
    assert found.n_held_out == 0


def test_one_example():
    found = learn_list(faced_doors(200).take(np.arange(1)))
    assert found.rules == ()
    assert found.n_held_out == 0


def test_what_stands_in_the_padding_makes_no_difference():
    examples = faced_doors(600)
    (group,) = examples.sets
    codes = np.where(group.mask[:, :, None], group.codes, -7)
    padded = CodedExamples(
        examples.codes, examples.columns, examples.y, (CodedSet(codes, group.mask, group.columns),)
    )
    found = learn_list(padded)
    assert found.rules == learn_list(examples).rules
    assert (found.predict(padded) == examples.y).all()


def test_sets_without_elements_and_without_columns():
    examples = sampled(300, (2, 2, 30, 30), lambda a, b, *_: a ^ b)
    nothing = CodedSet(np.zeros((300, 0, 2), np.int64), np.zeros((300, 0), np.bool_), examples.columns[:2])
    bare = CodedSet(np.zeros((300, 3, 0), np.int64), np.ones((300, 3), np.bool_), ())
    found = learn_list(CodedExamples(examples.codes, examples.columns, examples.y, (nothing, bare)))
    assert found.held_out == 1.0
    assert {type(literal) for rule in found.rules for literal in rule.literals} == {HasCode}


def test_a_deadline_ends_learning():
    with Budget(seconds=-1.0).running(), pytest.raises(OutOfTimeError):
        learn_list(noisy(faced_doors(fewest=2)))


def test_literals_about_one_argument_become_one():
    examples = sampled(10, (8, 8), lambda a, _: a)
    body = (HasCode(0, (1, 2, 3)), SameCode(0, 1), HasCode(0, (2, 5), False), HasCode(0, (7,), False))
    assert tidied(body, examples) == (HasCode(0, (1, 3)), SameCode(0, 1))
    body = (HasCode(0, (1,), False), HasCode(0, (2,), False))
    assert tidied(body, examples) == (HasCode(0, (1, 2), False),)


def test_the_more_exceptions_the_less_one_more_costs():
    bits = [exception_bits(n, 1000) for n in (0, 1, 2, 50, 51)]
    assert bits[0] == 0
    assert bits[1] > bits[2] - bits[1] > bits[4] - bits[3] > 0


def test_an_element_may_have_three_codes_at_once():
    def found_by(_, elements, mask):
        return ((elements[:, :, :3] == [1, 2, 1]).all(axis=2) & mask).any(axis=1)

    found = learn_list(with_sets(3000, (4, 7), (3, 4, 2), found_by))
    assert found.held_out == 1.0
    elements = {HasCode(0, (1,)), HasCode(1, (2,)), HasCode(2, (1,))}
    assert [set(literal.elements) for rule in found.rules for literal in rule.literals] == [elements]
