"""Elements of vectors: in formulas, actions and plans, as the reference semantics has them."""

from __future__ import annotations

import pytest
import torch

import pdsketch as pds
from pdsketch.lang.load import parse_goal
from pdsketch.lang.terms import Component, walk
from pdsketch.lang.unparse import formula_text

DOMAIN = pds.parse_domain("""
(define (domain table)
  (:types block - object pose - vector[float32, 2, tolerance=0.01] cell - vector[int64, 2, choices=5])
  (:predicates (at [return_type=pose] ?b - block) (in [return_type=cell] ?b - block)
    (flags [return_type=vector[bool, 2]] ?b - block))
  (:derived (left ?a ?b - block) (< (component (at ?a) 0) (component (at ?b) 0)))
  (:derived (flagged ?a - block) (component (flags ?a) 1))
  (:action move-to :parameters (?b - block ?p - pose) :precondition (> (component ?p 1) 0.5)
    :effect (assign (at ?b) ?p))
  (:action swap :parameters (?b - block) :effect (when (flagged ?b)
    (assign (in ?b) [4, 4]))))
""")


def state() -> pds.State:
    values = {
        "at": [[0.3, 0.4], [0.6, 0.2]],
        "in": [[1, 2], [3, 4]],
        "flags": [[True, False], [False, True]],
    }
    return pds.State(DOMAIN, {"block": ["a", "b"]}, values)


@pytest.mark.parametrize(
    ("formula", "truth"),
    [
        ("(left a b)", True),
        ("(left b a)", False),
        ("(flagged b)", True),
        ("(flagged a)", False),
        ("(= (component (in a) 1) 2)", True),
        ("(= (component (in b) 0) 4)", False),
        ("(exists (?b - block) (= (+ (component (at ?b) 0) (component (at ?b) 1)) 0.8))", True),
        ("(forall (?b - block) (> (component (at ?b) 1) 0.3))", False),
        ("(= (component [7, 8] 1) 8)", True),
        ("(component (flags a) 0)", True),
    ],
)
@pytest.mark.parametrize("crisp", [True, False])
def test_an_element_is_that_of_the_vector(formula: str, truth: bool, crisp: bool) -> None:
    assert bool(pds.Model(DOMAIN).holds(state(), formula, crisp=crisp) > 0.5) == truth


def test_soft_ints_are_soft_by_element() -> None:
    model = pds.Model(DOMAIN)
    soft = model.encode(state())
    table = torch.zeros(1, 2, 2, 5)
    table[0, 0, 0, 1], table[0, 0, 0, 2], table[0, 0, 1, 3], table[0, 1, :, 0] = 0.25, 0.75, 1.0, 1.0
    batch = soft.batch.with_tensors({**soft.batch.tensors, "in": table})
    assert model.holds(batch, "(= (component (in a) 0) 2)").item() == pytest.approx(0.75)
    assert model.holds(batch, "(= (component (in a) 1) 3)").item() == pytest.approx(1.0)


def test_gradients_reach_the_one_element() -> None:
    model = pds.Model(DOMAIN)
    at = state()["at"].clone().unsqueeze(0).requires_grad_()
    batch = state().batch
    truth = model.holds(batch.with_tensors({**batch.tensors, "at": at}), "(< (component (at a) 0) 0.3)")
    truth.sum().backward()
    assert at.grad is not None
    assert at.grad[0, 0, 0] != 0
    assert at.grad.flatten()[1:].abs().sum() == 0


@pytest.mark.parametrize("search", [None, "astar", "abstract"])
def test_preconditions_and_goals_are_planned_with(search: None) -> None:
    places = {"pose": lambda *_: [[0.9, 0.1], [0.1, 0.9], [0.8, 0.8]]}
    goal = "(and (left b a) (= (component (in b) 0) 4))"
    result = pds.plan(pds.Model(DOMAIN), state(), goal, search=search, generators=places)
    assert result.plan is not None
    assert sorted(step[0] for step in result.plan) == ["move-to", "swap"]
    assert all(step[2][1] > 0.5 for step in result.plan if step[0] == "move-to")


def test_open_dimensions_are_checked_where_they_are_known() -> None:
    domain = pds.parse_domain("""
    (define (domain open) (:types b - object)
      (:predicates (x [return_type=vector[float32]] ?b - b) (done))
      (:action go :parameters (?b - b) :precondition (> (component (x ?b) 2) 1) :effect (done)))""")
    model = pds.Model(domain)
    wide = pds.State(domain, {"b": ["a"]}, {"x": [[0, 1, 2]], "done": False})
    assert pds.plan(model, wide, "(done)").plan == [("go", "a")]
    narrow = pds.State(domain, {"b": ["a"]}, {"x": [[0, 1]], "done": False})
    for evaluate in (
        lambda: pds.Model(domain).holds(narrow, "(> (component (x a) 2) 1)"),
        lambda: pds.plan(pds.Model(domain), narrow, "(done)"),
    ):
        with pytest.raises(pds.Error) as failure:
            evaluate()
        assert failure.value.diagnostics[0].code == "index-out-of-range"
        assert failure.value.diagnostics[0].span is not None


def test_it_is_written_as_it_is_read() -> None:
    text = "(< (component (at a) 0) (component [1.5, 2.5] 1))"
    goal = parse_goal(text, DOMAIN, {"a": "block"})
    assert [node.place for node in walk(goal) if isinstance(node, Component)] == [0, 1]
    assert formula_text(goal) == text


def test_a_predicate_of_that_name_is_meant() -> None:
    own = pds.parse_domain("""
    (define (domain machine) (:types part - object)
      (:predicates (component ?a - part ?b - part) (done))
      (:action finish :parameters (?a ?b - part) :precondition (component ?a ?b) :effect (done)))""")
    machine = pds.parse_problem(
        "(define (problem p) (:domain machine) (:objects x y - part) (:init (component x y)) (:goal (done)))",
        own,
    )
    assert pds.plan(machine).plan == [("finish", "x", "y")]
