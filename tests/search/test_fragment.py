"""One decision, for `plan` and for grounding: classically, or through a model."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st
from tests.strategies import classical, sketch

import pdsketch as pds
from pdsketch.task import fragment, grounding
from pdsketch.task.fragment import classify

UNREAD = """(define (domain d) (:predicates (p) (q)){more}
  (:action go :parameters () :precondition (p) :effect (q)))"""


def way(problem):
    """The search that `plan` chooses."""
    with (
        patch("pdsketch.search.packed.problem.plan_problem", lambda *_: "classical"),
        patch("pdsketch.search.strategy.plan_models", lambda *_: ["model"]),
        patch("pdsketch.tensor.model.Model", lambda domain: domain),
    ):
        return pds.plan(problem)


def refusal(problem):
    """What grounding says against the fragment of a problem."""
    try:
        grounding.ground(problem)
    except pds.Error as refused:
        return tuple(d for d in refused.diagnostics if d.code in ("needs-model", "not-yet"))
    return ()


@given(st.one_of(classical(), sketch()))
def test_planning_and_grounding_never_disagree(sample):
    found = classify(sample.problem)
    assert way(sample.problem) == ("classical" if found.classical else "model")
    assert refusal(sample.problem) == found.beyond
    assert not (found.classical and sample.domain.blanks)


@given(classical())
def test_adl_with_axioms_and_costs_is_classical(sample):
    assert classify(sample.problem).classical


@pytest.mark.parametrize(
    ("more", "is_classical"),
    [
        ("", True),
        (" (:constants a) (:functions (f) - number)", True),
        (" (:types pose - vector[float32, 2]) (:predicates (near ?x ?y - pose))", False),
        (" (:derived (r) (??guess (p)))", False),
    ],
)
def test_what_only_a_model_has_counts_though_nothing_reads_it(more, is_classical):
    domain = pds.parse_domain(UNREAD.format(more=more))
    problem = pds.parse_problem("(define (problem x) (:domain d) (:init (p)) (:goal (q)))", domain)
    assert classify(problem).classical == is_classical
    assert way(problem) == ("classical" if is_classical else "model")
    assert bool(refusal(problem)) != is_classical


def test_a_call_decides_once():
    domain = pds.parse_domain(UNREAD.format(more=""))
    problem = pds.parse_problem("(define (problem x) (:domain d) (:init (p)) (:goal (q)))", domain)
    calls = []
    counted = lambda problem: calls.append(problem) or fragment.classify(problem)  # noqa: E731
    with (
        patch("pdsketch.search.planning.classify", counted),
        patch("pdsketch.task.grounding.classify", counted),
    ):
        assert pds.plan(problem).solved
    assert len(calls) == 1
