"""Codes of float variables: seen values, and steps past them."""

import json

import pytest
import torch
from hypothesis import given, strategies as st

from pdsketch.tensor.states.codes import Codes, Quantiser, codes_of, note_codes

numbers = st.floats(-100, 100, width=32)


def code(codes: Codes, value: float) -> int:
    return int(Quantiser(codes).codes(torch.tensor([[value]]))[0, 0])


def snapped(codes: Codes, value: float) -> float:
    return float(Quantiser(codes).snap(torch.tensor([[value]]))[0, 0])


def seen(*values: float) -> Codes:
    return Codes.of(torch.tensor(values).unsqueeze(-1))


@given(st.lists(numbers, min_size=1, max_size=80), st.lists(numbers, min_size=2, max_size=20))
def test_values_further_apart_than_the_step_have_different_codes_and_equal_ones_the_same(data, values):
    codes = seen(*data)
    (step,) = codes.steps
    quantiser = Quantiser(codes)
    found = quantiser.codes(torch.tensor(values).unsqueeze(-1))[:, 0].tolist()
    again = quantiser.codes(torch.tensor(values[::-1]).unsqueeze(-1))[:, 0].tolist()
    assert found == again[::-1]
    for a, code_a in zip(values, found, strict=True):
        for b, code_b in zip(values, found, strict=True):
            assert code_a != code_b or abs(a - b) <= step * (1 + 1e-6)


@given(st.lists(numbers, min_size=1, max_size=64))
def test_every_seen_value_has_a_code_of_its_own_and_snap_keeps_it(data):
    codes = seen(*data)
    found = Quantiser(codes).codes(torch.tensor(data).unsqueeze(-1))[:, 0].tolist()
    assert len(set(found)) == len(set(data))
    assert Quantiser(codes).snap(torch.tensor(data).unsqueeze(-1))[:, 0].tolist() == data


@given(st.lists(numbers, min_size=1, max_size=20), numbers)
def test_snapping_twice_is_snapping_once(data, value):
    codes = seen(*data)
    once = snapped(codes, value)
    assert snapped(codes, once) == pytest.approx(once, rel=1e-5, abs=1e-4)


def test_codes_go_on_past_the_seen_range_in_its_spacing():
    codes = seen(0, 1, 2, 3, 4, 5, 6)
    assert codes.steps == (1.0,)
    assert len({code(codes, x) for x in range(-20, 20)}) == 40
    assert code(codes, 7.9) == code(codes, 8.2)
    assert snapped(codes, 8.2) == 8.0


def test_a_hole_in_the_data_gets_codes_of_its_own():
    codes = seen(0, 1, 2, 3, 10, 11, 12)
    assert len({code(codes, x) for x in range(13)}) == 13
    assert snapped(codes, 6.2) == pytest.approx(6, abs=0.5)
    assert code(codes, 10.4) == code(codes, 10)


@pytest.mark.parametrize("codes", [Codes.uniform(1), seen(0, 1, 5), seen(0, 1, 2)])
def test_numbers_of_any_size_that_are_many_steps_apart_have_different_codes(codes):
    powers = [sign * 2.0**power for power in range(4, 128) for sign in (1, -1)]
    neighbours = [1e12, 1.000001e12, 1e30, 1.000001e30, 3.4e38]
    assert len({code(codes, value) for value in (*powers, *neighbours)}) == len(powers) + len(neighbours)


def test_a_constant_is_told_from_all_else_by_the_tolerance():
    codes = Codes.of(torch.zeros(5, 1), tolerance=0.1)
    assert codes.steps == (0.1,)
    assert code(codes, 0.04) == code(codes, 0)
    assert len({code(codes, x) for x in (0, 1, 2, -1)}) == 4
    assert snapped(codes, 1.02) == pytest.approx(1.0)


def test_a_constant_that_predictions_do_not_keep_exactly_is_told_apart_by_their_error():
    codes = Codes.of(torch.zeros(5, 1), tolerance=1e-3, noise=[0.04])
    assert code(codes, 0.01) == code(codes, -0.01) == code(codes, 0)
    assert code(codes, 1.0) != code(codes, 0)


def test_rounding_and_single_holes_do_not_change_the_spacing():
    assert seen(0, 1 - 1e-6, 1, 2, 3, 9).steps == (1.0,)


def test_many_values_are_cut_into_steps_of_the_deviation_or_the_noise():
    values = torch.linspace(0, 1, 200).unsqueeze(-1)
    deviation = float(values.std(correction=0))
    assert Codes.of(values).steps[0] == pytest.approx(deviation / 32)
    assert Codes.of(values, noise=[0.05]).steps[0] == pytest.approx(0.05)
    assert Codes.of(values, noise=[10.0]).steps[0] == pytest.approx(deviation / 4)


def test_values_no_further_apart_than_the_noise_are_one():
    codes = Codes.of(torch.tensor([[0.0], [0.01], [1.0], [1.02]]), noise=[0.1])
    assert code(codes, 0.01) == code(codes, 0.0)
    assert code(codes, 1.02) != code(codes, 0.0)


def test_codes_survive_json():
    notes = {}
    note_codes(notes, {"at": Codes.of(torch.tensor([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]]), tolerance=0.2)})
    assert codes_of(json.loads(json.dumps(notes)))["at"].steps == (1.0, 0.2)
