"""Blanks of one conjunction that the data cannot tell apart."""

from __future__ import annotations

import numpy as np
import pytest

import pdsketch as pds

SKETCH = """
(define (domain things)
  (:types box)
  (:predicates (colour [return_type=int64[choices=3]] ?b - box)
    (shape [return_type=int64[choices=3]] ?b - box))
  (:derived (p ?b - box) (??f (colour ?b)))
  (:derived (q ?b - box) (??f (colour ?b) (shape ?b)))
  (:derived (r ?b - box) (??f (shape ?b)))
  (:action wait :parameters () :precondition (and) :effect (and)))
"""


def warnings(*goals):
    domain = pds.parse_domain(SKETCH)
    rng = np.random.default_rng(0)
    episodes = []
    for goal in goals:
        values = {name: rng.integers(3, size=2) for name in ("colour", "shape")}
        episodes.append(pds.Episode([pds.State(domain, {"box": ["a", "b"]}, values)], [], goal, [1]))
    return [w for w in pds.evaluate(pds.Model(domain, seed=0), episodes).warnings if "told apart" in w]


@pytest.mark.parametrize(
    ("goals", "count"),
    [
        (["(exists (?b - box) (and (p ?b) (q ?b)))"], 1),
        (["(and (p a) (q a))", "(and (p b) (q b))"], 1),
        (["(and (p a) (q a))", "(p b)"], 0),
        (["(or (p a) (q a))"], 0),
        (["(and (p a) (r a))"], 0),
        (["(and (p a) (q b))"], 0),
    ],
)
def test_only_what_stands_side_by_side_over_the_same_values_cannot_be_told_apart(goals, count):
    found = warnings(*goals)
    assert len(found) == count
    assert all("`p` and `q`" in w and "add goals" in w for w in found)
