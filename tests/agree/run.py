"""One case from its seed to a verdict, and the figures of many."""

from __future__ import annotations

import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field

from tests.agree.case import Case, DifferError
from tests.agree.kinds import KINDS


def failure(case: Case) -> str | None:
    """What is wrong with a case, engine first; None if all agree. Warnings and exceptions are wrong, too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            KINDS[case.kind].check(case.again())
    except DifferError as difference:
        return str(difference)
    except Exception as problem:  # whatever it is, it is what we look for
        where = traceback.extract_tb(problem.__traceback__)[-1]
        place = f"{where.filename.rpartition('/')[2]}:{where.lineno}"
        return f"{type(problem).__name__} at {place}, {problem}"
    return None


@dataclass
class Figures:
    """What became of the cases of one kind."""

    cases: int = 0
    differences: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    states: int = 0

    def add(self, other: Figures) -> None:
        """The figures of some more cases."""
        self.cases += other.cases
        self.differences += other.differences
        self.seconds += other.seconds
        self.states += other.states
        self.outcomes += other.outcomes


@dataclass
class Batch:
    """Some cases of a kind, by their seeds, and what was found: a seed and what it says."""

    kind: str
    seeds: range
    figures: Figures = field(default_factory=Figures)
    found: list[tuple[int, str]] = field(default_factory=list)

    def one(self, seed: int) -> None:
        """Draw one case and check it."""
        started = time.process_time()
        case = KINDS[self.kind].case(seed)
        said = failure(case)
        self.figures.cases += 1
        self.figures.seconds += time.process_time() - started
        self.figures.states += len(case.graph.states)
        self.figures.outcomes[case.graph.outcome] += 1
        if said is not None:
            self.figures.differences += 1
            self.found.append((seed, said))


def first_seed(kind: str, seed: int) -> int:
    """The seed of the first case of a kind."""
    return (seed * len(KINDS) + list(KINDS).index(kind)) * 10**9


def batches(kinds: list[str], cases: int, seed: int, size: int = 50) -> list[Batch]:
    """So many cases of some kinds, by their shares; another seed, or another kind, gives other cases."""
    total = sum(KINDS[name].share for name in kinds)
    counts = {name: cases * KINDS[name].share // total for name in kinds}
    counts[kinds[0]] += cases - sum(counts.values())
    found = []
    for name in kinds:
        first = first_seed(name, seed)
        end = first + counts[name]
        found += [Batch(name, range(at, min(at + size, end))) for at in range(first, end, size)]
    return found
