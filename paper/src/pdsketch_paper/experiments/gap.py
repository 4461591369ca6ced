"""What closes the gap: one change after the other, from the paper's method to ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final, cast

from pdsketch_paper.babyai.modules import SketchName
from pdsketch_paper.experiments import babyai_tables, painting_tables
from pdsketch_paper.experiments.methods import Method, ladder
from pdsketch_paper.experiments.runs import FRESH, ExperimentRun, Seeds, seeds_for
from pdsketch_paper.experiments.tables import (
    Experiment,
    Records,
    ResultTable,
    every,
    made_by,
    rate,
    seeds_of,
    select,
    values_at,
)

SIZES: Final = (100, 1000)
"""Numbers of demonstrations."""

PROBLEMS: Final = 100

LADDERS: Final[Mapping[str, Mapping[str, Method]]] = {
    "rob": ladder("labels", "walls", "snap"),  # its rules are about walls
    "abs": ladder("labels", "snap"),
    "painting": ladder("walls", "snap"),
}

PRINTED: Final[Mapping[str, Mapping[int, str]]] = {
    **babyai_tables.PAPER_SIZES,
    "painting": painting_tables.PRINTED,
}
"""What the paper reports, by number of demonstrations."""

_LOOPS = ("open", "closed")


def gap_runs(models: Sequence[str], seeds: Seeds, quick: bool) -> list[ExperimentRun[Any]]:
    """A run for each model, method, number of demonstrations and seed."""
    return [
        _run(name, at, method, size, seed, quick)
        for name in models
        for at, method in enumerate(LADDERS[name].values())
        for size in SIZES
        for seed in seeds_for(seeds, FRESH[:3], quick)
    ]


def _run(name: str, at: int, method: Method, size: int, seed: int, quick: bool) -> ExperimentRun[Any]:
    label = f"gap-{name}-{at}-{size}-seed{seed}"
    if name == "painting":
        own = {"episodes": size, "method": method}
        (run,) = painting_tables.runs_with("gap", (seed,), quick, training=own)
        return replace(run, name=label)
    training = babyai_tables.training(cast("SketchName", name), size, seed, quick, method)
    problems = 2 if quick else PROBLEMS
    return replace(babyai_tables.run(training, quick, problems=problems, rooms=((4, 4),)), name=label)


def gap_table(models: Sequence[str], records: Records) -> ResultTable:
    """A row for each change, which holds in all rows below it, too; the last is ours."""
    rows, sizes = [], every(records, "episodes")
    for name in models:
        place, title = ("pair", "PDS") if name == "painting" else ("4+4", f"PDS-{name.capitalize()}")
        own = [record for record in records if record["name"].startswith(f"gap-{name}-")]
        for change, method in LADDERS[name].items():
            some = select(own, method=asdict(method))
            found = [values_at(some, place, loop, "success", episodes=n) for n in sizes for loop in _LOOPS]
            rows.append((title, change, *map(rate, found)))
        printed = (cell for size in sizes for cell in (PRINTED[name].get(size, ""), ""))
        rows.append((title, "paper, as printed", *printed))
    head = ("model", "method", *(f"@{size}, {loop} loop" for size in sizes for loop in _LOOPS))
    note = (
        f"{seeds_of(records)}; {records[0]['config']['problems']} held-out problems a seed. From the paper's "
        f"method to ours: each row has the changes of the rows above it, too. {made_by(records)}"
    )
    return ResultTable(f"{_where(models)}: what closes the gap", note, head, tuple(rows))


def _where(models: Sequence[str]) -> str:
    return "Painting Factory" if "painting" in models else "BabyAI"


def _experiment(*models: str, **more: Any) -> Experiment:
    return Experiment(partial(gap_runs, models), partial(gap_table, models), **more)


EXPERIMENTS: Final = {
    "babyai-gap": _experiment("rob", "abs"),
    "painting-gap": _experiment("painting", options=("blocks", "bowls")),
}
"""What ``pdsketch reproduce`` knows of the gap."""
