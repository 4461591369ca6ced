"""What a measurement counts, beside what knowing nothing would score."""

from __future__ import annotations

import pytest
import torch
from tests.training.models import as_trained, rooms_model
from tests.training.test_fit import flips

import pdsketch as pds


def test_effects_are_counted_by_action_and_predicate(rooms):
    found = pds.evaluate(rooms_model(rooms[0], right=lambda at: at), rooms[1]).measures
    still, moved = found.effects["right"]["at"], found.effects["left"]["at"]
    assert still.right_changed == 0.0
    assert still.right_unchanged == 1.0
    assert 0 < still.changed < still.variables
    assert moved.right_changed == 1.0
    assert found.effects["right"]["colour"].changed == 0


def test_a_model_that_predicts_no_change_scores_the_rate_of_no_change(rooms):
    model = rooms_model(rooms[0], right=lambda at: at, left=lambda at: at, dye=lambda colour: 20 * colour)
    found = pds.evaluate(model, rooms[1]).measures
    assert found.step_accuracy == found.no_change
    assert 0.0 < found.no_change < 1.0


def test_the_value_of_a_conditional_effect_is_measured_without_its_condition(rooms):
    model = rooms_model(rooms[0], near=lambda at, _: torch.zeros_like(at))
    found = pds.evaluate(model, rooms[1]).measures.effects["dye"]["colour"]
    assert found.wrong_changed == found.changed > 0
    assert (found.wrong_value, found.value_distance) == (0, 0.0)
    assert found.change > 0.0


def test_goals_are_counted_by_kind_beside_always_false(rooms):
    found = pds.evaluate(
        rooms_model(rooms[0], is_red=lambda c: torch.zeros_like(c[..., :1])), rooms[1]
    ).measures
    boxes, last = found.goals
    assert (boxes.formulas, last.formulas) == (2, 1)
    assert "is-red" in boxes.formula
    assert boxes.judged.right_negatives == boxes.judged.negatives
    assert boxes.judged.accuracy < 1.0
    assert last.judged.balanced == 1.0
    assert last.judged.always_false == last.judged.negatives / last.judged.count


@pytest.mark.parametrize(("off", "right"), [(0.01, 1.0), (0.2, 0.0)])
def test_encoded_numbers_are_compared_within_their_own_spread(off, right):
    domain, episodes = flips(40)

    def brightness(image):
        return image.mean((-3, -2)).expand(*image.shape[:-3], 4)

    functions = {
        "derived::look::f": brightness,
        "derived::dark::f": lambda look: (look[..., :1] < 0.5).float(),
        "action::flip::f": lambda look: 1.0 - look + off,
    }
    found = pds.evaluate(as_trained(domain, functions), episodes)
    assert found.measures.step_accuracy == pytest.approx(right, abs=0.05)
    assert found.measures.effects["flip"]["look"].changed == found.measures.steps
    assert found.blanks["derived::look::f"].spread == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(("noise", "right"), [(0.02, 0.0), (0.1, 1.0)])
def test_encoded_numbers_are_compared_within_the_noise_that_a_fit_recorded(noise, right):
    domain, episodes = flips(40)
    functions = {
        "derived::look::f": lambda image: image.mean((-3, -2)).expand(*image.shape[:-3], 4),
        "derived::dark::f": lambda look: (look[..., :1] < 0.5).float(),
        "action::flip::f": lambda look: 1.0 - look + 0.04,
    }
    model = as_trained(domain, functions)
    model.notes["spread"] = {"look": [noise]}
    assert pds.evaluate(model, episodes).measures.step_accuracy == pytest.approx(right, abs=0.05)


def test_a_number_that_is_none_is_wrong(rooms):
    found = pds.evaluate(rooms_model(rooms[0], right=lambda at: at * float("nan")), rooms[1]).measures
    assert found.effects["right"]["at"].right_changed == 0.0
