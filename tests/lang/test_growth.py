"""The work of checking and of replaying grows with what is written, not with its square."""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb

import pytest
from tests.budgets import out_of_time_at, work

import pdsketch as pds
from pdsketch.budget import OutOfTimeError
from pdsketch.lang.validator import validate


def chain(count):
    rules = " ".join(f"(:derived (d{i + 1} ?x) (d{i} ?x))" for i in range(count))
    names = " ".join(f"(d{i} ?x)" for i in range(count + 1))
    return f"""(define (domain chain) (:predicates {names}) {rules}
      (:action go :parameters (?x) :effect (d0 ?x)))"""


def either(count):
    types = " ".join(f"t{i}" for i in range(count))
    wide = f"(either {types})"
    return f"""(define (domain wide) (:types {types} - object)
      (:predicates (p ?x - {wide}) (q ?x - {wide}))
      (:action go :parameters (?x ?y - {wide}) :precondition (and (p ?x) (not (= ?x ?y))) :effect (q ?x)))"""


def steps(count):
    actions = " ".join(f"(:action a{i} :precondition (p{i}) :effect (p{i + 1}))" for i in range(count))
    return f"(define (domain steps) (:predicates {' '.join(f'(p{i})' for i in range(count + 1))}) {actions})"


@pytest.mark.parametrize("text", [chain, either, steps])
def test_checking_twice_as_much_is_twice_the_work(text):
    few, many = (work(lambda n=n: pds.parse_domain(text(n))) for n in (200, 400))
    assert many < 2.3 * few


@pytest.mark.parametrize("text", [chain, steps])
def test_checking_looks_at_the_clock(text):
    with out_of_time_at(3).running(), pytest.raises(OutOfTimeError):
        pds.parse_domain(text(800))


def test_checking_one_large_formula_looks_at_the_clock():
    facts = " ".join(["(p ?x)"] * 2000)
    text = f"""(define (domain large) (:predicates (p ?x))
      (:action go :parameters (?x) :precondition (or {facts}) :effect (p ?x)))"""
    looks, stopped_in = 0, set()
    while True:
        looks += 1
        with out_of_time_at(looks).running():
            try:
                pds.parse_domain(text)
                break
            except OutOfTimeError as stopped:
                stopped_in |= {Path(frame.filename).stem for frame in extract_tb(stopped.__traceback__)}
    assert "expressions" in stopped_in


def test_reading_a_long_initial_state_looks_at_the_clock():
    domain = pds.parse_domain("(define (domain d) (:predicates (p ?x)) (:action a))")
    facts = " ".join(["(p o)"] * 20_000)
    with out_of_time_at(4).running(), pytest.raises(OutOfTimeError):
        pds.parse_problem(
            f"(define (problem q) (:domain d) (:objects o) (:init {facts}) (:goal (p o)))", domain
        )


def spread(condition, objects, facts):
    domain = pds.parse_domain(
        f"""(define (domain all) (:requirements :adl) (:predicates (p ?a ?b) (q ?a ?b) (done))
          (:action go :effect (and (done) (forall (?a ?b ?c ?d) (when {condition} (q ?a ?d))))))"""
    )
    names = " ".join(f"o{i}" for i in range(objects))
    return pds.parse_problem(
        f"(define (problem x) (:domain all) (:objects {names}) (:init {facts}) (:goal (q o1 o2)))",
        domain,
    )


def test_an_effect_is_asked_for_no_objects_that_its_first_conditions_rule_out():
    this = spread("(and (p ?a ?b) (p ?c ?d))", 12, "(p o1 o3) (p o4 o2)")
    assert work(lambda: validate(this, [("go",)])) < 2 * 12**4
    assert validate(this, [("go",)]).valid


def test_conditions_are_asked_in_their_order():
    # The second part has no value where the first is false.
    domain = pds.parse_domain(
        """(define (domain order) (:predicates (p ?a) (q ?a ?b)) (:functions (f ?a) - number)
          (:action go :effect (forall (?b ?a) (when (and (p ?a) (> (f ?a) 1)) (q ?a ?b)))))"""
    )
    this = pds.parse_problem(
        "(define (problem x) (:domain order) (:objects a b) (:init (p a) (= (f a) 2)) (:goal (q a b)))",
        domain,
    )
    assert validate(this, [("go",)]).valid


def test_a_replay_looks_at_the_clock():
    this = spread("(or (p ?a ?b) (p ?c ?d))", 12, "(p o1 o3)")
    with out_of_time_at(20).running(), pytest.raises(OutOfTimeError):
        validate(this, [("go",)])
