"""`pds.validate`: what the exact semantics and models say of plans."""

from __future__ import annotations

import pytest

import pdsketch as pds

BLOCKS = "examples/blocks"
PLAN = [("pick-up", "b"), ("stack", "b", "c"), ("pick-up", "a"), ("stack", "a", "b")]

LAMPS = """
(define (domain lamps)
  (:types lamp)
  (:predicates (lit ?l - lamp) (fine ?l - lamp) (level [return_type=float32] ?l - lamp))
  (:action press :parameters (?l - lamp) :precondition (fine ?l) :effect (lit ?l)))
"""


@pytest.fixture
def problem():
    domain = pds.load_domain(f"{BLOCKS}/domain.pddl")
    return pds.load_problem(f"{BLOCKS}/p01.pddl", domain)


@pytest.fixture
def lamps():
    domain = pds.parse_domain(LAMPS)
    state = pds.State(domain, {"lamp": ["a", "b"]}, {"lit": [0, 0], "fine": [1, 0], "level": [1.0, 1.0]})
    return pds.Model(domain), state


def test_a_plan_that_was_found_is_valid_as_steps_and_as_text(problem):
    found = pds.plan(problem)
    assert pds.validate(problem, found.plan) == pds.Verdict(True, found.cost)
    text = "\n".join(f"({' '.join(step)})" for step in PLAN)
    assert pds.validate(problem, text) == pds.Verdict(True, 4)


def test_the_first_step_that_fails_is_named_with_its_reason(problem):
    verdict = pds.validate(problem, [PLAN[0], PLAN[2], *PLAN])
    assert (verdict.valid, verdict.step, verdict.cost) == (False, 1, 1)
    assert verdict.reason.code == "not-applicable"
    assert "step 2, (pick-up a)" in verdict.reason.message


def test_where_all_steps_can_be_taken_the_goal_decides(problem):
    short = pds.validate(problem, PLAN[:2])
    assert (short.valid, short.step, short.reason.code) == (False, None, "goal-not-reached")
    assert pds.validate(problem, PLAN[:2], goal="(on b c)").valid


def test_a_model_replays_from_a_state_to_a_goal(lamps):
    model, state = lamps
    assert pds.validate(model, [("press", "a")], state, "(lit a)") == pds.Verdict(True, 1)
    refused = pds.validate(model, "(press a) (press b)", state, "(lit b)")
    assert (refused.step, refused.cost, refused.reason.code) == (1, 1, "not-applicable")
    short = pds.validate(model, [], state, "(and (fine a) (lit a))")
    assert (short.step, short.reason.code) == (None, "goal-not-reached")
    assert "`(lit a)` is false" in short.reason.message
    strange = pds.validate(model.domain, [("pres", "a")], state, "(lit a)")
    assert (strange.step, strange.reason.code) == (0, "unknown-action")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (lambda problem, model, state: (problem, None), "bad-plan"),
        (lambda problem, model, state: (problem, "stack"), "bad-plan"),
        (lambda problem, model, state: (model, []), "missing-argument"),
        (lambda problem, model, state: (model, [], state.values, "(lit a)"), "bad-state"),
        (lambda problem, model, state: (model, [], state, "(lit c)"), "unknown-object"),
        (lambda problem, model, state: (state, [], state, "(lit a)"), "bad-model"),
    ],
)
def test_what_cannot_be_replayed_is_an_error(problem, lamps, arguments, code):
    with pytest.raises(pds.Error) as caught:
        pds.validate(*arguments(problem, *lamps))
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize("step", [3, "pick-up", (), ("pick-up", 4), ("pick-up", "b", "c"), None])
def test_a_step_that_is_none_fails_with_a_reason(problem, lamps, step):
    model, state = lamps
    for verdict in (pds.validate(problem, [step]), pds.validate(model, [step], state, "(lit a)")):
        assert (verdict.valid, verdict.step) == (False, 0)
        assert verdict.reason.code in ("bad-action", "arity-mismatch", "type-mismatch", "unknown-action")
