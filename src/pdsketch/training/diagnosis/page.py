"""An evaluation as one page of HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pdsketch.tensor import Model
from pdsketch.training.diagnosis.pictures import Grid, grids
from pdsketch.training.diagnosis.report import Evaluation, summary
from pdsketch.training.diagnosis.tables import Table, tables
from pdsketch.training.diagnosis.verdicts import MEANINGS

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
