"""Tables in Markdown and their plots: mean ± standard deviation over seeds; experiments make them of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import mean, stdev
from types import MappingProxyType
from typing import Any, Final, final

from pdsketch.files import make_folder, write_file
from pdsketch_paper.experiments.runs import ExperimentRun, Seeds, sources

Records = Sequence[dict[str, Any]]
"""What the files of runs hold."""

OTHER: Final = "†"
"""Marks figures that other sources made than those that are here."""


class Measured(float):
    """A figure of a run, and the hash of the sources that made it."""

    def __new__(cls, value: float, origin: Mapping[str, Any] = MappingProxyType({})) -> Measured:
        """The figure, with where its run came from."""
        made = super().__new__(cls, value)
        made.sources = origin.get("sources", "unknown")
        return made

    sources: str


def made_by(records: Records) -> str:
    """The commits, the days and the versions of torch of a table's runs, each once, in their order."""
    origins = [record["origin"] for record in records]
    commits = list(dict.fromkeys(origin["commit"] for origin in origins))
    others = sorted({origin.get("sources", "unknown") for origin in origins} - {sources()})
    days = list(dict.fromkeys(origin["date"] for origin in origins))
    versions = list(dict.fromkeys(origin["versions"].get("torch", "?") for origin in origins))
    name = "Commit" if len(commits) == 1 else "Commits"
    old = f" {OTHER} Made by other sources than {sources()}: {', '.join(others)}." if others else ""
    hours = sum(record.get("cpu_seconds", 0.0) for record in records) / 3600
    made = f"{name} {', '.join(commits)}; {', '.join(days)}; torch {', '.join(versions)}"
    return f"{made}; {hours:.2g} hours of CPU.{old}"


def select(records: Records, **settings: Any) -> Records:
    """The runs with these settings: those of the run itself, or of the training of its model."""
    return [record for record in records if settings.items() <= _settings(record).items()]


def every(records: Records, setting: str) -> list[Any]:
    """All values of a setting."""
    return sorted({_settings(record)[setting] for record in records})


def _settings(record: Mapping[str, Any]) -> dict[str, Any]:
    config = record["config"]
    return {**config, **config.get("train", {})}


def values_at(records: Records, *path: str, **settings: Any) -> list[Any]:
    """What stands at a path in the results of the runs with these settings, where anything does."""
    found = [(record["result"], record["origin"]) for record in select(records, **settings)]
    for name in path:
        found = [(part[name], origin) for part, origin in found if name in part]
    return [
        Measured(value, origin) if isinstance(value, int | float) else value
        for value, origin in found
        if value is not None
    ]


def seeds_of(records: Records) -> str:
    """``Seeds 0, 1``."""
    return f"Seeds {', '.join(map(str, every(records, 'seed')))}"


def spread(values: Sequence[float], digits: int = 3, *, worst: bool = False) -> str:
    """``0.991 ± 0.004``, or the number alone where there is one seed; the deviation is that of a sample.

    With ``worst``, the least of the ``values`` stands behind. Figures of other sources are marked.
    """
    if not values:
        return "–"
    found = f"{mean(values):.{digits}f}"
    if len(values) > 1:
        found += f" ± {stdev(values):.{digits}f}"
        found += f", worst {min(values):.{digits}f}" if worst else ""
    old = any(isinstance(value, Measured) and value.sources != sources() for value in values)
    return f"{found} {OTHER}" if old else found


def rate(values: Sequence[float]) -> str:
    """A rate of success over seeds, with that of the worst seed."""
    return spread(values, worst=True)


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


Series = Mapping[str, Mapping[Any, Sequence[float]]]
"""By name and x: the values, of which the mean and the deviation are drawn."""


def plot_lines(series: Series, path: Path, *, title: str, x: str, y: str, scale: str = "log") -> None:
    """A line per series that has points, with its deviation."""
    figure, axes = _axes(title, x, y)
    for name, by_x in series.items():
        points = [(x, mean(values), _deviation(values)) for x, values in sorted(by_x.items()) if values]
        if not points:
            continue
        xs, ys, errors = zip(*points, strict=True)
        axes.errorbar(xs, ys, yerr=errors, marker="o", capsize=3, label=name)
    axes.set_xscale(scale)
    _write(figure, axes, path)


def plot_bars(groups: Mapping[str, Mapping[str, Sequence[float]]], path: Path, *, title: str, y: str) -> None:
    """A group of bars per model that has all values, a bar per setting, with deviations."""
    figure, axes = _axes(title, "", y)
    names = [name for name, by_setting in groups.items() if all(by_setting.values())]
    settings = list(groups[names[0]])
    width = 0.8 / len(settings)
    for at, setting in enumerate(settings):
        found = [groups[name][setting] for name in names]
        axes.bar(
            [i + (at - (len(settings) - 1) / 2) * width for i in range(len(names))],
            [*map(mean, found)],
            width,
            yerr=[*map(_deviation, found)],
            capsize=3,
            label=setting,
        )
    axes.set_xticks(range(len(names)), names)
    _write(figure, axes, path)


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


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
    written = BytesIO()
    metadata = {"Software": None} if path.suffix == ".png" else None
    figure.savefig(written, format=path.suffix[1:], dpi=120, metadata=metadata)
    write_file(path, written.getbuffer())


@final
@dataclass(frozen=True, slots=True)
class Experiment:
    """A table: its runs (for some seeds or for each row's own, quick or not), how to print and to draw them.

    ``options`` are those of the world of its demonstrations that a user may set.
    """

    runs: Callable[[Seeds, bool], Sequence[ExperimentRun[Any]]]
    table: Callable[[Records], ResultTable]
    plot: Callable[[Records, Path], None] | None = None
    options: tuple[str, ...] = ("objects", "doors")
