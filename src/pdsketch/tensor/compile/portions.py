"""Modules called in portions, where all at once would take too much memory or time.

How much a row takes is measured once for each function and shape of its arguments, by
everything that torch allocates in a first, small portion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, Final, final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from pdsketch.budget import MEGABYTE, Budget
from pdsketch.tensor.compile.callee import Given

_SMALL: Final = MEGABYTE
"""Calls that surely take less are made at once."""

_ROW_BYTES: Final = 256
"""What a row of a call takes at least, beside its arguments; set by hand."""

_FIRST_ROWS: Final = 1024
"""Rows of the first portion."""


@final
class _Weigher(TorchFunctionMode):
    """Counts the bytes of everything that torch returns."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute as without it, and count."""
        del types
        result = func(*args, **(kwargs or {}))
        several = result if isinstance(result, tuple | list) else (result,)
        self.bytes += sum(t.numel() * t.element_size() for t in several if isinstance(t, Tensor))
        return result


def is_large(given: Sequence[Given], leading: torch.Size) -> bool:
    """Whether a call may be too much at once."""
    return prod(leading) * (_ROW_BYTES + sum(_row_bytes(t, len(leading)) for t in _tensors(given))) > _SMALL


def in_portions(
    name: str,
    function: Callable[..., Any],
    given: Sequence[Given],
    leading: torch.Size,
    weights: dict[Any, float],
    budget: Budget,
) -> Any:
    """What the function returns for all rows.

    ``given`` are the arguments of ``function``, tensors whose first axes are ``leading``. Each portion takes
    what ``budget`` allows at once. ``weights`` are the bytes a row takes, by the function's ``name`` and the
    shapes of its arguments; what is measured is added. What is no tensor over the rows, and thus no answer,
    is returned as it is.
    """
    n = len(leading)
    key = (name, *(tuple(t.shape[n:]) for t in _tensors(given)))
    if key not in weights:
        block = next(_blocks(leading, _FIRST_ROWS))
        with _Weigher() as weigher:
            function(*_part(given, block))
        weights[key] = max(1.0, weigher.bytes / prod(_shape(block)))
    room = budget.portion()
    found: list[Tensor] = []
    for block in _blocks(leading, max(1, int(room / weights[key]))):
        budget.check()
        result = function(*_part(given, block))
        if not isinstance(result, Tensor) or result.shape[:n] != _shape(block):
            return result
        found.append(result.reshape(-1, *result.shape[n:]))
    return torch.cat(found).reshape(*leading, *found[0].shape[1:])


def _blocks(leading: torch.Size, most: int) -> Iterator[tuple[slice, ...]]:
    """Blocks of at most ``most`` rows each, in the order of the rows."""
    whole, axis = 1, len(leading)
    while axis > 0 and whole * leading[axis - 1] <= most:
        axis -= 1
        whole *= leading[axis]
    inner = [slice(0, size) for size in leading[axis:]]
    if axis == 0:
        yield tuple(inner)
        return
    size, step = leading[axis - 1], max(1, most // whole)
    steps = [slice(i, min(i + step, size)) for i in range(0, size, step)]
    for place in product(*map(range, leading[: axis - 1])):
        for some in steps:
            yield (*(slice(i, i + 1) for i in place), some, *inner)


def _part(given: Sequence[Given], block: tuple[slice, ...]) -> list[Given]:
    return [(g[0][block], g[1][block]) if isinstance(g, tuple) else g[block] for g in given]


def _shape(block: tuple[slice, ...]) -> tuple[int, ...]:
    return tuple(some.stop - some.start for some in block)


def _tensors(given: Sequence[Given]) -> list[Tensor]:
    return [t for g in given for t in (g if isinstance(g, tuple) else (g,))]


def _row_bytes(tensor: Tensor, leading: int) -> int:
    return prod(tensor.shape[leading:]) * tensor.element_size()
