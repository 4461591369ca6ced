"""Arrays that grow under a memory limit: up to the limit, and not beyond it."""

from __future__ import annotations

import pytest

from pdsketch.budget import MEGABYTE, Budget, OutOfMemoryError
from pdsketch.search.latent.frontier import more_rows

ROW = 40


@pytest.mark.parametrize("limit", [20, 200, 3000])
def test_an_array_grows_until_the_limit_is_nearly_reached_and_never_beyond(limit):
    rows = 1000
    budget = Budget(megabytes=limit, meter=lambda: rows * ROW)
    start = rows * ROW
    while budget.fits((rows + 1) * ROW):  # while they are copied, rows are there twice
        rows = more_rows(rows, rows + 1, ROW, budget)
        assert rows * ROW - start <= limit * MEGABYTE
    assert rows * ROW > 0.9 * limit * MEGABYTE
    with pytest.raises(OutOfMemoryError):
        more_rows(rows, rows + 1, ROW, budget)
