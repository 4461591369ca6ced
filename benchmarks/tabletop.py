"""Continuous parameters in a small world: ``python -m benchmarks.tabletop`` from the repository's root.

Relations of blocks on a table are learned from 100 demonstrations, as offsets; then unseen goals are planned
for and carried out without noise, and with placement noise and lost grips, open and closed loop. Success is
the world's word.
"""

from __future__ import annotations

import argparse
import time
import warnings

import torch
from tests.tabletop import OFFSETS, Tabletop, demonstrations, new_model

import pdsketch as pds

GOALS = {
    "as trained: left": "(left-of b0 b1)",
    "as trained: on": "(on b0 b1)",
    "three in a row": "(and (left-of b0 b1) (left-of b1 b2))",
    "tower of three": "(and (on b0 b1) (on b1 b2))",
    "tower and row": "(and (on b0 b1) (on b1 b2) (left-of b3 b2) (left-of b4 b3))",
}
NOISES = (0.0, 0.01, 0.02, 0.03)
LOST = 0.15


def learned(seed: int, steps: int) -> pds.Model:
    """A model from 100 demonstrations, and how far its offsets are from what the oracle aims at."""
    model, started = new_model(), time.perf_counter()
    pds.fit(model, demonstrations(100, seed), steps=steps, seed=seed)
    seconds = time.perf_counter() - started
    for name, offset in OFFSETS.items():
        module = model.blanks.network(f"derived::{name}::f")
        assert isinstance(module, pds.nets.Offset)
        off = float((module.theta - torch.tensor(offset)).norm())
        print(f"  {name:8} off by {off:.4f}, radius {module.gamma.sqrt().item():.3f}")
    print(f"  learned in {seconds:.0f} s")
    return model


def planned(model: pds.Model, problems: int) -> None:
    """Plans for each kind of goal, carried out without noise."""
    print(f"  {'goal':18} success  median s  worst s  expanded")
    for kind, goal in GOALS.items():
        good, times, expanded = 0, [], 0
        for seed in range(1000, 1000 + problems):
            world = Tabletop(6, goal)
            result = pds.plan(model, world.reset(seed), goal)
            for action in result.plan or ():
                world.step(action)
            good += world.success
            times.append(result.seconds)
            expanded += result.expanded
        times.sort()
        middle = times[len(times) // 2]
        print(f"  {kind:18} {good / problems:7.2f} {middle:9.3f} {times[-1]:8.3f} {expanded / problems:9.1f}")


def acted(model: pds.Model, problems: int, confidence: float) -> None:
    """Open and closed loop, against noise."""
    print(f"  {LOST:.0%} lost grips     " + "".join(f"  {noise * 100:.0f} cm" for noise in NOISES))
    for kind in ("three in a row", "tower of three"):
        for loop in ("open", "closed"):
            rates = []
            for noise in NOISES:
                worlds = [Tabletop(6, GOALS[kind], noise, LOST) for _ in range(problems)]
                policy = pds.Policy(
                    model,
                    loop=loop,  # type: ignore[arg-type]
                    options={"candidates": "generators", "confidence": confidence, "time_limit": None},
                )
                done = pds.rollout(policy, worlds, seeds=range(problems), max_steps=30)
                rates.append(sum(bool(s) for s in done.success) / problems)
            print(f"  {kind:15} {loop:6}" + "".join(f" {rate:5.2f}" for rate in rates))


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--problems", type=int, default=50)
    parser.add_argument("--confidence", type=float, default=0.5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for seed in range(args.seeds):
        print(f"seed {seed}")
        model = learned(seed, args.steps)
        planned(model, args.problems)
        acted(model, args.problems, args.confidence)


if __name__ == "__main__":
    main()
