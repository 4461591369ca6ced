"""Tables in Markdown and their plots: mean ± standard deviation over seeds; experiments make them of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from statistics import mean, stdev
from textwrap import fill
from types import MappingProxyType
from typing import Any, Final, final

from pdsketch.files import make_folder, write_file
from pdsketch_paper.experiments.methods import OURS
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
    return {**_BEFORE, **config, **config.get("train", {})}


_BEFORE: Final[Mapping[str, Any]] = {"method": asdict(OURS), "labels": False, "brightness": 0.0}
"""Settings of runs that were made before there was a choice."""


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
    """A title, a line that says how it was made, a head and rows; what is printed ``below`` as it is."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: str = ""

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [f"## {self.title}", "", self.note, "", _line(self.head), _line(["---"] * len(self.head))]
        lines += [_line(row) for row in self.rows]
        lines += ["", "```", self.below.rstrip(), "```"] if self.below else []
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


Curves = Sequence[Mapping[Any, float]]
"""A curve for each seed: y by x."""


def by_seed(values: Mapping[Any, Sequence[float]]) -> Curves:
    """The curves of values by x, which stand in the order of seeds; what a seed lacks is left out."""
    longest = max(map(len, values.values()), default=0)
    return [{x: ys[i] for x, ys in sorted(values.items()) if i < len(ys)} for i in range(longest)]


def plot_lines(
    panels: Mapping[str, Mapping[str, Curves]], path: Path, *, x: str, y: str, scale: str = "log"
) -> None:
    """A panel each under its title; of a name a thin line for each seed and, over the same x, their mean."""
    figure, every = _axes(len(panels), y)
    colours: dict[str, str] = {}
    for axes, (title, series) in zip(every, panels.items(), strict=True):
        axes.set(title=title, xlabel=x, xscale=scale)
        for name, curves in series.items():
            drawn = [curve for curve in curves if curve]
            if not drawn:
                continue
            colour = colours.setdefault(name, f"C{len(colours) % 10}")
            style = "--" if len(colours) > 10 else "-"
            alike = all(curve.keys() == drawn[0].keys() for curve in drawn)
            for curve in drawn:
                thin = {"alpha": 0.35, "linewidth": 0.8} if alike and len(drawn) > 1 else {"linewidth": 1.2}
                axes.plot([*curve], [*curve.values()], color=colour, linestyle=style, **thin)
            label = name if name not in {h.get_label() for a in every for h in a.lines} else "_"
            ys = [mean(curve[at] for curve in drawn) for at in drawn[0]] if alike else [*drawn[0].values()]
            axes.plot([*drawn[0]], ys, color=colour, linestyle=style, marker="o", markersize=3, label=label)
    _write(figure, path)


def plot_bars(groups: Mapping[str, Mapping[str, Sequence[float]]], path: Path, *, title: str, y: str) -> None:
    """A group of bars per model that has all values, a bar per setting, a dot for each seed."""
    figure, (axes,) = _axes(1, y)
    names = [name for name, by_setting in groups.items() if all(by_setting.values())]
    settings = list(groups[names[0]])
    width = 0.8 / len(settings)
    for at, setting in enumerate(settings):
        found = [groups[name][setting] for name in names]
        places = [i + (at - (len(settings) - 1) / 2) * width for i in range(len(names))]
        axes.bar(places, [*map(mean, found)], width, label=setting)
        dots = [(place, value) for place, values in zip(places, found, strict=True) for value in values]
        axes.plot(*zip(*dots, strict=True), "k.", markersize=3)
    axes.set(title=title)
    axes.set_xticks(
        range(len(names)), [fill(name, 18) for name in names], rotation=35, ha="right", fontsize=8
    )
    _write(figure, path)


def _axes(panels: int, y: str) -> tuple[Any, Sequence[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 + 3.8 * panels, 4.6), layout="constrained")
    every = figure.subplots(1, panels, squeeze=False, sharey=True)[0]
    for axes in every:
        axes.set_ylim(0, 1.05)
        axes.grid(alpha=0.3)
    every[0].set_ylabel(y)
    return figure, every


def _write(figure: Any, path: Path) -> None:
    """With the legend below, where it hides nothing."""
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
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
