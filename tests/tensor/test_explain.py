"""`pds.explain`: truths of a goal's parts, which are those of the model."""

from __future__ import annotations

import pytest
import torch

import pdsketch as pds
from pdsketch.lang.unparse import MOST_INSTANCES

DOMAIN = """
(define (domain lamps)
  (:types lamp robot)
  (:predicates (lit ?l - lamp) (near ?r - robot ?l - lamp))
  (:derived (bright ?l - lamp) (??f (lit ?l)))
  (:action press :parameters (?l - lamp) :effect (lit ?l)))
"""


@pytest.fixture
def model():
    return pds.Model(pds.parse_domain(DOMAIN), seed=0)


def a_state(model, lamps=3):
    values = {"lit": [i % 2 == 0 for i in range(lamps)], "near": [[False] * lamps]}
    return pds.State(model.domain, {"lamp": [f"l{i}" for i in range(lamps)], "robot": ["r"]}, values)


def test_parts_and_instances_have_the_models_truth(model):
    state = a_state(model)
    goal = "(and (lit l0) (exists (?r - robot ?l - lamp) (near ?r ?l)) (forall (?l - lamp) (bright ?l)))"
    found = pds.explain(model, state, goal)
    with torch.no_grad():
        assert found.truth == float(model.holds(state, goal))
        lit, near, bright = found.parts
        assert (lit.text, lit.truth, lit.instances) == ("(lit l0)", 1.0, ())
        assert [objects for objects, _ in near.instances] == [("r", f"l{i}") for i in range(3)]
        assert near.truth == 0.0
        wanted = [float(model.holds(state, f"(bright l{i})")) for i in range(3)]
    assert [truth for _, truth in bright.instances] == pytest.approx(wanted)
    assert bright.truth == pytest.approx(min(wanted))
    lines = str(found).splitlines()
    assert lines[0].endswith(goal)
    assert lines[1] == "  1.000  (lit l0)"
    assert lines[3] == "    0.000  r l0"


def test_a_checked_goal_is_explained_too(model):
    state = a_state(model)
    checked = pds.parse_goal("(lit l1)", model.domain, dict(state.universe))
    assert pds.explain(model, state, checked).truth == 0.0


def test_no_more_instances_than_anybody_reads(model):
    state = a_state(model, lamps=MOST_INSTANCES + 5)
    found = pds.explain(model, state, "(forall (?l - lamp) (lit ?l))")
    assert len(found.parts[0].instances) == MOST_INSTANCES


def test_what_cannot_be_explained(model):
    state = a_state(model)
    with pytest.raises(pds.Error, match="unknown-object"):
        pds.explain(model, state, "(lit l9)")
    with pytest.raises(pds.Error, match="bad-model"):
        pds.explain(model.domain, state, "(lit l0)")
    with pytest.raises(pds.Error, match="bad-state"):
        pds.explain(model, {}, "(lit l0)")
