"""A run that is made at once, in a module that processes import quickly."""

from __future__ import annotations

from dataclasses import dataclass

from pdsketch.experiments.runs import ExperimentRun
from pdsketch.lang.diagnostics import error


@dataclass(frozen=True)
class Config:
    number: int


def double(config: Config) -> dict[str, int]:
    if config.number == 13:
        raise error("bad-number", "thirteen is not doubled")
    return {"twice": 2 * config.number}


def runs(*numbers: int) -> list[ExperimentRun]:
    return [ExperimentRun(f"n{n}", double, Config(n)) for n in numbers]
