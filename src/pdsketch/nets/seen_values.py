"""Numbers with few values: which values training had, and which of them an input is.

A number that only ever takes a few values is a factor in the sense of statistics:
beside its slope it may have an effect of its own at each value (*carried* is −1,
*gone* is −2, and a room's cells are 1 … 6). A line or a parabola that fits the
frequent values is often wrong at a rare one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

MOST_VALUES = 16
"""A number that had more values than this is a quantity. Set by hand, not swept: the cells of a small room
with some values that stand for no cell."""

OFF_GRID = 0.01
"""How far, in steps, values may be off a grid for the number to count as discrete: rounding, not noise."""

NEARNESS = 0.25
"""An input is one of the values if it is no further from it than this part of the smallest step. Set by
hand: predictions of whole numbers are seldom off by a quarter."""


class SeenValues(nn.Module):
    """The values of each of ``size`` numbers, found by `noting_values`; none of those that had many.

    ``values [size, MOST_VALUES]`` are in ascending order and end in infinity; ``tolerance [size, 1]``.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("values", torch.full((size, MOST_VALUES), torch.inf))
        self.register_buffer("tolerance", torch.zeros(size, 1))
        self.register_buffer("known", torch.zeros((), dtype=torch.bool))
        self.noting = False
        self._noted: list[Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Numbers ``[..., size]`` → the value that each is, one-hot ``[..., size · MOST_VALUES]``."""
        off = (x.unsqueeze(-1) - cast(Tensor, self.values)).abs()
        return (off <= cast(Tensor, self.tolerance)).to(off.dtype).flatten(-2)

    def effects(self, x: Tensor, coefficients: Tensor) -> Tensor:
        """The effects of values, ``[size, MOST_VALUES]``, on numbers ``[..., size]``, added up ``[..., 1]``.

        A number that is none of the values has the effect of the nearest one where that is negative: what was
        seen to be false at the last value is not true beyond it only because the slope is.
        """
        values = cast(Tensor, self.values)
        if values.dim() == 3 and x.shape[0] != len(values):
            x = x.expand(len(values), -1, -1)
        # Of several networks together there is one more axis in front.
        numbers = (x if values.dim() == 3 else x.reshape(-1, x.shape[-1])).transpose(-1, -2).contiguous()
        at = torch.searchsorted((values[..., 1:] + values[..., :-1]) / 2, numbers)
        off = (numbers - values.gather(-1, at)).abs()
        effect = coefficients.gather(-1, at)
        # Where no values are known, the nearest one is infinitely far.
        beyond = torch.where(off.isfinite(), effect.clamp_max(0.0), 0.0)
        total = torch.where(off <= cast(Tensor, self.tolerance), effect, beyond).sum(-2)
        return total.reshape(*x.shape[:-1], 1)

    def note(self, x: Tensor) -> None:
        """Note the values of numbers ``[..., size]``."""
        columns = x.detach().reshape(-1, x.shape[-1]).unbind(-1)
        before = self._noted or [column[:0] for column in columns]
        # One more than the most is enough to know that there are too many.
        self._noted = [
            torch.unique(torch.cat([a, b]))[: MOST_VALUES + 1] for a, b in zip(before, columns, strict=True)
        ]

    def settle(self) -> None:
        """Take over what was noted, if anything was."""
        noted, self._noted = self._noted, None
        if noted is None or not len(noted[0]):
            return
        for at, values in enumerate(noted):
            step = _step(values)
            if step is not None:
                cast(Tensor, self.values)[at, : len(values)] = values
                cast(Tensor, self.tolerance)[at] = NEARNESS * step
        cast(Tensor, self.known).fill_(True)


def _step(values: Tensor) -> float | None:
    """The smallest step between values, if they are few and on a grid.

    Quantities that merely occur in few examples are not on one.
    """
    if not 1 < len(values) <= MOST_VALUES or not bool(values.isfinite().all()):
        return None
    step = values.diff().min()
    steps = (values - values[0]) / step
    return float(step) if bool(((steps - steps.round()).abs() < OFF_GRID).all()) else None


@contextmanager
def noting_values(module: nn.Module) -> Iterator[bool]:
    """Within, the numbers whose values are not known yet note them; afterwards they are known.

    Yields whether there are any.
    """
    fresh = [m for m in module.modules() if isinstance(m, SeenValues) and not bool(m.known)]
    for one in fresh:
        one.noting = True
    try:
        yield bool(fresh)
    finally:
        for one in fresh:
            one.noting = False
            one.settle()
