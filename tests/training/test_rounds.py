"""Rounds of a fit: how long each is, and which one is kept."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from pdsketch.training import rounds
from pdsketch.training.forms.simplify import Simplified
from pdsketch.training.rounds import ROUND_STEPS, Rounds


class Scripted:
    """Stands for simplification: what each round finds is said before."""

    found: list[Simplified]

    def __init__(self, *_: object) -> None:
        pass

    def run(self) -> Simplified:
        return self.found.pop(0)


def fit(steps: int, *, forms: bool = True) -> Rounds:
    losses = SimpleNamespace(
        options=SimpleNamespace(steps=steps, forms=forms),
        training=SimpleNamespace(model=torch.nn.Linear(1, 1, bias=False)),
    )
    return Rounds(losses, None, None)


def found(after: float, cost: float, networks: int = 1) -> Simplified:
    return Simplified({}, after=after, cost=cost, networks=networks)


def test_the_round_with_the_fewest_errors_is_kept_and_of_equals_the_simplest(monkeypatch):
    monkeypatch.setattr(rounds, "Simplifier", Scripted)
    Scripted.found = [found(2, 1), found(1, 5), found(1, 4), found(3, 0)]
    own = fit(2000)
    for number in range(4):
        with torch.no_grad():
            own.model.weight.fill_(number)
        assert not own.close()
    assert (own.found.after, own.found.cost) == (1, 4)
    assert own.kept["weight"].item() == 2


@pytest.mark.parametrize(("after", "networks", "done"), [(0, 0, True), (0, 1, False), (1, 0, False)])
def test_a_fit_is_over_where_no_error_and_no_network_is_left(monkeypatch, after, networks, done):
    monkeypatch.setattr(rounds, "Simplifier", Scripted)
    Scripted.found = [found(after, 1, networks)]
    assert fit(2000).close() == done


def test_two_short_rounds_and_a_long_one():
    own = fit(2000)
    ends = [own.end()]
    for number in (1, 2):
        own.round, own.began = number, ends[-1]
        ends.append(own.end())
    assert ends == [ROUND_STEPS, 2 * ROUND_STEPS, 2000]
    assert fit(2 * ROUND_STEPS - 1).end() == 2 * ROUND_STEPS - 1
    assert fit(2000, forms=False).end() == 2000
