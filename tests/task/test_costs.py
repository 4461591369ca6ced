"""Costs near the end of what numbers hold: added up rightly, or refused."""

from __future__ import annotations

import pytest

import pdsketch as pds
from pdsketch.lang.validator import validate

STEPS = """(define (domain steps) (:requirements :action-costs)
  (:predicates (a) (b) (c)) (:functions (total-cost) (much) (more) - number)
  (:action one :precondition (a) :effect (and (b) (increase (total-cost) {cost})))
  (:action two :precondition (b) :effect (and (c) (increase (total-cost) {cost}))))"""


def problem(cost, much=0.0, more=0.0):
    domain = pds.parse_domain(STEPS.format(cost=cost))
    return pds.parse_problem(
        f"""(define (problem p) (:domain steps) (:init (a) (= (much) {much}) (= (more) {more})) (:goal (c))
          (:metric minimize (total-cost)))""",
        domain,
    )


def code_of(function, *args, **options):
    with pytest.raises(pds.Error) as caught:
        function(*args, **options)
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize("cost", ["1e308", "1e101", "(much)"])
def test_a_cost_whose_sums_are_no_numbers_is_refused_where_it_stands(cost):
    assert code_of(problem, cost, much="1e308") == "cost-too-large"


@pytest.mark.parametrize("cost", ["(* (much) (more))", "(+ (much) (more))"])
def test_a_cost_that_becomes_too_large_is_refused_when_it_is_known(cost):
    this = problem(cost, much="1e300", more="1e300")
    assert code_of(pds.plan, this) == "cost-too-large"
    verdict = validate(this, [("one",), ("two",)])
    assert (verdict.valid, verdict.reason.code) == (False, "cost-too-large")


@pytest.mark.parametrize("options", [{}, {"heuristic": "add"}, {"search": "astar", "heuristic": "max"}])
def test_the_largest_costs_add_up(options):
    found = pds.plan(problem("1e100"), **options)
    assert (found.status, found.cost) == ("solved", 2e100)


def test_whole_numbers_that_no_float_holds_are_an_error_of_the_plan():
    domain = pds.parse_domain(
        """(define (domain whole) (:predicates (n [return_type=int64]) (p))
          (:functions (total-cost) - number)
          (:action go :effect (and (p) (increase (total-cost) (* 0.5 {})))))""".replace(
            "{}", "(* " + " ".join(["(n)"] * 20) + ")"
        )
    )
    this = pds.parse_problem(
        f"""(define (problem q) (:domain whole) (:init (= (n) {2**62})) (:goal (p))
          (:metric minimize (total-cost)))""",
        domain,
    )
    verdict = validate(this, [("go",)])
    assert (verdict.valid, verdict.reason.code) == (False, "number-too-large")
