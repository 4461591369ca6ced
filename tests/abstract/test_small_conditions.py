"""Conditions over codes: what an effect rules out, and what depends on several objects."""

from __future__ import annotations

import pytest

import pdsketch as pds

WALK = """
(define (domain walk)
  (:types robot wall)
  (:predicates (at [return_type=int64] ?r - robot) (place [return_type=int64] ?w - wall))
  (:derived (blocked ?r - robot) (exists (?w - wall) (= (place ?w) (+ (at ?r) 1))))
  (:action step :parameters (?r - robot) :effect (when (not (blocked ?r)) (at::assign ?r (+ (at ?r) 1))))
  (:action back :parameters (?r - robot) :effect (at::assign ?r (- (at ?r) 1)))
  (:action hop :parameters (?r - robot) :effect (at::assign ?r (+ (at ?r) 3))))
"""

FACING = """
(define (domain facing)
  (:types robot thing)
  (:predicates (at [return_type=int64] ?r - robot) (heading [return_type=int64[choices=2]] ?r - robot)
    (place [return_type=int64] ?t - thing) (seen ?t - thing))
  (:derived (facing ?r - robot ?t - thing) (= (place ?t) (+ (at ?r) (heading ?r))))
  (:action look :parameters (?r - robot)
    :effect (foreach (?t - thing) (when (facing ?r ?t) (seen ?t))))
  (:action turn :parameters (?r - robot) :effect (heading::assign ?r (- 1 (heading ?r))))
  (:action go :parameters (?r - robot) :effect (at::assign ?r (+ (at ?r) 1)))
  (:action put :parameters (?r - robot ?t - thing)
    :effect (when (not (facing ?r ?t)) (place::assign ?t (+ (at ?r) (heading ?r))))))
"""


def walk(wall):
    domain = pds.parse_domain(WALK)
    state = pds.State(domain, objects={"robot": ["r"], "wall": ["w"]}, values={"at": [0], "place": [wall]})
    return pds.Model(domain), state


@pytest.mark.parametrize(("wall", "cost"), [(9, 1), (1, 3)])
def test_a_wall_is_in_the_way_even_in_the_relaxation(wall, cost):
    # Elsewhere nothing is in the way, which would do for a relaxed plan: back, and a step.
    model, state = walk(wall)
    found = pds.plan(model, state, "(= (at r) 1)", heuristic="ao", search="gbfs", max_expansions=0)
    assert found.best_h == cost
    assert pds.plan(model, state, "(= (at r) 1)", search="abstract").cost == cost


def facing(things):
    domain = pds.parse_domain(FACING)
    state = pds.State(
        domain,
        objects={"robot": ["r"], "thing": [f"t{i}" for i in range(things)]},
        values={"at": [0], "heading": [0], "place": [*range(things)], "seen": [False] * things},
    )
    return pds.Model(domain), state


def test_many_things_are_seen_one_after_the_other():
    model, state = facing(12)
    assert pds.plan(model, state, "(forall (?t - thing) (seen ?t))", search="abstract").cost == 12 + 11


def test_the_abstraction_does_what_the_model_does():
    model, state = facing(3)
    result = pds.plan(model, state, "(and (facing r t0) (facing r t2) (seen t1))", search="abstract")
    blind = pds.plan(
        model, state, "(and (facing r t0) (facing r t2) (seen t1))", heuristic="blind", search="astar"
    )
    assert result.solved
    assert (result.refinements, result.cost) == (0, blind.cost)
