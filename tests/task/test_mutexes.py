"""Pairs of literals that no state holds both of."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from tests.task.drafts import drafts
from tests.task.test_narrow import simplified

import pdsketch as pds
from pdsketch.budget import current
from pdsketch.core import Phase, States, gather, mutexes
from pdsketch.core.rows import csr_of
from pdsketch.search.options import problem_options
from pdsketch.search.packed.engine import search
from pdsketch.task.grounding import ground
from pdsketch.task.task import Task


def task_of(drawn):
    draft, derived, layer, init = drawn
    small = simplified(draft, derived, layer, init)
    return Task(
        tuple((f"f{i}",) for i in small.kept),
        small.n_basic,
        small.init,
        small.goal,
        tuple((f"o{i}",) for i in small.chosen),
        small.costs,
        small.preconditions,
        small.effects,
        small.conditions,
        small.heads,
        small.axiom_heads,
        small.axiom_bodies,
        small.axiom_layers,
    )


def literals(task, state):
    return 2 * np.arange(task.n_facts) + ~States(task).derived(state)


def reachable(task):
    """The basic facts of all states that can be reached."""
    states = States(task)
    start = states.derived(task.init)
    seen, waiting = {start.tobytes()}, [start]
    while waiting:
        state = waiting.pop()
        yield state
        for operator in states.applicable(state).tolist():
            after = states.successor(state, operator)
            if after.tobytes() not in seen:
                seen.add(after.tobytes())
                waiting.append(after)


def together(task, groups=None):
    none = np.full(task.n_facts, -1, np.int32)
    pairs, _ = mutexes(task, none if groups is None else groups, current())
    return np.unpackbits(pairs.view(np.uint8), axis=1, bitorder="little")[:, : 2 * task.n_facts].astype(bool)


def without_mutexes(task):
    """The task without axioms whose bodies never hold."""
    _, consistent = mutexes(task, np.full(task.n_facts, -1, np.int32), current())
    left = np.flatnonzero(consistent)
    return replace(
        task,
        axiom_heads=task.axiom_heads[left],
        axiom_bodies=gather(task.axiom_bodies, left),
        axiom_layers=task.axiom_layers[left],
    )


@given(drafts(recursive=True))
def test_what_holds_together_in_some_state_is_possible(drawn):
    task = task_of(drawn)
    found = together(task)
    assert (found == found.T).all()
    assert not found[np.arange(len(found)), np.arange(len(found)) ^ 1].any()
    for state in reachable(task):
        held = literals(task, state)
        assert found[np.ix_(held, held)].all()


@given(drafts(recursive=True))
def test_states_and_what_is_derived_in_them_are_the_same_without_them(drawn):
    task = task_of(drawn)
    less = without_mutexes(task)
    for state in reachable(task):
        assert (States(less).derived(state) == state).all()


WALK = """
(define (domain walk)
  (:requirements :strips :typing :conditional-effects :derived-predicates :disjunctive-preconditions)
  (:types place thing)
  (:predicates (at ?p - place) (next ?p - place ?q - place) (lies ?t - thing ?p - place) (held ?t - thing)
    (near ?t - thing) (done))
  (:derived (near ?t - thing) (exists (?p - place) (and (at ?p) (lies ?t ?p))))
  (:derived (done) (exists (?t - thing ?u - thing) (and (held ?t) (near ?u))))
  (:action go :parameters (?p - place ?q - place) :precondition (and (at ?p) (next ?p ?q))
    :effect (and (at ?q) (not (at ?p))))
  (:action take :parameters (?t - thing) :precondition (near ?t)
    :effect (and (held ?t) (forall (?p - place) (when (lies ?t ?p) (not (lies ?t ?p))))))
  (:action put :parameters (?t - thing) :precondition (held ?t)
    :effect (and (not (held ?t)) (forall (?p - place) (when (at ?p) (lies ?t ?p))))))
"""
PROBLEM = """
(define (problem one) (:domain walk) (:objects a b c - place s t - thing)
  (:init (at a) (next a b) (next b c) (next c b) (next b a) (lies s a) (lies t c)) (:goal (done)))
