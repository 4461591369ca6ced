"""Which examples a step draws."""

from __future__ import annotations

import numpy as np

from pdsketch.training.sampler import LEAST_RARER_SHARE, Sampler


def test_the_rarer_kind_of_a_stratum_is_drawn_more_often_than_it_occurs():
    kind = np.arange(1000) % 100 == 0
    drawn = Sampler(np.zeros(1000, dtype=np.int64), np.arange(1000), 100, 0, kind).draw(0)
    assert kind[drawn].sum() == LEAST_RARER_SHARE * 100
    assert len(drawn) == 100


def test_kinds_divide_strata_and_do_not_outweigh_them():
    strata = np.repeat([0, 1], [900, 100])
    kind = np.arange(1000) < 450  # the second stratum is all of one kind
    drawn = Sampler(strata, np.arange(1000), 100, 0, kind).draw(3)
    assert (strata[drawn] == 1).sum() == 10
    assert (kind[drawn] & (strata[drawn] == 0)).sum() == 45


def test_every_example_comes_before_one_comes_again():
    sampler = Sampler(np.arange(60) % 2, np.arange(60), 20, 0, np.arange(60) % 3 == 0)
    seen: list[int] = []
    for step in range(40):
        seen += sampler.draw(step).tolist()
        if set(seen) == set(range(60)):
            break
    assert set(seen) == set(range(60))
    assert max(np.bincount(seen)) <= 3
