"""Tables in Markdown and their plots: mean ± standard deviation over seeds; experiments make them of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import mean, pstdev
from typing import Any, final

from pdsketch.files import make_folder, write_file
from pdsketch_paper.experiments.runs import ExperimentRun

Records = Sequence[dict[str, Any]]
"""What the files of runs hold."""


def made_by(records: Records) -> str:
    """The commits, the days and the versions of torch of a table's runs, each once, in their order."""
    origins = [record["origin"] for record in records]
    commits = list(dict.fromkeys(origin["commit"] for origin in origins))
    days = list(dict.fromkeys(origin["date"] for origin in origins))
    versions = list(dict.fromkeys(origin["versions"].get("torch", "?") for origin in origins))
    name = "Commit" if len(commits) == 1 else "Commits"
    return f"{name} {', '.join(commits)}; {', '.join(days)}; torch {', '.join(versions)}."


def spread(values: Sequence[float], digits: int = 3) -> str:
    """``0.991 ± 0.004``, or the number alone where there is one seed."""
    if not values:
        return "–"
    centre = f"{mean(values):.{digits}f}"
    return centre if len(values) == 1 else f"{centre} ± {pstdev(values):.{digits}f}"


@final
@dataclass(frozen=True, slots=True)
class ResultTable:
    """A title, a line that says how it was made, a head and rows of text."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [f"## {self.title}", "", self.note, "", _line(self.head), _line(["---"] * len(self.head))]
        lines += [_line(row) for row in self.rows]
        return "\n".join(lines) + "\n"

    def as_json(self) -> dict[str, Any]:
        """The table for machines."""
        return {
            "title": self.title,
            "note": self.note,
            "head": list(self.head),
            "rows": [*map(list, self.rows)],
        }


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


Series = Mapping[str, Sequence[tuple[float, float, float]]]
"""By name: points (x, mean, deviation)."""


def plot_lines(series: Series, path: Path, *, title: str, x: str, y: str) -> None:
    """A line per series that has points, with its deviation, x on a logarithmic axis."""
    figure, axes = _axes(title, x, y)
    for name, points in series.items():
        if not points:
            continue
        xs, ys, errors = zip(*points, strict=True)
        axes.errorbar(xs, ys, yerr=errors, marker="o", capsize=3, label=name)
    axes.set_xscale("log")
    _write(figure, axes, path)


def plot_bars(
    groups: Mapping[str, Mapping[str, tuple[float, float]]], path: Path, *, title: str, y: str
) -> None:
    """A group of bars per model, a bar per setting, with deviations."""
    figure, axes = _axes(title, "", y)
    names, settings = list(groups), list(next(iter(groups.values())))
    width = 0.8 / len(settings)
    for at, setting in enumerate(settings):
        heights = [groups[name][setting] for name in names]
        axes.bar(
            [i + (at - (len(settings) - 1) / 2) * width for i in range(len(names))],
            [height for height, _ in heights],
            width,
            yerr=[error for _, error in heights],
            capsize=3,
            label=setting,
        )
    axes.set_xticks(range(len(names)), names)
    _write(figure, axes, path)


def _axes(title: str, x: str, y: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.set(title=title, xlabel=x, ylabel=y, ylim=(0, 1.05))
    axes.grid(alpha=0.3)
    return figure, axes


def _write(figure: Any, axes: Any, path: Path) -> None:
    axes.legend(loc="lower right")
    make_folder(path.parent)
    write_figure(figure, path, dpi=120, metadata={"Software": None})


def write_figure(figure: Any, path: Path, **settings: Any) -> None:
    """Write a picture, in the format that the file's name says."""
    written = BytesIO()
    figure.savefig(written, format=path.suffix[1:], **settings)
    write_file(path, written.getbuffer())


@final
@dataclass(frozen=True, slots=True)
class Experiment:
    """A table: its runs for so many seeds (quick or not), how to print them, and how to draw them.

    ``options`` are those of the world of its demonstrations that a user may set.
    """

    runs: Callable[[int, bool], Sequence[ExperimentRun[Any]]]
    table: Callable[[Records], ResultTable]
    plot: Callable[[Records, Path], None] | None = None
    options: tuple[str, ...] = ("objects", "doors")
