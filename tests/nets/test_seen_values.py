"""Which values numbers had, and which of them an input is."""

from __future__ import annotations

import pytest
import torch

from pdsketch.nets.seen_values import MOST_VALUES, SeenValues, noting_values


def noted(*batches: torch.Tensor) -> SeenValues:
    seen = SeenValues(batches[0].shape[-1])
    with noting_values(seen) as fresh:
        assert fresh
        for batch in batches:
            seen.note(batch)
    return seen.eval()


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values).unsqueeze(-1)


def test_values_are_those_of_all_batches_in_order():
    seen = noted(column(3, 1, 1), column(-3, 3))
    assert seen.values[0, :3].tolist() == [-3.0, 1.0, 3.0]
    assert bool(seen.values[0, 3:].isinf().all())


@pytest.mark.parametrize(
    "values",
    [
        torch.arange(MOST_VALUES + 1.0).unsqueeze(-1),
        column(5, 5),
        column(0.1, 0.37, 0.95),
        column(0, 1, torch.inf),
        column(0, 1, torch.nan),
    ],
    ids=["many", "one", "off the grid", "infinite", "no number"],
)
def test_of_a_quantity_no_values_are_kept(values):
    seen = noted(values)
    assert not seen(values).any()
    assert not seen.effects(values, -torch.ones(1, MOST_VALUES)).any()


def test_each_number_has_its_own_values():
    fine = torch.rand(40, generator=torch.Generator().manual_seed(0))
    seen = noted(torch.stack([fine, torch.arange(40.0) % 3], -1))
    assert bool(seen.values[0].isinf().all())
    assert seen.values[1, :3].tolist() == [0.0, 1.0, 2.0]


def test_an_input_is_a_value_if_it_is_near_and_else_has_a_nearest_one():
    seen = noted(column(-2, -1, 0, 4))
    here = seen(column(-1.1, 4.2, 2.5, 9.0))
    assert here.argmax(-1).tolist()[:2] == [1, 3]
    assert here.sum(-1).tolist() == [1.0, 1.0, 0.0, 0.0]
    against, towards = (
        -1.0 - torch.arange(float(MOST_VALUES))[None],
        1.0 + torch.arange(float(MOST_VALUES))[None],
    )
    assert seen.effects(column(-1.1, 4.2, 2.5, 9.0), against).flatten().tolist() == [-2.0, -4.0, -4.0, -4.0]
    assert seen.effects(column(-1.1, 4.2, 2.5, 9.0), towards).flatten().tolist() == [2.0, 4.0, 0.0, 0.0]


def test_values_are_noted_once():
    seen = noted(column(0, 1, 2))
    with noting_values(seen) as fresh:
        assert not fresh
        assert not seen.noting
    assert seen.values[0, :3].tolist() == [0.0, 1.0, 2.0]
