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


PRESS = """
(define (domain press)
  (:types block - object place - float32)
  (:predicates (at [return_type=place] ?b - block) (flat ?b - block) (bent ?b - block))
  (:action press :parameters (?b - block) :effect (and
    (when (??under (at ?b)) (flat ?b))
    (forall (?o - block) (when (??beside (at ?o) (at ?b)) (bent ?o)))))
  (:action move :parameters (?b - block ?p - place) :effect (assign (at ?b) ?p)))
"""


def press(*places):
    """Blocks under the press, beyond 1, become flat; those beside them, within 0.5, are bent."""
    domain = pds.parse_domain(PRESS)
    modules = {
        "action::press::under": lambda x: torch.sigmoid(8 * (x - 1)).squeeze(-1),
        "action::press::beside": lambda x, y: (
            torch.sigmoid(40 * (0.5 - (x - y).abs())) * ((x - y).abs() > 0)
        ).squeeze(-1),
    }
    names = ["a", "b", "c"][: len(places)]
    state = pds.State(
        domain,
        {"block": names},
        {"at": list(places), "flat": [False] * len(places), "bent": [False] * len(places)},
    )
    return pds.Model(domain, modules=modules), state


@pytest.mark.parametrize("search", [None, "astar", "abstract"])
def test_gates_must_be_open_by_the_margin(search):
    model, state = press(1.05)
    moves = {"place": lambda *_: torch.tensor([1.5])}
    hasty = pds.plan(model, state, "(flat a)", search=search, generators=moves)
    assert [step[0] for step in hasty.plan] == ["press"]
    sure = pds.plan(model, state, "(flat a)", search=search, generators=moves, confidence=0.9)
    assert [step[0] for step in sure.plan] == ["move", "press"]
    assert not any("above 0.9" in said for said in sure.warnings)
    lowered = pds.plan(model, state, "(flat a)", search=search, candidates="generators", confidence=0.9)
    assert [step[0] for step in lowered.plan] == ["press"]
    assert any("gates hold with a truth above 0.9: those of this one" in said for said in lowered.warnings)


def test_gates_must_be_closed_by_the_margin_and_only_those_of_objects_count():
    """Block b stands at the edge of what is bent beside a."""
    model, state = press(2.0, 2.51)
    (alone,) = [press(2.0)[1]]
    goal = "(and (flat a) (forall (?b - block) (not (bent ?b))))"
    assert len(pds.plan(model, state, goal, search="astar").plan) == 1
    away = {"place": lambda *_: torch.tensor([9.0])}
    sure = pds.plan(model, state, goal, search="astar", generators=away, confidence=0.9)
    assert [step[:2] for step in sure.plan] in (
        [("move", "b"), ("press", "a")],
        [("move", "a"), ("press", "a")],
    )
    both = pds.plan_many(model, [alone, state], goal, search="astar", generators=away, confidence=0.9)
    assert [len(result.plan) for result in both] == [1, 2]


@pytest.mark.parametrize("confidence", [0.4, 1, 1.5, "much", True])
def test_what_is_no_confidence_is_refused(confidence):
    model, state = shelf()
    with pytest.raises(pds.Error, match="confidence"):
        pds.plan(model, state, "(placed a)", confidence=confidence)
