"""Models over many objects without types: what no action changes prunes their ground tasks."""

from __future__ import annotations

import pytest

import pdsketch as pds
from pdsketch.abstract.andor import compile as compiling
from pdsketch.search import strategy

SHIPS = """
(define (domain ships)
  (:predicates (ship ?x) (crate ?x) (harbour ?x) (lane ?x ?y) (at ?x ?y) (on ?x ?y))
  (:action sail :parameters (?s ?from ?to)
    :precondition (and (ship ?s) (harbour ?from) (harbour ?to) (lane ?from ?to) (at ?s ?from))
    :effect (and (at ?s ?to) (not (at ?s ?from))))
  (:action load :parameters (?c ?s ?p ?q)
    :precondition (and (crate ?c) (ship ?s) (harbour ?p) (lane ?p ?q) (at ?c ?p) (at ?s ?p))
    :effect (and (on ?c ?s) (not (at ?c ?p))))
  (:action unload :parameters (?c ?s ?p ?q)
    :precondition (and (crate ?c) (ship ?s) (harbour ?p) (lane ?q ?p) (on ?c ?s) (at ?s ?p))
    :effect (and (at ?c ?p) (not (on ?c ?s)))))
"""
HARBOURS = 20
OBJECTS = [*(f"h{i}" for i in range(HARBOURS)), *(f"c{i}" for i in range(12)), "s0"]


def domain():
    return pds.parse_domain(SHIPS)


def bay(own, lanes):
    """Crates in the first harbour, and a ship there."""
    facts = [("harbour", f"h{i}") for i in range(HARBOURS)] + [("crate", f"c{i}") for i in range(12)]
    facts += [("ship", "s0"), ("at", "s0", "h0"), *(("at", f"c{i}", "h0") for i in range(12))]
    facts += [("lane", f"h{i}", f"h{j}") for i, j in lanes]
    init = " ".join(f"({' '.join(fact)})" for fact in facts)
    objects = " ".join(OBJECTS)
    text = f"(define (problem p) (:domain ships) (:objects {objects}) (:init {init}) (:goal (at c0 h0)))"
    return pds.parse_problem(text, own).state


RING = [(i, (i + 1) % HARBOURS) for i in range(HARBOURS)]
BACK = [(j, i) for i, j in RING]


def test_static_facts_prune_the_ground_task_of_a_model(monkeypatch):
    own = domain()
    found = []
    made = compiling.Template

    def watched(*args):
        found.append(made(*args))
        return found[-1]

    monkeypatch.setattr(compiling, "Template", watched)
    model, state = pds.Model(own), bay(own, RING)
    result = pds.plan(model, state, "(and (at c0 h2) (at c1 h3))", search="abstract")
    assert result.solved
    assert len(result.plan) == 7
    (template,) = found
    # 20 lanes for the ship, and each crate in each harbour, whatever the third place is.
    assert len(template._operators) == 20 + 2 * 12 * HARBOURS
    # Facts are numbered as they stand in a state, and not by the hashes of their names.
    lanes = [fact[1:] for fact in template.numbers if fact[0] == "lane"]
    assert lanes == [(f"@{i}", f"@{j}") for i, j in sorted(RING)]


def test_states_whose_static_facts_differ_have_plans_of_their_own():
    own = domain()
    model = pds.Model(own)
    states = [bay(own, lanes) for lanes in (RING, BACK, RING, RING[:1])]
    results = pds.plan_many(model, states, "(at s0 h2)", search="abstract", max_expansions=2000)
    assert [len(result.plan or ()) for result in results] == [2, HARBOURS - 2, 2, 0]


def test_goals_over_static_facts_hold_or_do_not():
    own = domain()
    model, state = pds.Model(own), bay(own, RING)
    for goal, steps in (("(and (lane h0 h1) (at s0 h1))", 1), ("(and (not (lane h1 h0)) (at s0 h1))", 1)):
        assert len(pds.plan(model, state, goal, search="abstract").plan) == steps


@pytest.mark.parametrize("search", ["abstract", "portfolio"])
def test_what_the_abstraction_cannot_reach_is_said_where_the_model_is_too_large_to_be_searched(search):
    own = domain()
    result = pds.plan(pds.Model(own), bay(own, RING), "(and (lane h1 h0) (at s0 h1))", search=search)
    assert result.status == "gave-up"
    assert "too large to be searched" in result.reasons[0]
    assert "ground instances" in result.reasons[0]


def test_where_the_model_is_too_large_to_be_searched_the_rules_have_all_that_is_left(monkeypatch):
    monkeypatch.setattr(strategy, "MOST_EXPANSIONS", 1)
    own = domain()
    result = pds.plan(pds.Model(own), bay(own, RING), "(and (at c0 h2) (at c1 h3))", max_expansions=10_000)
    assert result.solved
    assert [stage.name for stage in result.stages] == ["rules", "latent"]
    assert result.stages[0].expanded == 1
