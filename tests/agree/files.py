"""A case as files that `pdsketch` reads, and back again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.agree.case import Case
from tests.strategies.functions import Linear
from tests.strategies.sample import Sample


def write(case: Case, folder: Path, said: str) -> Path:
    """The domain, the problem (its state and its goal), and what else the case needs; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    sample = case.sample
    (folder / "domain.pddl").write_text(sample.domain_text + "\n")
    (folder / "problem.pddl").write_text(sample.problem_text + "\n")
    notes: dict[str, Any] = {
        "kind": case.kind,
        "limit": case.limit,
        "formulas": list(sample.formulas),
        "functions": {name: asdict(function) for name, function in sample.functions.items()},
        "candidates": sample.candidates,
        "said": said,
    }
    (folder / "case.json").write_text(json.dumps(notes, indent=1) + "\n")
    return folder


def read(folder: Path) -> Case:
    """The case in a folder."""
    notes = json.loads((folder / "case.json").read_text())
    sample = Sample(
        (folder / "domain.pddl").read_text(),
        (folder / "problem.pddl").read_text(),
        tuple(notes["formulas"]),
        {name: _linear(given) for name, given in notes["functions"].items()},
        {name: tuple(map(_plain, values)) for name, values in notes["candidates"].items()},
    )
    return Case(notes["kind"], sample, notes["limit"])


def _linear(given: dict[str, Any]) -> Linear:
    return Linear(tuple(given["weights"]), given["bias"], _plain(given["returns"]))


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, list) else value
