"""A world of three rooms in a row and a few boxes, to learn from goal labels alone."""

from __future__ import annotations

import numpy as np

import pdsketch as pds

SKETCH = """
(define (domain rooms)
  (:types robot box - object
          place - vector[float32, 1]
          paint - int64[choices=3])
  (:predicates
    (at [return_type=place] ?r - robot)
    (colour [return_type=paint] ?b - box)
    (stands [return_type=place] ?b - box))
  (:derived (is-red ?b - box) (??f (colour ?b)))
  (:derived (is-blue ?b - box) (??f (colour ?b)))
  (:derived (near ?r - robot ?b - box) (??f (at ?r) (stands ?b)))
  (:derived (in-last ?r - robot) (??f (at ?r)))
  (:action left :parameters (?r - robot) :precondition (and)
    :effect (at::assign ?r (??f (at ?r))))
  (:action right :parameters (?r - robot) :precondition (and)
    :effect (at::assign ?r (??f (at ?r))))
  (:action dye :parameters (?r - robot) :precondition (and)
    :effect (foreach (?b - box) (colour::cond-assign ?b (near ?r ?b) (??f (colour ?b))))))
"""

GOALS = (
    "(exists (?b - box) (and (near rob ?b) (is-red ?b)))",
    "(exists (?b - box) (and (near rob ?b) (is-blue ?b)))",
    "(in-last rob)",
)


def episode(domain, rng, boxes: int, steps: int = 6, executable=None) -> pds.Episode:
    at, colours = int(rng.integers(3)), rng.integers(3, size=boxes)
    stands = rng.integers(3, size=boxes)
    goal = int(rng.integers(len(GOALS)))
    states, success, actions = [], [], []
    for step in range(steps + 1):
        states.append(
            pds.State(
                domain,
                objects={"robot": ["rob"], "box": [f"b{i}" for i in range(boxes)]},
                values={
                    "at": [[at]],
                    "colour": colours.copy(),
                    "stands": np.array(stands, dtype=np.float32).reshape(boxes, 1),
                },
            )
        )
        here = stands == at
        success.append(int([(here & (colours == 0)).any(), (here & (colours == 2)).any(), at == 2][goal]))
        if step == steps:
            break
        action = ["left", "right", "dye"][rng.integers(3)]
        actions.append((action, "rob"))
        at = max(0, at - 1) if action == "left" else min(2, at + 1) if action == "right" else at
        colours = np.where(here, (colours + 1) % 3, colours) if action == "dye" else colours
    return pds.Episode(states, actions, GOALS[goal], success, executable)


def world(count: int, seed: int = 0, boxes: tuple[int, int] = (1, 4)):
    domain = pds.parse_domain(SKETCH)
    rng = np.random.default_rng(seed)
    return domain, [episode(domain, rng, int(rng.integers(*boxes))) for _ in range(count)]
