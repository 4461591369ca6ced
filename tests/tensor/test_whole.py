"""Ints of 64 bits: what does not fit is refused or left out, and never another number."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

import pdsketch as pds
from pdsketch.tensor.states import saturating

EDGES = [
    0,
    1,
    -1,
    2**31,
    2**32 + 1,
    2**62,
    -(2**62),
    saturating.LARGEST - 1,
    saturating.LARGEST,
    saturating.SMALLEST,
]
INTS = (
    st.sampled_from(EDGES)
    | st.integers(saturating.SMALLEST, saturating.LARGEST)
    | st.integers(-(2**33), 2**33)
)


def kept(number: int) -> int:
    return max(saturating.SMALLEST, min(saturating.LARGEST, number))


@given(st.lists(st.tuples(INTS, INTS), min_size=1))
def test_arithmetic_is_exact_and_stops_at_the_ends(pairs):
    left, right = torch.tensor(pairs).unbind(1)
    for ours, exact in [
        (saturating.add, lambda a, b: a + b),
        (saturating.subtract, lambda a, b: a - b),
        (saturating.multiply, lambda a, b: a * b),
        (saturating.divide, lambda a, b: a // b if b else 0),
    ]:
        assert ours(left, right).tolist() == [kept(exact(a, b)) for a, b in pairs]
    assert saturating.negative(left).tolist() == [kept(-a) for a, _ in pairs]
    assert saturating.total(left, (0,)).item() == kept(sum(a for a, _ in pairs))


@given(st.lists(st.floats(-(2.0**65), 2.0**65, width=32), min_size=1))
def test_floats_become_the_nearest_int_that_there_is(numbers):
    assert saturating.rounded(torch.tensor(numbers)).tolist() == [kept(round(x)) for x in numbers]


COUNTERS = pds.parse_domain("""
(define (domain counters)
  (:types counter)
  (:predicates (n [return_type=int64] ?c - counter))
  (:action more :parameters (?c - counter) :effect (increase (n ?c) 1))
  (:action less :parameters (?c - counter) :effect (decrease (n ?c) 1))
  (:action double :parameters (?c - counter) :effect (assign (n ?c) (* 2 (n ?c))))
  (:action triple :parameters (?c - counter) :effect (scale-up (n ?c) 3))
  (:action turn :parameters (?c - counter) :effect (assign (n ?c) (- (n ?c))))
  (:action set :parameters (?c - counter ?v - int64) :effect (assign (n ?c) ?v))
  (:action gather :parameters (?c - counter) :effect (forall (?d - counter) (increase (n ?c) (n ?d)))))
""")
HIGH, LOW = saturating.LARGEST - 1, saturating.SMALLEST + 1


def counters(*numbers: int) -> pds.State:
    names = [f"c{i}" for i in range(len(numbers))]
    return pds.State(COUNTERS, {"counter": names}, {"n": list(numbers)})


@pytest.mark.parametrize(
    "given",
    [
        [2**63],
        [2**64],
        [-(2**63)],
        [2**63 - 1],
        [2.0**63],
        np.array([2**63], dtype=np.uint64),
        np.array([2**64 - 1], dtype=np.ulonglong),
        torch.tensor([2**63], dtype=torch.uint64),
    ],
    ids=str,
)
def test_a_state_does_not_hold_what_is_no_int_of_64_bits(given):
    with pytest.raises(pds.Error, match="beyond the ints of 64 bits"):
        pds.State(COUNTERS, {"counter": ["c0"]}, {"n": given})


@pytest.mark.parametrize(
    "given",
    [
        [HIGH],
        np.array([HIGH], dtype=np.uint64),
        np.array([HIGH], dtype=np.ulonglong),
        torch.tensor([HIGH], dtype=torch.uint64),
    ],
    ids=str,
)
def test_the_largest_int_of_a_state_is_exact(given):
    assert pds.State(COUNTERS, {"counter": ["c0"]}, {"n": given})["n"].tolist() == [HIGH]


@pytest.mark.parametrize("crisp", [True, False])
@pytest.mark.parametrize(
    ("action", "numbers"),
    [
        ("more", [HIGH]),
        ("less", [LOW]),
        ("double", [2**62]),
        ("double", [-(2**62) - 1]),
        ("triple", [2**62]),
        ("turn", [LOW]),
    ],
)
def test_a_step_beyond_64_bits_is_refused(action, numbers, crisp):
    with pytest.raises(pds.Error, match="`n` is beyond the ints of 64 bits after the step") as told:
        pds.Model(COUNTERS).step(counters(*numbers), (action, "c0"), crisp=crisp)
    assert told.value.diagnostics[0].code == "int-overflow"


def test_increases_that_add_up_beyond_64_bits_are_refused():
    with pytest.raises(pds.Error, match="int-overflow"):
        pds.Model(COUNTERS).step(counters(2**62, 2**62, 5), ("gather", "c0"), crisp=True)


@pytest.mark.parametrize("crisp", [True, False])
def test_steps_near_the_ends_are_exact(crisp):
    model = pds.Model(COUNTERS)

    def after(action, *numbers):
        return model.step(counters(*numbers), action, crisp=crisp)["n"][0].item()

    assert after(("more", "c0"), HIGH - 1) == HIGH
    assert after(("double", "c0"), 2**61 + 1) == 2**62 + 2
    assert after(("turn", "c0"), HIGH) == -HIGH
    assert after(("set", "c0", 2**62 + 1), 0) == 2**62 + 1
    for beyond in (2**63, 2**63 - 1, -(2**63), 1e19):
        with pytest.raises(pds.Error, match="value-out-of-range"):
            after(("set", "c0", beyond), 0)


@pytest.mark.parametrize("crisp", [True, False])
def test_numbers_far_apart_are_compared_rightly(crisp):
    model = pds.Model(COUNTERS)
    far = counters(LOW, HIGH)
    assert model.holds(far, "(< (n c0) (n c1))", crisp=crisp) == 1
    assert model.holds(far, "(>= (n c0) (n c1))", crisp=crisp) == 0
    assert model.holds(far, "(> (+ (n c1) 5) (n c0))", crisp=crisp) == 1


def test_no_plan_leads_through_a_number_that_has_wrapped_around():
    state = counters(HIGH - 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pds.plan(pds.Model(COUNTERS), state, "(< (n c0) -10)", search="astar", max_expansions=40)
        only_more = pds.parse_domain("""
        (define (domain d) (:predicates (n [return_type=int64]))
          (:action more :precondition (> (n) 0) :effect (increase (n) 1)))
        """)
        high = pds.State(only_more, {}, {"n": HIGH - 2})
        ended = pds.plan(pds.Model(only_more), high, "(< (n) 0)", heuristic="blind")
    assert result.plan == [("turn", "c0")]
    assert any("beyond the ints of 64 bits" in warning for warning in result.warnings)
    assert ended.status == "gave-up", "what lies beyond was not looked at: this is no proof"
