"""Limits of planning for problems, what is counted against them, and what is never returned."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from tests.heuristics.tasks import make_task

import pdsketch as pds
from pdsketch.budget import Budget
from pdsketch.search.options import problem_options
from pdsketch.search.packed import problem
from pdsketch.search.packed.engine import search


def flips(count: int):
    facts = " ".join(f"x{i}" for i in range(count)) + " p q"
    back = [(f"r{i}", f"x{i}", f"~x{i}", 1.0) for i in range(count)]
    make = [("p", "~q", "p", 1.0), ("q", "~p", "q", 1.0)]
    there = [(f"s{i}", f"~x{i}", f"x{i}", 1.0) for i in range(count)]
    return make_task(facts, "", "p q", [*there, *back, *make])


def test_a_search_stops_at_its_deadline():
    taken = time.process_time()
    found = search(flips(40), problem_options(search="gbfs", max_expansions=300_000), Budget(seconds=0.3))
    assert found.status == "out-of-time"
    assert time.process_time() - taken < 2


def test_the_time_limit_of_a_problem_reaches_its_search():
    names = " ".join(f"s{i}" for i in range(40))
    domain = pds.parse_domain("""(define (domain d) (:predicates (on ?x) (p) (q))
      (:action flip :parameters (?x) :precondition (not (on ?x)) :effect (on ?x))
      (:action flop :parameters (?x) :precondition (on ?x) :effect (not (on ?x)))
      (:action make-p :parameters () :precondition (not (q)) :effect (p))
      (:action make-q :parameters () :precondition (not (p)) :effect (q)))""")
    goal = "(and (p) (q) (forall (?x) (on ?x)))"
    hard = pds.parse_problem(
        f"(define (problem p) (:domain d) (:objects {names}) (:init) (:goal {goal}))", domain
    )
    found = pds.plan(hard, search="astar", heuristic="blind", time_limit=0.3, max_expansions=200_000)
    assert found.status == "out-of-time"
    assert found.reasons[0] == "the time limit was reached"


def test_the_goals_that_are_out_of_reach_are_those_that_are():
    task = make_task("a b c", "a", "b c", [("go", "a", "b", 1.0)])
    assert search(task, problem_options()).unreached == (4,)


def test_a_plan_that_does_not_replay_is_never_returned(monkeypatch):
    """The exact semantics has the last word, whatever the kernels say."""
    text = """(define (domain d) (:predicates (a) (b))
      (:action go :parameters () :precondition (a) :effect (b)))"""
    easy = pds.parse_problem(
        "(define (problem p) (:domain d) (:init (a)) (:goal (b)))", pds.parse_domain(text)
    )
    assert pds.plan(easy).plan == [("go",)]
    real = problem.search
    monkeypatch.setattr(problem, "search", lambda *args: replace(real(*args), plan=()))
    with pytest.raises(AssertionError, match="does not replay"):
        pds.plan(easy)


NUMBERS = """
(define (domain fuel)
  (:types car)
  (:functions (total-cost) - number)
  (:predicates (fuel [return_type=int64] ?c - car) (home ?c - car))
  (:action fill :parameters (?c - car) :effect (and (increase (fuel ?c) 5) (increase (total-cost) 3)))
  (:action drip :parameters (?c - car) :effect (and (increase (fuel ?c) 1) (increase (total-cost) 1)))
  (:action go :parameters (?c - car) :precondition (>= (fuel ?c) 5) :effect (home ?c)))
"""


@pytest.mark.parametrize(("metric", "cost"), [("(:metric minimize (total-cost))", 3), ("", 2)])
def test_problems_whose_numbers_change_are_planned_by_their_metric(metric, cost):
    text = f"""(define (problem p) (:domain fuel) (:objects c - car) (:init (= (fuel c) 0)) (:goal (home c))
      {metric})"""
    found = pds.plan(pds.parse_problem(text, pds.parse_domain(NUMBERS)), heuristic="blind")
    assert (found.plan, found.cost) == ([("fill", "c"), ("go", "c")], cost)
