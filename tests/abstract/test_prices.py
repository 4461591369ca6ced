"""What optimistic plans cost, and which expressions are one form."""

from __future__ import annotations

import numpy as np

from pdsketch.abstract.optimistic.compile import compile_optimistic
from pdsketch.heuristics.evaluator import EngineEvaluator
from pdsketch.lang.load import parse_domain, parse_goal, parse_problem
from pdsketch.lang.rewrite import lift_objects

PETS = """(define (domain d) (:types pet - object dog - pet cat - pet)
  (:predicates (clean ?p - pet) (happy ?p - pet) (weight [return_type=float32] ?p - pet))
  (:action wash :parameters (?p - pet) :effect (clean ?p))
  (:action walk :parameters (?d - dog) :precondition (clean ?d) :effect (happy ?d)))"""
PROBLEM = """(define (problem p) (:domain d) (:objects rex - dog tom - cat)
  (:init (= (weight rex) 1) (= (weight tom) 2)) (:goal (and (happy rex) (clean tom))))"""


def loaded():
    return parse_problem(PROBLEM, parse_domain(PETS))


def first(task) -> float:
    return EngineEvaluator(task, "ff").values(np.zeros((1, task.n_basic), np.bool_))[0]


def test_optimistic_plans_cost_what_their_actions_do():
    problem = loaded()
    prices = {"wash": 3.0, "walk": 5.0}
    opt = compile_optimistic(problem.domain, problem.universe, problem.goal)
    assert first(opt.task) == 3
    costs = [prices[name] + 10 * (pet == "tom") for name, pet in opt.steps]
    assert first(opt.priced(costs).task) == 3 + 5 + 13


def test_an_action_over_a_type_takes_objects_of_its_subtypes():
    problem = loaded()
    opt = compile_optimistic(problem.domain, problem.universe, problem.goal)
    assert {name for name, *_ in opt.task.operators} == {"wash", "walk"}
    assert sum(name == "wash" for name, *_ in opt.task.operators) == 2


def test_objects_of_different_subtypes_fall_into_one_form():
    problem = loaded()
    goals = [parse_goal(f"(clean {name})", problem) for name in ("rex", "tom")]
    (form,) = lift_objects(goals, problem.domain)
    assert form.rows == (("rex",), ("tom",))