"""


def walk():
    domain = pds.parse_domain(WALK)
    return ground(pds.parse_problem(PROBLEM, domain))


def test_a_thing_that_is_held_is_not_near_and_a_robot_is_in_one_place():
    task = walk()
    found = together(task)
    number = {fact: 2 * i for i, fact in enumerate(task.facts)}
    at = [number["at", place] for place in "abc"]
    assert found[np.ix_(at, at)].sum() == 3
    held, near = ([number[name, thing] for thing in "st"] for name in ("held", "near"))
    assert not found[held, near].any()
    assert found[held[0], near[1]]
    assert found[held[1], near[0]]
    less = without_mutexes(task)
    assert len(task.axiom_heads) - len(less.axiom_heads) == 2
    bodies = {tuple(sorted(less.axiom_bodies[i].tolist())) for i in range(len(less.axiom_bodies))}
    assert all(tuple(sorted(pair)) not in bodies for pair in zip(held, near, strict=True))


P, Q, C = 0, 2, 4
"""Literals of the first three facts; their negations are the next numbers."""


def small_task(init, operators, axioms=(), layers=()):
    """A task of operators, each a list of effects ``(conditions, heads)``, and axioms ``(head, body)``."""
    effects = [effect for own in operators for effect in own]
    ends = np.cumsum([0, *(len(own) for own in operators)]).tolist()
    n_facts = max([len(init), *(head + 1 for head, _ in axioms)])
    return Task(
        tuple((f"f{i}",) for i in range(n_facts)),
        len(init),
        np.array([*init, *[False] * (n_facts - len(init))]),
        np.array([], np.int32),
        tuple((f"o{i}",) for i in range(len(operators))),
        np.ones(len(operators)),
        csr_of([[] for _ in operators]),
        csr_of([[*range(start, end)] for start, end in pairwise(ends)]),
        csr_of([conditions for conditions, _ in effects]),
        csr_of([heads for _, heads in effects]),
        np.array([head for head, _ in axioms], np.int32),
        csr_of([body for _, body in axioms]),
        np.array(layers, np.int32),
    )


def test_what_is_taken_away_on_a_condition_may_stay_beside_what_is_made():
    found = together(small_task([False, True, False], [[([], [P]), ([C], [Q + 1])], [([], [C])]]))
    assert found[P, Q]
    assert not together(small_task([False, True, False], [[([], [P, Q + 1])], [([], [C])]]))[P, Q]


def test_effects_of_an_operator_that_fire_together_make_both_true():
    either = [[([C], [P, C + 1]), ([C], [Q, C + 1])]]
    assert together(small_task([False, False, True], either))[P, Q]
    one = [[([C], [P, C + 1]), ([C + 1], [Q, P + 1])]]
    assert not together(small_task([False, False, True], one))[P, Q]


def test_facts_of_a_group_never_hold_together():
    task = small_task([False, False], [[([], [P])], [([], [Q])]])
    assert together(task)[P, Q]
    found = together(task, np.array([0, 0], np.int32))
    assert not found[P, Q]
    assert found[P, P]
    assert together(task, np.array([0, 1], np.int32))[P, Q]


def test_axioms_that_are_left_keep_their_layers():
    # The first can never hold; the third needs that the second does not.
    axioms = [(2, [P, Q]), (3, [P]), (4, [3 * 2 + 1])]
    task = small_task([True, False], [[([], [P + 1])]], axioms, layers=[0, 0, 1])
    less = without_mutexes(task)
    assert less.axiom_heads.tolist() == [3, 4]
    assert less.axiom_layers.tolist() == [0, 1]
    assert [less.axiom_bodies[i].tolist() for i in range(2)] == [[P], [7]]


SOONER = """
(define (domain sooner)
  (:requirements :strips :typing :derived-predicates :disjunctive-preconditions :negative-preconditions)
  (:types place)
  (:predicates (at ?p - place) (next ?p - place ?q - place) (both) (done) (far ?p - place))
  (:derived (both) (exists (?p - place ?q - place) (and (at ?p) (at ?q) (not (= ?p ?q)))))
  (:action go :parameters (?p - place ?q - place) :precondition (and (at ?p) (next ?p ?q))
    :effect (and (at ?q) (not (at ?p))))
  (:action leave :parameters (?p - place) :precondition (at ?p) :effect (not (at ?p)))
  (:action jump :parameters () :precondition (both) :effect (done))
  (:action end :parameters (?p - place) :precondition (and (at ?p) (far ?p)) :effect (done)))
"""


@pytest.mark.parametrize(
    ("leaves", "consistent", "grouped", "h"),
    [(True, False, True, 2), (True, True, False, 4), (False, True, False, 2), (False, True, True, 4)],
)
def test_heuristics_do_not_count_on_what_never_holds(leaves, consistent, grouped, h):
    """Two places at once: h² sees that where one is left, and where not, groups say so."""
    domain = SOONER if leaves else SOONER.replace("(and (at ?q) (not (at ?p)))", "(at ?q)")
    facts, objects = "(next a b) (next b c) (next c d) (at a) (far d)", "(:objects a b c d - place)"
    problem = f"(define (problem one) (:domain sooner) {objects} (:init {facts}) (:goal (done)))"
    task = ground(pds.parse_problem(problem, pds.parse_domain(domain)))
    groups = np.array([0 if fact[0] == "at" else -1 for fact in task.facts], np.int32)
    found = search(
        task,
        problem_options(max_expansions=0),
        schedule=(Phase("max", 1.0, 1.0, consistent=consistent),),
        groups=groups if grouped else None,
    )
    assert found.best_h == h
