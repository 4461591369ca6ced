"""Grounding keeps the meaning: the same optimal costs as the reference semantics, and plans that replay."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.strategies.classical import classical
from tests.strategies.exploration import key
from tests.strategies.oracle import reachable
from tests.task.interpreter import optimum
from tests.task.tidy import unstratified, untidy

from pdsketch.lang.load import parse_domain, parse_goal, parse_problem
from pdsketch.lang.validator import validate
from pdsketch.task.grounding import ground

SETTINGS = settings(
    max_examples=111, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@SETTINGS
@given(classical())
def test_optimal_cost_is_that_of_the_reference(sample):
    reference = reachable(sample, limit=150)
    if not reference.complete:
        return
    cost, plan = optimum(ground(sample.problem))
    assert cost == pytest.approx(reference.cost)
    if cost is not None:
        verdict = validate(sample.problem, plan)
        assert verdict.valid, verdict.reason
        assert verdict.cost == pytest.approx(cost)


@settings(SETTINGS, max_examples=74)
@given(classical())
def test_tasks_are_tidy_their_axioms_stratified_and_grounding_is_deterministic(sample):
    first, second = ground(sample.problem), ground(sample.problem)
    assert untidy(first) is None
    assert unstratified(first) is None
    assert first.facts == second.facts
    assert first.operators == second.operators
    assert first.heads.items.tolist() == second.heads.items.tolist()


@SETTINGS
@given(classical(), st.data())
def test_any_formula_is_reached_at_the_reference_cost(sample, data):
    reference = reachable(sample, limit=80)
    if not reference.complete:
        return
    goal = parse_goal(data.draw(st.sampled_from(sample.formulas)), sample.problem)
    problem = replace(sample.problem, goal=goal)
    from pdsketch.lang.semantics import holds

    costs = [reference.costs[key(s)] for s in reference.states if holds(sample.world, s, goal)]
    cost, _ = optimum(ground(problem))
    assert cost == pytest.approx(min(costs, default=None))


def test_a_goal_that_contradicts_itself_leaves_nothing_to_search():
    domain = parse_domain(
        "(define (domain d) (:predicates (p) (q))"
        " (:action on :parameters () :effect (p)) (:action off :parameters () :effect (not (p))))"
    )
    for goal in ("(and (p) (not (p)))", "(not (imply (p) (p)))", "(and (imply (p) (q)) (and (not (p)) (p)))"):
        task = ground(parse_problem(f"(define (problem x) (:domain d) (:init) (:goal {goal}))", domain))
        assert task.facts == (("unreachable-goal",),), goal
        assert not task.operators


def test_what_an_action_makes_true_anyway_is_in_no_other_effect_of_it():
    names = "abcd"  # facts of even and of odd numbers
    every = " ".join(f"({name}) (when (q) (not ({name}))) (when (w) ({name}))" for name in names)
    domain = parse_domain(
        f"""(define (domain d) (:predicates (q) (w) (done) {" ".join(f"({name})" for name in names)})
          (:action go :effect (and {every}))
          (:action undo :precondition (w) :effect (and (q) {" ".join(f"(not ({name}))" for name in names)}))
          (:action flip :effect (and (w) (not (q))))
          (:action end :precondition (and (q) {" ".join(f"({name})" for name in names)}) :effect (done)))"""
    )
    task = ground(parse_problem("(define (problem p) (:domain d) (:init (q)) (:goal (done)))", domain))
    (effect,) = task.effects[task.operators.index(("go",))]
    assert task.conditions[effect].size == 0
    assert {task.facts[literal >> 1] for literal in task.heads[effect]} == {(name,) for name in names}
    assert not any(literal & 1 for literal in task.heads[effect])
