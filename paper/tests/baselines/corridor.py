"""A corridor of five cells with a reward at its end: the smallest world that is worth a plan."""

from __future__ import annotations

import numpy as np

import pdsketch as pds

CELLS = 5

SKETCH = """
(define (domain corridor)
  (:types robot - object
          place - int64[choices=5])
  (:predicates (at [return_type=place] ?r - robot))
  (:derived (at-end ?r - robot) (??f (at ?r)))
  (:action left :parameters (?r - robot) :precondition (and) :effect (at::assign ?r (??f (at ?r))))
  (:action right :parameters (?r - robot) :precondition (and) :effect (at::assign ?r (??f (at ?r)))))
"""


class Corridor:
    """The robot begins in one of the first cells, by the seed."""

    goal = "(at-end rob)"
    executed = True

    def __init__(self, sketch: pds.Domain) -> None:
        self.domain = sketch
        self.at = 0

    @property
    def success(self) -> bool:
        return self.at == CELLS - 1

    def reset(self, seed: int | None = None) -> pds.State:
        self.at = (seed or 0) % (CELLS - 2)
        return self._state()

    def step(self, action: tuple[str, ...]) -> pds.State:
        self.at = min(max(self.at + (1 if action[0] == "right" else -1), 0), CELLS - 1)
        return self._state()

    def render(self) -> np.ndarray:
        return np.zeros((1, CELLS, 3), dtype=np.uint8)

    def _state(self) -> pds.State:
        return pds.State(self.domain, {"robot": ["rob"]}, {"at": [self.at]})


class RandomWalk:
    """Left and right at random."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def reset(self) -> None:
        pass

    def act(self, state: pds.State, goal: str) -> tuple[str, str]:
        return ("left" if self.rng.random() < 0.5 else "right", "rob")


def walks(count: int, seed: int = 0, steps: int = 12) -> pds.Rollouts:
    """Random walks in the corridor."""
    world = Corridor(pds.parse_domain(SKETCH))
    return pds.rollout(RandomWalk(seed), world, range(count), steps)
