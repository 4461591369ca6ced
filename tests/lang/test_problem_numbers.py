"""A number that no `:init` gives is told by `check`, before a search drops the actions that read it."""

from __future__ import annotations

import pytest

import pdsketch as pds

DOMAIN = """
(define (domain roads) (:requirements :typing :numeric-fluents)
  (:types place)
  (:predicates (at ?p - place))
  (:functions (dist ?a ?b - place) (fuel) (height ?p - place))
  (:action go :parameters (?a ?b - place) :precondition (and (at ?a) (>= (fuel) (dist ?a ?b)))
    :effect (and (at ?b) (not (at ?a)) (decrease (fuel) (dist ?a ?b)))))
"""
PROBLEM = "(define (problem p) (:domain roads) (:objects {objects}) (:init {init}) (:goal (and)))"


@pytest.mark.parametrize(
    ("objects", "init", "named"),
    [
        ("a b - place", "(at a)", ["dist", "fuel"]),
        ("a b - place", "(at a) (= (fuel) 9)", ["dist"]),
        ("a b - place", "(at a) (= (fuel) 9) (= (dist a b) 5)", []),
        ("", "(= (fuel) 9)", []),
    ],
)
def test_functions_without_any_value_are_told(objects, init, named):
    problem = pds.parse_problem(PROBLEM.format(objects=objects, init=init), pds.parse_domain(DOMAIN))
    found = [d for d in problem.warnings if d.code == "undefined-value"]
    assert [next(n for n in ("dist", "fuel", "height") if f"`{n}`" in d.message) for d in found] == named
    assert all(d.severity == "warning" and d.span is not None for d in found)
    if "dist" in named:
        assert "(= (dist a a) …)" in found[0].help
