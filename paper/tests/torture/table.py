"""Six runs over two processes, for `paper.tests.torture.tries`: prints what they measured."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pdsketch_paper.experiments import runs
from pdsketch_paper.experiments.runs import ExperimentRun


@dataclass(frozen=True)
class Config:
    number: int


def square(config: Config) -> int:
    time.sleep(0.2)
    return config.number**2


def main() -> None:
    """Make the runs that are not finished."""
    from paper.tests.torture.table import square  # by its name in all processes, not as that of `__main__`

    table = [ExperimentRun(f"n{n}", square, Config(n)) for n in range(6)]
    found = runs.run_all(table, Path(sys.argv[1]), jobs=2, say=lambda text: print(text, file=sys.stderr))
    print(*(one["result"] for one in found))


if __name__ == "__main__":
    main()
