"""`make cluster` (`python -m paper.tests.cluster`): runs dealt out by the real Ray to two workers."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
from paper.tests.experiments.doubles import runs

from pdsketch.lang.diagnostics import Error
from pdsketch_paper.experiments.runs import count_finished, run_all
from pdsketch_paper.experiments.workers import Cluster

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Six runs, one of which fails; then again, when five are finished."""
    # Workers import the runs from here.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), str(ROOT / "src"), str(ROOT / "paper/src"), os.environ.get("PYTHONPATH", "")]
    )
    with tempfile.TemporaryDirectory() as made:
        folder, every = Path(made), runs(1, 2, 3, 4, 5)
        with pytest.raises(Error, match="thirteen is not doubled"):
            run_all([*every, *runs(13)], folder, 2, print, Cluster())
        assert count_finished(every, folder) == 5
        found = run_all(every, folder, 2, print, Cluster())
        assert [record["result"]["twice"] for record in found] == [2, 4, 6, 8, 10]
    print("ok: six runs on two workers of Ray")
    return 0


if __name__ == "__main__":
    sys.exit(main())
