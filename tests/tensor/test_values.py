"""Values in tensors: soft and crisp forms say the same, and arithmetic is that of numbers."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given, strategies as st

import pdsketch as pds
from pdsketch.tensor.states import values

DOMAIN = pds.parse_domain("""(define (domain d) (:predicates
  (three [return_type=int64[choices=3]]) (five [return_type=int64[choices=5]]) (count [return_type=int64])
  (much [return_type=float32]) (holds) (pair [return_type=vector[int64, 2, choices=3]])
  (bits [return_type=vector[bool, 2, 2]]) (place [return_type=vector[float32, 2]])))""")
TYPE = {name: predicate.type for name, predicate in DOMAIN.predicates.items()}
LEAST, MOST = -(2**63), 2**63 - 1


def test_what_has_left_its_range_is_not_sound():
    counts = torch.tensor([LEAST, LEAST + 1, 0, MOST - 1, MOST])
    assert values.is_sound(counts, TYPE["count"]).tolist() == [False, True, True, True, False]
    assert values.is_sound(torch.tensor([0, 2]), TYPE["three"]) is None
    numbers = torch.tensor([1.0, float("inf"), float("nan")])
    assert values.is_sound(numbers, TYPE["much"]).tolist() == [True, False, False]


@pytest.mark.parametrize("name", TYPE)
def test_a_crisp_value_comes_back_from_each_soft_form(name):
    type_ = TYPE[name]
    crisp = {"bool": torch.tensor([True, False]), "float32": torch.tensor([0.25, -3.0])}.get(
        type_.prim, torch.tensor([0, 2])
    )
    for form in (values.soften, values.fully_soft):
        assert torch.equal(values.harden(form(crisp, type_), type_), crisp)
    same = values.numbers(values.fully_soft(crisp, type_), type_)
    assert same.tolist() == [float(number) for number in crisp.tolist()]


def test_truth_is_above_one_half():
    found = values.harden(torch.tensor([0.5, 0.501, 0.499]), TYPE["holds"])
    assert found.tolist() == [False, True, False]


def test_a_choice_of_another_type_becomes_the_nearest_there_is():
    def converted(tensor, given, wanted):
        return values.convert(torch.tensor(tensor), TYPE[given], TYPE[wanted]).tolist()

    assert converted([0, 2], "three", "five") == [0, 2]
    assert converted([1, 3, 4], "five", "three") == [1, 2, 2]
    assert converted([[0.5, 0.25, 0.25]], "three", "five") == [[0.5, 0.25, 0.25, 0.0, 0.0]]
    assert converted([[0.5, 0.0, 0.125, 0.25, 0.125]], "five", "three") == [[0.5, 0.0, 0.5]]
    assert converted([-7, 1, 9], "count", "three") == [0, 1, 2]
    # A soft number is between its neighbours.
    soft = converted([-1.0, 0.25, 2.0, 7.0], "count", "three")
    assert soft == [[1.0, 0.0, 0.0], [0.75, 0.25, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    assert converted([[0.5, 0.25, 0.25]], "three", "much") == [0.75]
    assert converted([3, 4], "five", "much") == [3.0, 4.0]
    assert converted([[0.0, 0.5, 0.5]], "three", "count") == [1.5]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("three", [0, 1, 2]),
        ("holds", [False, True]),
        ("pair", [list(pair) for pair in product(range(3), repeat=2)]),
        ("bits", [[[a, b], [c, d]] for a, b, c, d in product((False, True), repeat=4)]),
    ],
)
def test_a_quantifier_ranges_over_every_choice(name, wanted):
    assert values.every_choice(TYPE[name], torch.device("cpu")).tolist() == wanted


def test_a_module_sees_numbers_with_an_axis_of_their_own():
    def shape(tensor, name):
        shown = values.presented(tensor, TYPE[name], 1)
        assert shown.dtype == torch.float32
        return shown.tolist()

    assert shape(torch.tensor([True, False]), "holds") == [[1.0], [0.0]]
    assert shape(torch.tensor([7, 8]), "count") == [[7.0], [8.0]]
    assert shape(torch.tensor([0, 2]), "three") == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert shape(torch.tensor([[1.0, 2.0]]), "place") == [[1.0, 2.0]]


def test_values_of_one_type_are_mixed_in_one_form():
    soft, hard = values.unify([torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([2])], TYPE["three"])
    assert (soft.tolist(), hard.tolist()) == ([[0.5, 0.5, 0.0]], [[0.0, 0.0, 1.0]])
    both = values.unify([torch.tensor([1]), torch.tensor([2])], TYPE["three"])
    assert [one.tolist() for one in both] == [[1], [2]]


NUMBERS = """(define (domain d)
  (:predicates (n [return_type=float32]) (m [return_type=float32]) (i [return_type=int64]))
  (:derived (sum [return_type=float32]) (+ (n) (* (m) (i))))
  (:derived (rest [return_type=float32]) (- (/ (n) (m)) (i)))
  (:derived (less) (< (n) (m))) (:derived (most) (<= (n) (i))) (:derived (same) (= (n) (m))))"""


@given(st.integers(-6, 6), st.integers(1, 6), st.integers(-6, 6))
def test_arithmetic_and_comparisons_are_those_of_numbers(n, m, i):
    domain = pds.parse_domain(NUMBERS)
    state = pds.State(domain, {}, {"n": n / 2, "m": m / 2, "i": i})
    model = pds.Model(domain)
    for crisp in (True, False):
        seen = model.encode(state, crisp=crisp)

        def holds(text, seen=seen, crisp=crisp):
            return float(model.holds(seen, text, crisp=crisp)) > 0.5

        assert holds(f"(= (sum) {n / 2 + m / 2 * i})")
        assert not holds(f"(= (sum) {n / 2 + m / 2 * i + 1})")
        assert holds(f"(> (rest) {n / m - i - 0.01})")
        assert not holds(f"(> (rest) {n / m - i + 0.01})")
        assert holds("(less)") == (n < m)
        assert holds("(most)") == (n / 2 <= i)
        assert holds("(same)") == (n == m)
