"""Differences of values on the edges of graphs."""

from __future__ import annotations

import pytest
import torch

import pdsketch as pds
from pdsketch.lang.types import ObjectType
from pdsketch.tensor.states.state import StateBatch
from pdsketch_paper.baselines.graph import Relative, comparable

DOMAIN = """(define (domain d)
  (:types robot thing - object item wall - thing pose - vector[float32, 2])
  (:predicates
    (place [return_type=pose] ?r - robot)
    (stands [return_type=pose] ?o - thing)
    (wanted [return_type=pose] ?o - item)
    (look [return_type=vector[float32, 9]] ?o - thing)
    (weight [return_type=float32] ?o - thing)
    (distance [return_type=float32] ?a ?b - thing)
    (open ?o - thing))
  (:action go :parameters (?r - robot) :precondition (and) :effect (and)))"""

NODES = ObjectType(("robot", "item"))


@pytest.fixture(scope="module")
def domain():
    return pds.parse_domain(DOMAIN)


def groups(domain):
    read = list(domain.predicates.values())
    shapes = {p.name: tuple(p.type.shape) for p in read}
    return comparable(domain, read, shapes)


def state(domain, place, stands):
    count = len(stands)
    return pds.State(
        domain,
        {"robot": ["r"], "item": ["a", "b"], "wall": ["w"]},
        {
            "place": torch.tensor([place]),
            "stands": torch.tensor(stands),
            "wanted": torch.zeros(2, 2),
            "look": torch.zeros(count, 9),
            "weight": torch.zeros(count),
            "distance": torch.zeros(count, count),
            "open": torch.zeros(count, dtype=torch.bool),
        },
    )


def test_values_of_one_type_are_compared_unless_an_object_has_two_or_they_are_long(domain):
    assert [[p.name for p in group] for group in groups(domain)] == [
        ["place", "stands"],
        ["wanted"],
        ["weight"],
    ]


def test_edges_know_differences_alone_and_those_of_nodes_alone(domain):
    torch.manual_seed(0)
    relative = Relative(groups(domain)[0], (2,), 8)

    def edges(place, stands):
        with torch.no_grad():
            return relative(StateBatch.of([state(domain, place, stands)]), NODES)[0]

    first = edges([1.0, 2.0], [[3.0, 2.0], [4.0, 4.0], [0.0, 0.0]])
    assert first.shape == (3, 3, 8)
    moved = edges([2.0, 5.0], [[4.0, 5.0], [5.0, 7.0], [0.0, 3.0]])
    torch.testing.assert_close(first, moved, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(first, edges([1.0, 2.0], [[3.0, 2.0], [4.0, 4.0], [9.0, 9.0]]))
    robot = edges([2.0, 2.0], [[3.0, 2.0], [4.0, 4.0], [0.0, 0.0]])
    differs = (first - robot).abs().amax(-1) > 1e-4
    assert differs.tolist() == [[False, True, True], [True, False, False], [True, False, False]]
    assert not torch.allclose(first[0, 1], first[1, 0], atol=1e-3)


def test_nodes_without_such_a_value_have_no_edge(domain):
    relative = Relative(groups(domain)[1], (2,), 8)
    batch = StateBatch.of([state(domain, [1.0, 2.0], [[3.0, 2.0], [4.0, 4.0], [0.0, 0.0]])])
    with torch.no_grad():
        found = relative(batch, NODES)[0]
    assert not found[0].any()
    assert not found[:, 0].any()
    assert found[1:, 1:].any()
    assert relative(batch, ObjectType(("robot",))) is None


def test_the_spread_of_data_is_the_unit(domain):
    relative = Relative(groups(domain)[0], (2,), 8)
    relative.standardise([torch.tensor([[0.0, 0.0], [4.0, 0.0]]), torch.tensor([[[0.0, 0.0], [4.0, 0.0]]])])
    torch.testing.assert_close(relative.scale, torch.tensor([2.0, 1e-3]))
