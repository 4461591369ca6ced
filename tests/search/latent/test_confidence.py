"""Plans that hold by a margin."""

import pytest
import torch

import pdsketch as pds

SHELF = """
(define (domain shelf)
  (:types block - object place - float32)
  (:predicates (at [return_type=place] ?b - block) (held ?b - block))
  (:derived (placed ?b - block) (??inside (at ?b)))
  (:action grasp :parameters (?b - block) :precondition (??near (at ?b)) :effect (held ?b))
  (:action move :parameters (?b - block ?p - place) :effect (assign (at ?b) ?p)))
"""


def shelf(at=0.0):
    """Blocks are inside beyond 1, by and by; they can be grasped below 0.5, surely only far below."""
    domain = pds.parse_domain(SHELF)
    modules = {
        "derived::placed::inside": lambda x: torch.sigmoid(8 * (x - 1)).squeeze(-1),
        "action::grasp::near": lambda x: torch.sigmoid(8 * (0.5 - x)).squeeze(-1),
    }
    state = pds.State(domain, {"block": ["a"]}, {"at": [at], "held": [False]})
    return pds.Model(domain, modules=modules), state


PLACES = {"place": lambda *_: torch.tensor([1.02, 1.5])}


def goes_to(result):
    return [round(step[2], 2) for step in result.plan if step[0] == "move"]


@pytest.mark.parametrize("search", [None, "astar", "abstract"])
def test_a_goal_must_hold_by_the_margin(search):
    model, state = shelf()
    assert goes_to(pds.plan(model, state, "(placed a)", search=search, generators=PLACES)) == [1.02]
    sure = pds.plan(model, state, "(placed a)", search=search, generators=PLACES, confidence=0.9)
    assert goes_to(sure) == [1.5]
    assert not [said for said in sure.warnings if "no plan was found whose goal" in said]


def test_a_negated_blank_must_be_as_sure():
    model, state = shelf(1.5)
    back = {"place": lambda *_: torch.tensor([0.98, 0.5])}
    goal = "(not (placed a))"
    assert goes_to(pds.plan(model, state, goal, search="astar", generators=back, confidence=0.9)) == [0.5]


def test_preconditions_must_hold_by_the_margin():
    model, state = shelf(0.45)
    assert len(pds.plan(model, state, "(held a)", search="astar").plan) == 1
    near = {"place": lambda *_: torch.tensor([0.0])}
    sure = pds.plan(model, state, "(held a)", search="astar", generators=near, confidence=0.9)
    assert [step[0] for step in sure.plan] == ["move", "grasp"]


@pytest.mark.parametrize("search", [None, "astar"])
def test_a_confidence_that_had_to_be_lowered_is_told(search):
    model, state = shelf()
    only = {"place": lambda *_: torch.tensor([1.02])}
    result = pds.plan(model, state, "(placed a)", search=search, generators=only, confidence=0.9)
    assert goes_to(result) == [1.02]
    assert any("above 0.9: those of this one hold with a truth above 0.5" in said for said in result.warnings)


@pytest.mark.parametrize("confidence", [0.4, 1, 1.5, "much", True])
def test_what_is_no_confidence_is_refused(confidence):
    model, state = shelf()
    with pytest.raises(pds.Error, match="confidence"):
        pds.plan(model, state, "(placed a)", confidence=confidence)
