"""How fast states are built, beside plain torch tensors of the same values in the same run.

    python benchmarks/states.py
    python benchmarks/states.py --json

The states are those of PDS-Abs, with 8 items and with 8 items and 20 walls, given as
nested lists, numpy arrays and tensors. The ratio is what checking a state, and
knowing its objects, costs over `torch.tensor` of each value.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import torch

import pdsketch as pds
from learning import SKETCH, Room


def best(build: Callable[[], object], count: int) -> float:
    """Microseconds a call, the best of five rounds."""
    build()
    rounds = []
    for _ in range(5):
        clock = time.perf_counter()
        for _ in range(count):
            build()
        rounds.append((time.perf_counter() - clock) / count)
    return 1e6 * min(rounds)


def measure(walls: int, count: int) -> list[dict]:
    """A row for each form that values may have."""
    domain = pds.load_domain(SKETCH)
    arrays = Room(np.random.default_rng(0), 4, 4, walls).observe(walls > 0)
    objects = {"item": [f"item#{i}" for i in range(8)], "wall": [f"wall#{i}" for i in range(walls)]}
    forms = {
        "lists": {name: array.tolist() for name, array in arrays.items()},
        "numpy": arrays,
        "tensors": {name: torch.from_numpy(array) for name, array in arrays.items()},
    }
    rows = []
    for form, values in forms.items():
        state = best(lambda values=values: pds.State(domain, objects, values), count)
        copy = torch.clone if form == "tensors" else torch.tensor
        plain = best(lambda values=values, copy=copy: {name: copy(v) for name, v in values.items()}, count)
        rows.append({"walls": walls, "form": form, "state": state, "plain": plain, "ratio": state / plain})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="states a round")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for walls in (0, 20) for row in measure(walls, args.count)]
    if args.json:
        print(json.dumps({"torch": torch.__version__, "rows": rows}))
        return
    print(f"{'walls':>6} {'values':>8} {'State µs':>9} {'plain µs':>9} {'ratio':>6}")
    for row in rows:
        print(
            f"{row['walls']:>6} {row['form']:>8} {row['state']:9.1f} {row['plain']:9.1f} {row['ratio']:6.2f}"
        )


if __name__ == "__main__":
    main()
