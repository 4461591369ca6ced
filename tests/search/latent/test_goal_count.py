"""Goal counting: literals that are false, for the objects that come nearest to the goal."""

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.search.heuristics import MODEL_HEURISTICS
from pdsketch.search.latent.heuristics import Searched

DOMAIN = pds.parse_domain("""
(define (domain lamps)
  (:types lamp shelf)
  (:predicates (lit ?l - lamp) (red ?l - lamp) (by ?a - lamp ?b - lamp) (full ?s - shelf))
  (:action light :parameters (?l - lamp) :effect (lit ?l))
  (:action paint :parameters (?l - lamp) :effect (and (red ?l) (not (lit ?l)))))
""")
MODEL = pds.Model(DOMAIN)


def state_of(lit, red, by=(), shelves=0):
    lamps = [f"l{i}" for i in range(len(lit))]
    beside = np.zeros((len(lit), len(lit)), dtype=bool)
    for a, b in by:
        beside[a, b] = True
    values = {"lit": np.array(lit, bool), "red": np.array(red, bool), "by": beside}
    values["full"] = np.zeros(shelves, bool)
    return pds.State(DOMAIN, {"lamp": lamps, "shelf": [f"s{i}" for i in range(shelves)]}, values)


def count(states, goals):
    batch = pds.StateBatch.of(states)
    universes = [batch.universe(i) for i in range(len(states))]
    terms = [universe.formula(goal) for universe, goal in zip(universes, goals, strict=True)]
    heuristic = MODEL_HEURISTICS["goalcount"](Searched(MODEL, terms, batch, universes, costs=False))
    assert not heuristic.infinity_is_proof
    assert (heuristic.explain(batch, 0), heuristic.rests_on(batch, 0)) == ((), ())
    return heuristic.values(batch, torch.arange(len(states)), np.zeros(len(states), bool)).tolist()


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("(and (lit l0) (red l0))", 2),
        ("(and (lit l1) (red l0))", 1),
        ("(or (and (lit l0) (red l0)) (red l2))", 1),
        ("(not (lit l1))", 1),
        ("(not (or (lit l1) (lit l2)))", 2),
        ("(implies (lit l1) (red l1))", 1),
        ("(not (implies (lit l1) (lit l2)))", 1),
        ("(forall (?l - lamp) (lit ?l))", 1),
        ("(forall (?l - lamp) (and (lit ?l) (red ?l)))", 4),
        ("(not (forall (?l - lamp) (lit ?l)))", 1),
        ("(not (exists (?l - lamp) (lit ?l)))", 2),
        ("(exists (?a - lamp ?b - lamp) (and (lit ?a) (red ?a) (by ?a ?b) (red ?b)))", 3),
        ("(exists (?s - shelf) (full ?s))", 1e6),
        ("(forall (?s - shelf) (full ?s))", 1),
    ],
)
def test_what_is_false_counts(goal, wanted):
    assert count([state_of([0, 1, 1], [0, 0, 0], by=[(0, 1)])], [goal]) == [wanted]


def test_padding_does_not_count_and_each_problem_has_its_goal():
    states = [state_of([0], [0]), state_of([0, 1, 0], [0, 0, 0])]
    every = "(forall (?l - lamp) (lit ?l))"
    assert count(states, [every, every]) == [1, 2]
    assert count(states, [every, "(exists (?l - lamp) (and (lit ?l) (red ?l)))"]) == [1, 1]


def test_plans_are_found_with_it():
    state, goal = state_of([0, 0, 0], [0, 0, 0]), "(forall (?l - lamp) (and (lit ?l) (red ?l)))"
    counted, blind = (
        pds.plan(MODEL, state, goal, search="gbfs", heuristic=h) for h in ("goalcount", "blind")
    )
    assert counted.solved
    assert counted.expanded < blind.expanded
