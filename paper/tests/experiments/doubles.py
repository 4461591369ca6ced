"""A run that is made at once, in a module that processes import quickly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pdsketch.lang.diagnostics import error
from pdsketch_paper.experiments.runs import ExperimentRun


@dataclass(frozen=True)
class Config:
    number: int


def double(config: Config) -> dict[str, int]:
    if config.number == 13:
        raise error("bad-number", "thirteen is not doubled")
    return {"twice": 2 * config.number}


def runs(*numbers: int) -> list[ExperimentRun]:
    return [ExperimentRun(f"n{n}", double, Config(n)) for n in numbers]


def begun(config: Config, folder: Path) -> dict[str, int]:
    """How often it was called, by what it left in its folder; the first call fails."""
    folder.mkdir(exist_ok=True)
    calls = len([*folder.iterdir()]) + 1
    (folder / str(calls)).touch()
    if calls == 1:
        raise error("bad-number", "not the first time")
    return {"calls": calls}
