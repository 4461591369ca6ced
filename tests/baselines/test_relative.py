"""What edges of a graph say of where two objects are."""

from __future__ import annotations

import torch

import pdsketch as pds
from pdsketch.baselines.relative import Relative, comparable
from pdsketch.lang.types import OBJECT

DOMAIN = pds.parse_domain("""(define (domain d) (:types robot box - object place - vector[float32, 2])
  (:predicates (at [return_type=place] ?r - robot) (lies [return_type=place] ?b - box)
    (held [return_type=place] ?b - box) (look [return_type=vector[float32, 5]] ?b - box)
    (open ?b - box))
  (:action go :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r)))))""")
SHAPES = {"at": (2,), "lies": (2,), "held": (2,), "look": (5,), "open": ()}


def edges(robot: list[float], box: list[float]) -> torch.Tensor:
    values = {"at": [robot], "lies": [box], "held": [[0.0, 0.0]], "look": [[0.0] * 5], "open": [False]}
    state = pds.State(DOMAIN, {"robot": ["r"], "box": ["b"]}, values)
    torch.manual_seed(0)
    relative = Relative([DOMAIN.predicates["at"], DOMAIN.predicates["lies"]], (2,), 8)
    with torch.no_grad():
        found = relative(state.batch, OBJECT)
    assert found is not None
    return found


def test_places_of_one_type_are_compared_and_pictures_are_not():
    groups = comparable(DOMAIN, list(DOMAIN.predicates.values()), SHAPES)
    assert [[p.name for p in group] for group in groups] == [["at", "lies"], ["held"]]


def test_an_edge_says_where_the_sender_is_seen_from_the_receiver():
    one = edges([1.0, 2.0], [3.0, 2.5])
    torch.testing.assert_close(edges([2.0, 4.0], [4.0, 4.5]), one)
    assert not torch.allclose(edges([1.5, 2.0], [3.0, 2.5]), one, atol=1e-3)
    assert not torch.allclose(edges([1.0, 2.0], [3.0, 3.5]), one, atol=1e-3)
    assert not torch.allclose(one[0, 0, 1], one[0, 1, 0], atol=1e-3)
