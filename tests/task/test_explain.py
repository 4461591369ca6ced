"""Explanations name the missing conditions, in the author's words and with their places."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from tests.strategies.classical import classical
from tests.task.interpreter import optimum

from pdsketch.lang.load import parse_domain, parse_problem
from pdsketch.task.explanation import explain, explain_unreachable
from pdsketch.task.grounding import Grounding, ground

DOMAIN = """(define (domain house) (:requirements :adl :typing :derived-predicates)
(:types robot room key)
(:predicates (at ?r - robot ?x - room) (door ?x ?y - room) (locked ?x ?y - room)
  (has ?r - robot ?k - key) (opens ?k - key ?x ?y - room) (here ?k - key ?x - room))
(:derived (home ?r - robot) (exists (?x - room) (and (at ?r ?x) (here gold ?x))))
(:constants gold - key)
(:action move :parameters (?r - robot ?x ?y - room)
  :precondition (and (at ?r ?x) (door ?x ?y)
                     (not (locked ?x ?y)))
  :effect (and (at ?r ?y) (not (at ?r ?x))))
(:action unlock :parameters (?r - robot ?k - key ?x ?y - room)
  :precondition (and (at ?r ?x) (has ?r ?k) (opens ?k ?x ?y))
  :effect (not (locked ?x ?y)))
(:action pick :parameters (?r - robot ?k - key ?x - room)
  :precondition (and (at ?r ?x) (here ?k ?x))
  :effect (and (has ?r ?k) (not (here ?k ?x)))))"""

INIT = "(at r1 a) (door a b) (door b c) (locked b c) (opens k b c)"


def problem(goal: str, init: str = INIT):
    head = "(define (problem p) (:domain house) (:objects r1 - robot a b c d - room k - key)"
    text = f"{head}\n(:init {init})\n(:goal {goal}))"
    return parse_problem(text, parse_domain(DOMAIN, "house.pddl"), "p.pddl")


def test_the_chain_of_missing_conditions_is_followed_back():
    lines = "\n".join(explain(Grounding(problem("(at r1 c)", INIT + " (here k c)"))))
    assert "p.pddl:3:8: the goal needs `(at r1 c)`, which can never hold" in lines
    assert "house.pddl:9:22: `move` would make `(at r1 c)` true, but it needs `(not (locked b c))`" in lines
    assert "house.pddl:12:33: `unlock` would make `(locked b c)` false, but it needs `(has" in lines
    assert "`pick` would make" in lines


def test_a_fact_that_no_action_makes_true():
    (found,) = explain_unreachable(Grounding(problem("(and (at r1 b) (door a d))")))
    assert found.code == "unreachable-goal"
    assert "`(door a d)`" in found.message
    assert "no action makes it true" in found.notes[0].label


def test_only_the_parts_out_of_reach_are_named():
    found = explain_unreachable(Grounding(problem("(forall (?x - room) (or (at r1 ?x) (= ?x d)))")))
    assert [d.message for d in found] == ["the goal needs `(or (at r1 c) (= c d))`, which can never hold"]


def test_derived_predicates_are_followed_into_their_bodies():
    (found,) = explain_unreachable(Grounding(problem("(home r1)")))
    assert "`(home r1)` is derived" in found.notes[0].label
    assert "(here gold" in found.notes[0].label


def test_a_type_without_objects_is_named():
    domain = parse_domain(
        "(define (domain d) (:types a b) (:predicates (p ?x - a) (q))"
        " (:action f :parameters (?x - a ?y - b) :effect (q)))"
    )
    lonely = parse_problem("(define (problem p) (:domain d) (:objects o - b) (:init) (:goal (q)))", domain)
    assert "but there is no a for its `?x`" in "\n".join(explain(Grounding(lonely)))


def test_a_cost_without_a_value_is_named():
    domain = parse_domain(
        "(define (domain d) (:predicates (p ?x)) (:functions (total-cost) (price ?x))"
        " (:action f :parameters (?x) :effect (and (p ?x) (increase (total-cost) (price ?x)))))"
    )
    head = "(define (problem p) (:domain d) (:objects o) (:init) (:goal (p o))"
    dear = parse_problem(f"{head} (:metric minimize (total-cost)))", domain)
    assert "`(price o)`, its cost, has a value" in "\n".join(explain(Grounding(dear)))


def test_a_goal_that_is_false_by_itself():
    (found,) = explain_unreachable(Grounding(problem("(and (at r1 b) (= a b))")))
    assert "`(= a b)`" in found.message


def test_a_goal_that_contradicts_itself():
    (found,) = explain_unreachable(Grounding(problem("(and (at r1 b) (not (imply (at r1 a) (at r1 b))))")))
    assert found.message == "the goal needs `(at r1 b)` and its negation, which never hold together"


def test_an_implication_is_not_blamed_where_its_condition_can_become_false():
    """The robot never gets to d, and need not, as it can leave a."""
    (found,) = explain_unreachable(Grounding(problem("(and (imply (at r1 a) (at r1 d)) (at r1 c))")))
    assert found.message == "the goal needs `(at r1 c)`, which can never hold"


def test_an_implication_is_not_blamed_where_its_conclusion_can_become_true():
    """There is always a door from a to b, and the robot gets to b."""
    (found,) = explain_unreachable(Grounding(problem("(and (imply (door a b) (at r1 b)) (at r1 c))")))
    assert found.message == "the goal needs `(at r1 c)`, which can never hold"


def test_a_goal_within_reach_has_no_explanation():
    assert explain(Grounding(problem("(at r1 b)"))) == ()


@settings(max_examples=59, deadline=None, suppress_health_check=list(HealthCheck))
@given(classical())
def test_explanations_never_fail_and_only_blame_unsolvable_problems(sample):
    grounding = Grounding(sample.problem)
    if explain_unreachable(grounding):
        assert not grounding.solvable
        assert optimum(ground(sample.problem))[0] is None
