"""Demonstrations of building towers, planned with the domain itself."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

import pdsketch as pds

DOMAIN = Path(__file__).parents[3] / "examples" / "blocks" / "domain.pddl"


def start(domain: pds.Domain, blocks: list[str]) -> pds.State:
    """All blocks on the table."""
    count = len(blocks)
    values = {
        "on": np.zeros((count, count), dtype=bool),
        "on-table": np.ones(count, dtype=bool),
        "clear": np.ones(count, dtype=bool),
        "held": np.zeros(count, dtype=bool),
        "hand-empty": True,
    }
    return pds.State(domain, {"block": blocks}, values)


def tower(blocks: list[str]) -> str:
    """The goal to stack blocks in this order, the first one on top."""
    return f"(and {' '.join(f'(on {a} {b})' for a, b in pairwise(blocks))})"


def demonstrations(count: int, seed: int = 0, sizes: tuple[int, int] = (2, 5)):
    """A domain and episodes, each of a tower of some of its blocks, from the bottom up."""
    domain = pds.load_domain(DOMAIN)
    model = pds.Model(domain)
    rng = np.random.default_rng(seed)
    episodes = []
    for _ in range(count):
        blocks = [f"b{i}" for i in range(int(rng.integers(*sizes)))]
        order = list(rng.permutation(blocks)[: int(rng.integers(2, len(blocks) + 1))])
        states, actions = [start(domain, blocks)], []
        for below, above in pairwise(reversed(order)):
            for action in (("pick-up", above), ("stack", above, below)):
                actions.append(action)
                states.append(model.step(states[-1], action, crisp=True))
        success = [0] * len(actions) + [1]
        episodes.append(pds.Episode(states, actions, tower(order), success))
    return domain, episodes
