"""What the page shows, in full: states along a plan, nodes of a search, truths, in a world and without."""

from __future__ import annotations

import json
import time

import numpy as np
from tests.written import is_written

import pdsketch as pds
from pdsketch.serve.exploration import Exploration
from pdsketch.serve.subjects import ModelSubject, ProblemSubject

STAIRS = """(define (domain stairs) (:types stair)
  (:predicates (above ?a ?b - stair) (on ?s - stair) (wet ?s - stair) (height [return_type=int64]))
  (:action up :parameters (?a ?b - stair) :precondition (and (on ?a) (above ?b ?a) (not (wet ?b)))
    :effect (and (not (on ?a)) (on ?b) HIGHER))
  (:action slip :parameters (?a ?b - stair) :precondition (and (on ?a) (above ?b ?a))
    :effect (not (on ?a))))"""
PROBLEM = """(define (problem p) (:domain stairs) (:objects s0 s1 s2 - stair)
  (:init (on s0) (above s1 s0) (above s2 s1) (wet s2) VALUES) (:goal (on s1)))"""
HIGHER = "(height::assign (+ (height) 1))"


def exploration(*, values: bool, goes_wrong: bool = False) -> Exploration:
    higher, given = (HIGHER, "(= (height) 0)") if values else ("(wet ?a)", "")
    without = STAIRS if values else STAIRS.replace(" (height [return_type=int64])", "")
    domain = pds.parse_domain(without.replace("HIGHER", higher))
    problem = pds.parse_problem(PROBLEM.replace("VALUES", given), domain)
    if not values:
        return Exploration(ProblemSubject(problem), "(on s1)")
    model = pds.Model(domain)

    class World:
        """Does what the model says, or never moves; its pictures are of one colour."""

        domain = model.domain
        goal = "(on s1)"
        executed = True

        def reset(self, seed=None):
            self.state, self.steps = problem.state, 0
            return self.state

        def step(self, action):
            self.steps += 1
            if not goes_wrong:
                self.state = model.step(model.encode(self.state), action, crisp=True)
            return self.state

        def render(self):
            return np.full((2, 3, 3), 50 * self.steps, np.uint8)

        @property
        def success(self):
            return not goes_wrong

    return Exploration(ModelSubject(model, problem.state), "(on s1)", world=World(), seed=4)


def shown(page: Exploration, goal: str) -> list[str]:
    """All that a page can be asked after a search in breadth, one JSON object a line."""
    lines = [page.state(0), page.truths("(forall (?s - stair) (imply (wet ?s) (not (on ?s))))", 0)]
    number = page.plan(goal, {"search": "astar", "heuristic": "blind", "max_expansions": 50})["number"]
    until = time.monotonic() + 600
    while page.searched(0)["running"] and time.monotonic() < until:
        time.sleep(0.01)
    found = page.searched(1)
    assert found["number"] == number
    found["result"] = {
        key: value for key, value in (found["result"] or {}).items() if key in ("status", "plan", "cost")
    }
    for at in range(found["count"]):
        node = page.node(at)
        lines.append({**node, "reasons": bool(node["reasons"])})
    lines.append(found)
    lines += [page.state(step) for step in (-1, 0, 1, 2)]
    lines += [page.truths(page.goal, step) for step in (0, 1)]
    return [json.dumps(line) for line in lines]


def test_the_page_of_a_problem_is_as_written():
    is_written("serve/problem.txt", "\n".join(shown(exploration(values=False), "(on s1)")) + "\n")


def test_the_page_of_a_problem_without_a_plan_is_as_written():
    page = exploration(values=False)
    is_written("serve/no-plan.txt", "\n".join(shown(page, "(and (on s2) (not (wet s0)))")) + "\n")


def test_the_page_of_a_model_in_a_world_is_as_written():
    is_written("serve/model.txt", "\n".join(shown(exploration(values=True), "(on s1)")) + "\n")


def test_the_page_of_a_world_that_does_otherwise_is_as_written():
    page = exploration(values=True, goes_wrong=True)
    is_written("serve/otherwise.txt", "\n".join(shown(page, "(on s1)")) + "\n")
