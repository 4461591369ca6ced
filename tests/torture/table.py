"""Six runs over two processes, for `tests.torture.kills`: prints what they measured."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pdsketch.experiments import runs
from pdsketch.experiments.runs import Run


@dataclass(frozen=True)
class Config:
    number: int


def square(config: Config) -> int:
    time.sleep(0.2)
    return config.number**2


def main() -> None:
    """Make the runs that are not finished."""
    table = [Run(f"n{n}", "tests.torture.table:square", Config(n)) for n in range(6)]
    found = runs.run_all(table, Path(sys.argv[1]), jobs=2, say=lambda text: print(text, file=sys.stderr))
    print(*(one["result"] for one in found))


if __name__ == "__main__":
    main()
