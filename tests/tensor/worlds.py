"""Small domains that the tests of this room share."""

from __future__ import annotations

import torch

from pdsketch.lang.load import parse_domain
from pdsketch.tensor.states.state import State

GRID = parse_domain("""
(define (domain grid)
  (:types robot item - object
          key ball - item
          pose - vector[float32, 2]
          direction - int64[choices=4])
  (:constants home - item)
  (:predicates
    (robot-pose [return_type=pose] ?r - robot)
    (robot-direction [return_type=direction] ?r - robot)
    (item-pose [return_type=pose] ?o - item)
    (item-image [return_type=vector[float32, 3]] ?o - item)
    (facing [return_type=pose] ?p - pose ?d - direction)
    (locked ?o - item)
    (beside ?a - item ?b - item)
    (night))
  (:derived (item-feature [return_type=vector[float32, 4]] ?o - item) (??f (item-image ?o)))
  (:derived (is-red ?o - item) (??f (item-feature ?o)))
  (:derived (robot-is-facing ?r - robot ?o - item)
    (equal (facing (robot-pose ?r) (robot-direction ?r)) (item-pose ?o)))
  (:derived (reach ?a - item ?b - item)
    (or (beside ?a ?b) (exists (?c - item) (and (reach ?a ?c) (beside ?c ?b)))))
  (:action forward :parameters (?r - robot) :precondition (not (night))
    :effect (assign (robot-pose ?r) (facing (robot-pose ?r) (robot-direction ?r))))
  (:action turn :parameters (?r - robot) :precondition (and)
    :effect (assign (robot-direction ?r) (??f (robot-direction ?r))))
  (:action paint :parameters (?o - item) :precondition (is-red ?o)
    :effect (when (is-red ?o) (item-feature::assign ?o (??f (item-feature ?o)))))
  (:action grab :parameters (?r - robot) :precondition (and)
    :effect (forall (?o - item) (when (robot-is-facing ?r ?o) (assign (item-pose ?o) (robot-pose ?r)))))
  (:action unlock :parameters (?o - item) :precondition (locked ?o) :effect (not (locked ?o)))
  (:action drop :parameters (?o - item ?p - pose) :precondition (and)
    :effect (assign (item-pose ?o) ?p)))
""")

STEPS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def facing(pose, direction):
    """The cell ahead: an external function over a pose and an int64 direction."""
    return pose + STEPS[direction[..., 0]]


def values(n: int = 3, robots: int = 1) -> dict:
    """Values for ``n`` items (the constant included)."""
    generator = torch.Generator().manual_seed(n)
    return {
        "robot-pose": [[3.0, 3.0]] * robots,
        "robot-direction": [0] * robots,
        "item-pose": [[4.0 + i, 3.0] for i in range(n)],
        "item-image": torch.rand(n, 3, generator=generator),
        "locked": [i % 2 == 0 for i in range(n)],
        "beside": torch.diag(torch.ones(n - 1), 1) > 0,
        "night": False,
    }


def grid_state(keys=("key#1",), balls=("ball#2",), **changes) -> State:
    """One robot, the constant, some keys and balls in a row."""
    n = 1 + len(keys) + len(balls)
    objects = {"robot": ["agent"], "key": list(keys), "ball": list(balls)}
    return State(GRID, objects, {**values(n), **changes})
