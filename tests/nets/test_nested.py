"""Levels: who answers whom while they are drawn, and which one is kept."""

from __future__ import annotations

import pytest
import torch

from pdsketch.nets.default import make
from pdsketch.nets.nested import LEAST_ERRORS_SAVED, STANDARD_ERRORS, Nested, drawing, simplest
from pdsketch.nets.signature import Input, Signature, Spec

SIGNATURE = Signature((Input(Spec("float", (2,))), Input(Spec("int", (), 4))), Spec("bool"))


def risks(*levels: list[float]) -> torch.Tensor:
    return torch.tensor(levels, dtype=torch.float64)


def test_the_best_level_is_taken_where_the_others_are_wrong():
    assert simplest(risks([1.0] * 40, [0.0] * 40, [1.0] * 40)) == 1


def test_of_equals_the_simplest_is_taken():
    assert simplest(risks([0.2] * 40, [0.2] * 40, [0.2] * 40)) == 0


def test_what_is_worth_less_than_two_examples_is_not_worth_a_level():
    few = int(LEAST_ERRORS_SAVED)
    assert simplest(risks([1.0] * few + [0.0] * 38, [0.0] * (38 + few))) == 0
    many = 4 * few
    assert simplest(risks([1.0] * many + [0.0] * 32, [0.0] * (32 + many))) == 1


def test_a_difference_that_may_be_chance_is_none():
    noise = torch.randn(400, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    noise -= noise.mean()
    error = float(noise.std()) / 20
    chance, sure = (
        torch.stack([noise + e * error, 0 * noise]) for e in (STANDARD_ERRORS - 0.1, STANDARD_ERRORS + 0.1)
    )
    assert simplest(chance) == 0
    assert simplest(sure) == 1


def test_one_example_is_enough_to_ask():
    assert simplest(risks([5.0], [0.0])) == 1
    assert simplest(risks([1.0], [0.0])) == 0


def test_a_level_below_is_passed_over_if_it_is_bad_though_a_lower_one_is_good():
    assert simplest(risks([0.0] * 40, [1.0] * 40, [0.0] * 40)) == 0


@pytest.mark.parametrize("count", [2, 3, 5])
def test_all_levels_are_drawn_and_the_simplest_most(count):
    net = Nested([str(level) for level in range(count)])
    with drawing([net], 7):
        drawn = net.drawn((4000,), torch.device("cpu"))
    shares = torch.bincount(drawn.flatten(), minlength=count) / 4000
    assert (shares > 0.5 / count).all()
    assert shares.argmax() == 0


def test_an_example_gets_other_levels_at_other_steps():
    net = Nested(["a", "b", "c"])
    found = []
    for turn in range(60):
        with drawing([net], turn):
            found.append(int(net.drawn((8,), torch.device("cpu"))[3]))
    assert set(found) == {0, 1, 2}


def test_each_example_is_answered_by_the_level_that_was_drawn_for_it():
    net = make(SIGNATURE, torch.Generator().manual_seed(0))
    torch.nn.init.normal_(net.last.weight, generator=torch.Generator().manual_seed(1))
    torch.nn.init.normal_(net.additive.coefficients, 0.0, 0.01, generator=torch.Generator().manual_seed(2))
    rng = torch.Generator().manual_seed(3)
    args = (torch.randn(30, 2, generator=rng), torch.eye(4)[torch.randint(4, (30,), generator=rng)])
    with torch.no_grad():
        with drawing([net], 5):
            mixed, drawn = net(*args), net.drawn((30,), torch.device("cpu")).flatten()
        for level in range(len(net.levels)):
            net.level = level
            assert torch.allclose(net(*args)[drawn == level], mixed[drawn == level], atol=1e-6)
    assert set(drawn.tolist()) == {0, 1, 2}


def test_outside_of_the_trial_nothing_is_drawn():
    net = Nested(["a", "b"])
    with drawing([net], 1):
        assert net.drawn((3,), torch.device("cpu")) is not None
    assert net.drawn((3,), torch.device("cpu")) is None


def test_the_level_travels_with_the_weights():
    net, other = (make(SIGNATURE, torch.Generator().manual_seed(s)) for s in (0, 1))
    net.level = 1
    other.load_state_dict(net.state_dict())
    assert other.level == 1
