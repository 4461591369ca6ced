"""What generators, samplers and modules propose, checked: functions of users may fail in any way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from pdsketch.lang import Error, ValueType, error
from pdsketch.search.latent.limits import LIMITS, status_of


@contextmanager
def proposing(what: str) -> Iterator[None]:
    """Within, a failure is an `Error` that says whose it is; that of a limit stays what it is."""
    try:
        yield
    except Error:
        raise
    except Exception as why:
        if isinstance(why, LIMITS) and status_of(why) is not None:
            raise
        raise error(
            "bad-generator",
            f"{what} failed: {type(why).__name__}: {why!s:.200}",
            help="it returns values, [n, *shape], and none ([]) where it has nothing to propose",
        ) from why


def checked_values(returned: Any, type_: ValueType, what: str) -> Tensor:
    """What a function returned as values of a type, ``[n, *shape]``; it may have nothing to propose."""
    if returned is None:
        raise error(
            "bad-generator",
            f"{what} returned None, and no array of numbers",
            help="return an empty list where there is nothing to propose",
        )
    try:
        values = torch.as_tensor(returned)
    except (TypeError, ValueError, RuntimeError):
        found = type(returned).__name__
        raise error("bad-generator", f"{what} returned a {found}, and no array of numbers") from None
    wanted = type_.shape
    if wanted is not None and not values.numel():
        return values.new_zeros(0, *wanted)
    if wanted is not None and (values.dim() == 0 or tuple(values.shape[1:]) != wanted):
        raise error(
            "shape-mismatch",
            f"{what} returned {tuple(values.shape)}; {('n', *wanted)} was wanted",
            help="one row for each value, also where there is but one",
        )
    if values.is_floating_point() and not bool(torch.isfinite(values).all()):
        raise error("not-finite", f"{what} returned values that are not finite")
    return values.detach()
