"""Kept runs of before their functions moved: ``python paper/migrate.py results/runs``.

A run is found by a digest of the function that made it, ``module:name``, and of its config. This writes each
file of the folder again under the name that it has now; what it holds stays, but for that name.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pdsketch.files import make_folder, read_json, write_file
from pdsketch_paper.experiments.runs import key_of

_MOVED: Final = {
    "babyai_dreamer": "babyai_baselines",
    "babyai_settings": "babyai_baselines",
    "babyai_curves": "babyai_nodes",
    "babyai_ppo": "babyai_onpolicy",
    "babyai_success": "babyai_tables",
}
"""Modules of experiments that are parts of others now."""


def moved(code: str) -> str:
    """Where a function stands now, of where it stood."""
    module, _, name = code.partition(":")
    leaf = module.rpartition(".")[2]
    return f"pdsketch_paper.experiments.{_MOVED.get(leaf, leaf)}:{name}"


def migrate(folder: Path) -> int:
    """Rename the runs of a folder; how many were renamed."""
    renamed = 0
    for path in sorted(make_folder(folder).glob("*.json")):
        record = read_json(path, "lost-run")
        if not isinstance(record, dict) or not {"name", "function", "config"} <= record.keys():
            continue
        record["function"] = moved(record["function"])
        target = folder / f"{key_of(record['name'], record['function'], record['config'])}.json"
        if target != path:
            write_file(target, json.dumps(record, indent=1))
            path.unlink()
            renamed += 1
    return renamed


def main(words: Sequence[str] | None = None) -> int:
    """Rename, and say how many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of runs, such as results/runs")
    args = parser.parse_args(words)
    sys.stdout.write(f"{migrate(args.folder)} runs renamed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
