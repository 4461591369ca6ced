"""An evaluation as one page of HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import prod
from typing import Any, final

import torch
from torch import Tensor

from pdsketch.lang import Blank, ValueType
from pdsketch.tensor import Model, every_choice, is_categorical, presented
from pdsketch.training.diagnosis.blanks import MEANINGS, BlankReport
from pdsketch.training.diagnosis.report import Evaluation, Table, summary, tables
from pdsketch.training.diagnosis.worst import brief

# Small blanks as grids of their values: a truth table, or a heat map over the values that were seen.

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
                yield _every_value(blank, function, types, model.device)
        elif all(type_.prim == "float32" for type_ in types) and report.ranges is not None:
            yield from _map(blank, function, report.ranges, model.device)


def _enumerable(type_: ValueType) -> bool:
    return type_.shape is not None and (type_.prim == "bool" or is_categorical(type_))


def _count(types: Sequence[ValueType]) -> int:
    return prod((2 if t.prim == "bool" else t.choices or 1) ** prod(t.shape or ()) for t in types)


def _every_value(
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


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right; }
th { font-weight: 600; } td.word, th.word { text-align: left; }
code, td.word { font-family: ui-monospace, monospace; font-size: .9em; }
li.warning { margin: .4rem 0; } .grid td { border: 1px solid #fff; text-align: center; min-width: 2.2rem; }
figure { display: inline-block; margin: 0 2rem 1.5rem 0; vertical-align: top; }
figcaption { max-width: 22rem; }
"""

_CELL = 10
"""Pixels of a cell of a picture."""


def page(evaluation: Evaluation, model: Model) -> str:
    """The page: summary, warnings, tables, worst predictions, and a picture of each small blank."""
    parts = [
        _tag("h1", f"Evaluation of {model.domain.name}"),
        *(_tag("p", line.strip()) for line in summary("episodes", evaluation.measures)),
        _list("Warnings", evaluation.warnings, "warning"),
        *(_table(table) for table in tables(evaluation.measures, evaluation.blanks)),
        _words(evaluation),
        _list("Worst steps", [str(step) for step in evaluation.wrong_steps]),
        _list("Worst goals", [str(goal) for goal in evaluation.wrong_goals]),
        *_pictures(list(grids(model, evaluation.blanks))),
    ]
    title = escape(model.domain.name)
    body = "\n".join(part for part in parts if part)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}: evaluation</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _tag(name: str, text: str, attributes: str = "") -> str:
    return f"<{name}{attributes}>{escape(text)}</{name}>"


def _list(heading: str, items: Iterable[str], kind: str = "") -> str:
    listed = "\n".join(_tag("li", item, f' class="{kind}"' if kind else "") for item in items)
    return f"{_tag('h2', heading)}\n<ul>\n{listed}\n</ul>" if listed else ""


def _table(table: Table) -> str:
    head = "".join(_cell("th", text, i < table.words) for i, text in enumerate(table.columns))
    rows = "\n".join(
        f"<tr>{''.join(_cell('td', text, i < table.words) for i, text in enumerate(row))}</tr>"
        for row in table.rows
    )
    return f"{_tag('h2', table.heading)}\n<table>\n<tr>{head}</tr>\n{rows}\n</table>"


def _cell(tag: str, text: str, word: bool) -> str:
    return _tag(tag, text, ' class="word"' if word else "")


def _words(evaluation: Evaluation) -> str:
    """What the verdicts that occur mean."""
    said = dict.fromkeys(report.verdict for report in evaluation.blanks.values())
    items = "\n".join(f"<dt><code>{verdict}</code></dt>{_tag('dd', MEANINGS[verdict])}" for verdict in said)
    return f"<dl>\n{items}\n</dl>" if items else ""


def _pictures(found: Sequence[Grid]) -> list[str]:
    heading = [_tag("h2", "Small blanks")] if found else []
    return heading + [_heat_map(grid) if grid.is_map else _truth_table(grid) for grid in found]


def _truth_table(grid: Grid) -> str:
    head = "".join(_tag("th", text) for text in ("", *grid.across))
    rows = "\n".join(
        f"<tr>{_tag('th', name)}"
        + "".join(_tag("td", _shown(value, grid), f' style="{_colours(value, grid)}"') for value in row)
        + "</tr>"
        for name, row in zip(grid.down, grid.values, strict=True)
    )
    return _figure(grid, f'<table class="grid">\n<tr>{head}</tr>\n{rows}\n</table>')


def _shown(value: float, grid: Grid) -> str:
    return f"{value:.2f}" if grid.choices is None else f"{value:.0f}"


def _colours(value: float, grid: Grid) -> str:
    share = _share(value, grid)
    return f"background:{_colour(share)};color:{'#fff' if share > 0.6 else '#222'}"


def _share(value: float, grid: Grid) -> float:
    return value if grid.choices is None else value / max(1, grid.choices - 1)


def _colour(share: float) -> str:
    """From near white to dark blue."""
    ends = ((244, 246, 250), (18, 60, 130))
    red, green, blue = (round(a + (b - a) * min(1.0, max(0.0, share))) for a, b in zip(*ends, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _heat_map(grid: Grid) -> str:
    """The first number runs down, the second across."""
    height = _CELL if len(grid.values) > 1 else 3 * _CELL
    cells = "".join(
        f'<rect x="{x * _CELL}" y="{y * height}" width="{_CELL}" height="{height}" '
        f'fill="{_colour(_share(value, grid))}"/>'
        for y, row in enumerate(grid.values)
        for x, value in enumerate(row)
    )
    size = f'width="{len(grid.values[0]) * _CELL}" height="{len(grid.values) * height}"'
    ends = f"across {' to '.join(grid.across)}" + (f", down {' to '.join(grid.down)}" if grid.down else "")
    return _figure(grid, f'<svg {size} role="img">{cells}</svg>', f"; {ends}; light is false, dark is true")


def _figure(grid: Grid, inside: str, more: str = "") -> str:
    caption = f"<code>{escape(grid.name)}</code> {escape(grid.caption + more)}"
    return f"<figure>{inside}<figcaption>{caption}</figcaption></figure>"
