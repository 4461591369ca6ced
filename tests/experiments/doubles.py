"""A run that is made at once, in a module that processes import quickly."""

from __future__ import annotations

from dataclasses import dataclass

from pdsketch.experiments.runs import Run
from pdsketch.lang.diagnostics import error


@dataclass(frozen=True)
class Config:
    number: int


def double(config: Config) -> dict[str, int]:
    if config.number == 13:
        raise error("unlucky", "thirteen is not doubled")
    return {"twice": 2 * config.number}


def runs(*numbers: int) -> list[Run]:
    return [Run(f"n{n}", f"{__name__}:double", Config(n)) for n in numbers]
