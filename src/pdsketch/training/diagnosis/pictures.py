"""Small blanks as grids of their values: a truth table, or a heat map over the values that were seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, final

import torch
from torch import Tensor

from pdsketch.lang import Blank, ValueType
from pdsketch.tensor import Model, every_choice, is_categorical, presented
from pdsketch.training.diagnosis.behaviour import BlankReport
from pdsketch.training.diagnosis.worst import brief

MOST_ROWS = 256
"""A truth table has no more combinations of inputs than this."""

_GRID_POINTS = 24
"""Points of each axis on which a function of two numbers is drawn."""


@final
@dataclass(frozen=True)
class Grid:
    """The values of a blank in rows and columns.

    A value is a truth in [0, 1], or a choice. ``across`` and ``down`` are the
    names of columns and rows; of a heat map, which has too many to name, the
    ends of its axes.
    """

    name: str
    caption: str
    across: tuple[str, ...]
    down: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    choices: int | None = None

    @property
    def is_map(self) -> bool:
        """Whether the axes are ranges of numbers."""
        return len(self.across) != len(self.values[0])


def grids(model: Model, blanks: dict[str, BlankReport]) -> Iterator[Grid]:
    """The pictures of all blanks that are small enough, and that return a truth or a choice."""
    for name, report in blanks.items():
        blank, function = model.domain.blanks[name], model.blanks.calls.get(name)
        scalar = blank.returns.shape == () and (blank.returns.is_bool or is_categorical(blank.returns))
        if (
            function is None
            or not scalar
            or not blank.inputs
            or any(i.over is not None for i in blank.inputs)
        ):
            continue
        types = [i.type for i in blank.inputs]
        if all(_enumerable(type_) for type_ in types):
            if _count(types) <= MOST_ROWS:
                yield _table(blank, function, types, model.device)
        elif all(type_.prim == "float32" for type_ in types) and report.ranges is not None:
            yield from _map(blank, function, report.ranges, model.device)


def _enumerable(type_: ValueType) -> bool:
    return type_.shape is not None and (type_.prim == "bool" or is_categorical(type_))


def _count(types: Sequence[ValueType]) -> int:
    return prod((2 if t.prim == "bool" else t.choices or 1) ** prod(t.shape or ()) for t in types)


def _table(
    blank: Blank, function: Callable[..., Any], types: Sequence[ValueType], device: torch.device
) -> Grid:
    """Every combination of inputs: the last one along the columns."""
    options = [every_choice(type_, device) for type_ in types]
    places = torch.cartesian_prod(*(torch.arange(len(o), device=device) for o in options)).reshape(
        -1, len(types)
    )
    given = [
        presented(option[places[:, i]], type_, 1)
        for i, (option, type_) in enumerate(zip(options, types, strict=True))
    ]
    width = len(options[-1])
    values = _values(blank, function, given).reshape(-1, width)
    rows = places[::width, :-1].tolist()
    names = [", ".join(brief(options[i][at]) for i, at in enumerate(row)) for row in rows]
    last = f"input {len(types)}" if len(types) > 1 else "its input"
    caption = f"across: {last}" + (f"; down: {_inputs(len(types) - 1)}" if len(types) > 1 else "")
    return _grid(blank, caption, [brief(value) for value in options[-1]], names, values)


def _inputs(count: int) -> str:
    return "input 1" if count == 1 else f"inputs 1 to {count}"


def _map(
    blank: Blank,
    function: Callable[..., Any],
    ranges: Sequence[Sequence[tuple[float, float]]],
    device: torch.device,
) -> Iterator[Grid]:
    """One or two numbers over the range seen, or the difference of two vectors of two numbers of one type."""
    widths = [len(numbers) for numbers in ranges]
    types = [i.type for i in blank.inputs]
    if sum(widths) <= 2:
        ends = [end for numbers in ranges for end in numbers]
        columns, caption = torch.tensor_split(torch.arange(sum(widths)), len(widths)), "over the values seen"
        shift = None
    elif widths == [2, 2] and types[0] == types[1]:
        middle = [(low + high) / 2 for low, high in ranges[1]]
        ends = [
            (first[0] - second[1], first[1] - second[0])
            for first, second in zip(ranges[0], ranges[1], strict=True)
        ]
        columns, shift = (torch.arange(2),), torch.tensor(middle, device=device)
        caption = f"over the difference of its inputs, the second at {brief(shift)}"
    else:
        return
    axes = [torch.linspace(low, high, _GRID_POINTS, device=device) for low, high in ends]
    points = torch.cartesian_prod(*axes).reshape(-1, len(axes))
    given = (
        [points[:, c] for c in columns] if shift is None else [points + shift, shift.expand(len(points), 2)]
    )
    values = (
        _values(blank, function, given).reshape(-1, _GRID_POINTS)
        if len(axes) == 2
        else _values(blank, function, given)[None]
    )
    across, *down = (tuple(f"{end:.4g}" for end in axis) for axis in reversed(ends))
    yield _grid(blank, caption, across, down[0] if down else (), values)


def _grid(blank: Blank, caption: str, across: Sequence[str], down: Sequence[str], values: Tensor) -> Grid:
    rows = tuple(tuple(row) for row in values.double().tolist())
    return Grid(blank.name, caption, tuple(across), tuple(down), rows, blank.returns.choices)


@torch.no_grad()
def _values(blank: Blank, function: Callable[..., Any], given: Sequence[Tensor]) -> Tensor:
    """What the blank returns for rows of inputs: truths, or the likeliest choices."""
    found: Tensor = function(*given)
    if is_categorical(blank.returns):
        return found.argmax(-1)
    return found.reshape(len(given[0]))
