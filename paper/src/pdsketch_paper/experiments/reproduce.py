"""One table from its runs: JSON, Markdown and a plot under one folder, and what is to be said of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, final

from pdsketch.files import lock_file, make_folder, write_file, write_output
from pdsketch.lang import did_you_mean, error
from pdsketch_paper.experiments import ao_rules, babyai_tables, gap, nodes, painting_tables
from pdsketch_paper.experiments.runs import ExperimentRun, Seeds, finished_runs, in_world, run_all
from pdsketch_paper.experiments.tables import Experiment, ResultTable

_REMARKS: Final = (Path(__file__).parent / "remarks.md").read_text(encoding="utf-8")
REMARKS: Final = dict(re.findall(r"^## (\S+)\n\n(.*?)\n*(?=^## |\Z)", _REMARKS, re.MULTILINE | re.DOTALL))
"""What is to be said of a table beside its figures."""

_INTRODUCTION: Final = (Path(__file__).parent / "deviations.md").read_text(encoding="utf-8")
"""How results are made, and what differs from the paper."""


EXPERIMENTS: dict[str, Experiment] = {
    **babyai_tables.EXPERIMENTS,
    **painting_tables.EXPERIMENTS,
    **gap.EXPERIMENTS,
    **nodes.EXPERIMENTS,
    **ao_rules.EXPERIMENTS,
}
"""What ``pdsketch reproduce`` knows."""


def experiment_of(table: str) -> Experiment:
    """The experiment of this name."""
    if table not in EXPERIMENTS:
        raise error(
            "unknown-table",
            f"there is no table `{table}`",
            help=did_you_mean(table, EXPERIMENTS) or f"the tables are {', '.join(EXPERIMENTS)}",
        )
    return EXPERIMENTS[table]


@final
@dataclass(frozen=True, slots=True)
class Request:
    """Which table, how thoroughly, where to, and options of the training world.

    ``jobs`` processes share the runs, of this machine or of a ``cluster``. With ``finished_only`` none are
    made: the table has what is finished, and says what is not.
    """

    table: str
    folder: Path = Path("results")
    seeds: Seeds = None
    quick: bool = False
    jobs: int = 1
    world: Mapping[str, Any] = field(default_factory=dict)
    cluster: str | None = None
    finished_only: bool = False

    def all_runs(self) -> list[ExperimentRun[Any]]:
        """The runs of the table, trained in the world that is asked for."""
        runs = EXPERIMENTS[self.table].runs(self.seeds, self.quick)
        return [replace(run, config=in_world(run.config, **self.world)) for run in runs]

    @property
    def place(self) -> Path:
        """The folder of the table: smoke runs have one of their own."""
        return self.folder / "quick" if self.quick else self.folder

    @property
    def runs(self) -> Path:
        """The folder of the runs."""
        return self.place / "runs"


def reproduce(request: Request, say: Callable[[str], None] | None = None) -> ResultTable:
    """Run what is not finished yet, then write the table."""
    experiment = experiment_of(request.table)
    folder = make_folder(request.place)
    # Other tables may be written into the same folder meanwhile.
    with lock_file(folder / f"{request.table}.json"):
        records, missing = _records(request, say)
        table = experiment.table(records)
        if missing:
            listed = f"**Not run yet**: {', '.join(missing)}."
            table = replace(table, note=f"{table.note} {listed}")
        write_file(folder / f"{request.table}.md", table.markdown())
        content = {**table.as_json(), "runs": records}
        write_file(folder / f"{request.table}.json", json.dumps(content, indent=1))
        if experiment.plot is not None:
            experiment.plot(records, folder / f"{request.table}.png")
    return table


def _records(request: Request, say: Callable[[str], None] | None) -> tuple[list[dict[str, Any]], list[str]]:
    """The measurements that the table is made of, and the names of runs that are not finished."""
    runs = request.all_runs()
    if not request.finished_only:
        return run_all(runs, request.runs, request.jobs, say, request.cluster), []
    found = finished_runs(runs, request.runs)
    records = [record for record in found if record is not None]
    if not records:
        raise error(
            "no-runs",
            f"none of the {len(runs)} runs of `{request.table}` is finished in {request.runs}",
            help="the command without --finished makes them",
        )
    return records, [run.name for run, record in zip(runs, found, strict=True) if record is None]


def finished(request: Request) -> tuple[int, int]:
    """How many runs of the table are finished, and how many it has."""
    found = finished_runs(request.all_runs(), request.runs)
    return sum(record is not None for record in found), len(found)


def write_results(folder: Path, page: Path) -> list[str]:
    """Put the tables that stand in ``folder`` on one page; returns their names."""
    found = [name for name in EXPERIMENTS if (folder / f"{name}.md").exists()]
    parts = [_INTRODUCTION]
    make_folder(page.parent)
    for name in found:
        parts += [f"`pdsketch reproduce {name}`", "", (folder / f"{name}.md").read_text(encoding="utf-8")]
        picture = folder / f"{name}.png"
        if picture.exists():
            target = page.parent / picture.name
            write_file(target, picture.read_bytes())
            parts += [f"![{name}]({picture.name})", ""]
        if name in REMARKS:
            parts += [REMARKS[name], ""]
    write_output(page, "\n".join(parts))
    return found
