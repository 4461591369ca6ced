"""Which examples a step draws."""

from __future__ import annotations

import numpy as np

from pdsketch.training.sampler import LEAST_SHARE, Sampler


def test_a_rare_kind_is_drawn_more_often_than_it_occurs():
    kinds = (np.arange(1600) % 100 == 0).astype(np.int64)
    drawn = Sampler(kinds, np.arange(1600), 160, 0).draw(0)
    assert kinds[drawn].sum() == 160 // LEAST_SHARE
    assert abs(len(drawn) - 160) <= 1


def test_every_example_comes_before_one_comes_again():
    sampler = Sampler(np.arange(60) % 6, np.arange(60), 20, 0)
    seen: list[int] = []
    for step in range(40):
        seen += sampler.draw(step).tolist()
        if set(seen) == set(range(60)):
            break
    assert set(seen) == set(range(60))
    assert max(np.bincount(seen)) <= 3
