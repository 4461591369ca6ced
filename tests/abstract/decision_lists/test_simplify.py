"""What is left out of a list, and what is not."""

from __future__ import annotations

import numpy as np
from tests.abstract.decision_lists.coded import sampled, with_sets

from pdsketch.abstract.decision_lists.decision_list import DecisionRule
from pdsketch.abstract.decision_lists.description import exception_bits, tidied
from pdsketch.abstract.decision_lists.foil import simplified
from pdsketch.abstract.decision_lists.literals import AtLeast, ElementHasCode, HasCode, SameCode

A, B = HasCode(0, (1,)), HasCode(1, (1,))


def both():
    """Label 1 where both arguments are 1, label 2 where only the second one is."""
    return sampled(200, (2, 2, 5), lambda a, b, _: b * (2 - a))


def test_rules_do_not_lean_on_their_order():
    rules = [DecisionRule((A, B), 1), DecisionRule((HasCode(0, (0,)), B), 2)]
    assert simplified(rules, 0, both()) == rules


def test_literals_that_do_not_matter_are_dropped():
    rules = [DecisionRule((A, HasCode(2, (3,), False), B), 1), DecisionRule((HasCode(0, (0,)), B), 2)]
    assert simplified(rules, 0, both())[0] == DecisionRule((A, B), 1)


def test_rules_that_do_not_matter_are_dropped():
    rules = [DecisionRule((A, B), 1), DecisionRule((HasCode(0, (0,)), B), 2)]
    assert simplified([*rules, DecisionRule((HasCode(1, (0,)), A), 0)], 0, both()) == rules


def test_rules_that_differ_in_codes_are_joined():
    examples = sampled(300, (6, 2), lambda a, b: np.isin(a, [1, 4]) & (b == 1))
    rules = [DecisionRule((HasCode(0, (code,)), B), 1) for code in (4, 1)]
    assert simplified(rules, 0, examples) == [DecisionRule((HasCode(0, (1, 4)), B), 1)]


def test_rules_about_elements_that_differ_in_codes_are_joined():
    def blocked(_, elements, mask):
        return (np.isin(elements[:, :, 0], [1, 4]) & (elements[:, :, 1] == 1) & mask).any(axis=1)

    examples = with_sets(500, (2,), (6, 2), blocked)
    rules = [
        DecisionRule((AtLeast(0, (ElementHasCode(0, (code,)), ElementHasCode(1, (1,)))),), 1)
        for code in (4, 1)
    ]
    joined = AtLeast(0, (ElementHasCode(0, (1, 4)), ElementHasCode(1, (1,))))
    assert simplified(rules, 0, examples) == [DecisionRule((joined,), 1)]


def test_an_element_literal_of_a_negation_is_not_dropped_where_that_loses_rows():
    def free(_, elements, mask):
        return ~((elements[:, :, 0] == 1) & (elements[:, :, 1] == 1) & mask).any(axis=1)

    examples = with_sets(500, (2,), (3, 3), free)
    rule = DecisionRule((AtLeast(0, (ElementHasCode(0, (1,)), ElementHasCode(1, (1,))), 1, False),), 1)
    assert simplified([rule], 0, examples) == [rule]


def test_literals_about_one_argument_become_one():
    examples = sampled(10, (8, 8), lambda a, _: a)
    body = (HasCode(0, (1, 2, 3)), SameCode(0, 1), HasCode(0, (2, 5), False), HasCode(0, (7,), False))
    assert tidied(body, examples) == (HasCode(0, (1, 3)), SameCode(0, 1))
    body = (HasCode(0, (1,), False), HasCode(0, (2,), False))
    assert tidied(body, examples) == (HasCode(0, (1, 2), False),)


def test_the_more_exceptions_the_less_one_more_costs():
    bits = [exception_bits(n, 1000, 2) for n in (0, 1, 2, 50, 51)]
    assert bits[0] == 0
    assert bits[1] > bits[2] - bits[1] > bits[4] - bits[3] > 0
