"""What grounding refuses, it refuses with a diagnostic that names the thing and its place."""

from __future__ import annotations

from time import process_time

import pytest

from pdsketch.budget import Budget, OutOfMemoryError, OutOfTimeError
from pdsketch.lang.diagnostics import Error
from pdsketch.lang.domain import Problem
from pdsketch.lang.load import parse_domain, parse_problem
from pdsketch.task.grounding import ground


def problem(domain: str, rest: str) -> Problem:
    head = "(:requirements :adl :action-costs :numeric-fluents)"
    checked = parse_domain(f"(define (domain d) {head} {domain})", "d.pddl")
    return parse_problem(f"(define (problem p) (:domain d) {rest})", checked, "p.pddl")


def refusal(this: Problem):
    with pytest.raises(Error) as caught:
        ground(this)
    return caught.value.diagnostics[0]


def test_numeric_fluents_are_not_yet_there():
    found = refusal(
        problem(
            "(:predicates (p)) (:functions (fuel) - number)"
            "(:action go :parameters () :precondition (> (fuel) 0) :effect (and (p) (decrease (fuel) 1)))",
            "(:objects) (:init (= (fuel) 3)) (:goal (p))",
        )
    )
    assert found.code == "not-yet"
    assert "`fuel`" in found.message
    assert found.place[0] == "d.pddl"


def test_value_typed_state_is_not_yet_there():
    found = refusal(
        problem(
            "(:predicates (pose [return_type=vector[float32, 2]] ?x) (p))"
            "(:action go :parameters (?x) :effect (and (p) (assign (pose ?x) [1, 1])))",
            "(:objects a) (:init (= (pose a) [0, 0])) (:goal (p))",
        )
    )
    assert found.code == "not-yet"
    assert "`pose`" in found.message


def test_blanks_need_a_model():
    found = refusal(
        problem(
            "(:predicates (p ?x)) (:derived (nice ?x) (??f (p ?x)))"
            "(:action go :parameters (?x) :effect (p ?x))",
            "(:objects a) (:init) (:goal (nice a))",
        )
    )
    assert found.code == "needs-model"
    assert "derived::nice::f" in found.message


def test_negative_costs_are_refused_with_the_instance():
    found = refusal(
        problem(
            "(:predicates (p ?x)) (:functions (total-cost) - number (gain ?x) - number)"
            "(:action go :parameters (?x) :effect (and (p ?x) (increase (total-cost) (- 1 (gain ?x)))))",
            "(:objects a b) (:init (= (gain a) 1) (= (gain b) 3)) (:goal (p a))"
            "(:metric minimize (total-cost))",
        )
    )
    assert found.code == "negative-cost"
    assert "(go b)" in found.message
    assert "-2" in found.message


def exploding() -> Problem:
    objects = " ".join(f"o{i}" for i in range(40))
    return problem(
        "(:predicates (p ?x)) (:action go :parameters (?a ?b ?c ?d ?e ?f) :effect (p ?a))",
        f"(:objects {objects}) (:init) (:goal (p o1))",
    )


def test_an_explosion_is_stopped_and_its_schema_named():
    with pytest.raises(OutOfMemoryError) as caught, Budget(megabytes=10).running():
        ground(exploding())
    what, remedy = caught.value.args
    assert what.startswith("d.pddl:1:")
    assert "`go` has" in what
    assert "10 MB" in what
    assert remedy.startswith("give `go` fewer parameters")


def test_a_quantifier_over_too_much_is_stopped_before_memory_is_taken():
    objects = " ".join(f"o{i}" for i in range(100))
    this = problem(
        "(:predicates (p ?x) (q ?a ?b ?c ?d ?e)) (:action go :parameters (?x) :effect (p ?x))",
        f"(:objects {objects}) (:init)"
        "(:goal (forall (?a ?b ?c ?d ?e) (imply (not (q ?a ?b ?c ?d ?e)) (or (p ?a) (p ?b)))))",
    )
    with pytest.raises(OutOfMemoryError, match=r"forall \(\?a \?b \?c \?d \?e\)"):
        ground(this)


def test_the_deadline_holds_within_one_join():
    objects = " ".join(f"o{i}" for i in range(300))
    facts = " ".join(f"(e o{i} o{(i * k) % 299})" for i in range(300) for k in range(1, 9))
    # Nothing is ever found, however long one looks: only the clock can end this.
    this = problem(
        "(:predicates (e ?x ?y) (p)) (:action go :parameters (?a ?b ?c ?d ?f ?g ?h)"
        "  :precondition (and (e ?a ?b) (e ?b ?c) (e ?c ?d) (e ?d ?f) (e ?f ?g) (e ?g ?h) (not (e ?g ?h)))"
        "  :effect (p))",
        f"(:objects {objects}) (:init {facts}) (:goal (p))",
    )
    with pytest.raises(OutOfTimeError) as stopped, Budget(seconds=0.5, clock=process_time).running():
        ground(this)
    assert any(entry.name == "_saturate" for entry in stopped.traceback)
