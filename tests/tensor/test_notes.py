"""Notes of a model of unknown origin are checked before they are used."""

from __future__ import annotations

import pytest

import pdsketch as pds
from pdsketch.tensor.notes import wrong_note
from pdsketch.tensor.states.codes import SPREAD

DOMAIN = pds.parse_domain("(define (domain d) (:predicates (heat [return_type=float32])))")


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("inf"), 10**400, -1.0, [1.0]])
def test_a_spread_that_is_no_number_is_refused(value):
    assert wrong_note({SPREAD: {"heat": [value]}}, DOMAIN, {}) is not None
    assert wrong_note({SPREAD: {"heat": 1.0}}, DOMAIN, {}) is not None


@pytest.mark.parametrize("value", [0, 0.25, 3])
def test_a_spread_is_numbers_that_are_not_negative(value):
    assert wrong_note({SPREAD: {"heat": [value]}}, DOMAIN, {}) is None
    assert wrong_note({SPREAD: {"cold": [value]}}, DOMAIN, {}) is not None
