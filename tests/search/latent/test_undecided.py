"""No plan because a blank cannot decide: it is named, and nothing is said to be proven."""

import pytest
import torch

import pdsketch as pds
from pdsketch.search.result import UntrainedWarning

PUSH = """
(define (domain pushing)
  (:types box - object size - int64[choices=3])
  (:predicates (size-of [return_type=size] ?b - box) (moved ?b - box) (wet ?b - box))
  (:derived (light ?b - box) (??f (size-of ?b)))
  (:action push :parameters (?b - box) :precondition (??may (size-of ?b)) :effect (moved ?b))
  (:action wash :parameters (?b - box) :precondition (not (wet ?b)) :effect (when (light ?b) (wet ?b))))
"""


def pushing(may=0.5, light=1.0, trained=(), given=True):
    domain = pds.parse_domain(PUSH)
    modules = {
        "action::push::may": lambda s: torch.full(s.shape[:-1], may),
        "derived::light::f": lambda s: torch.full(s.shape[:-1], light),
    }
    model = pds.Model(domain, modules=modules if given else {}, seed=0)
    model.notes["trained"] = list(trained)
    state = pds.State(domain, {"box": ["b"]}, {"size-of": [1], "moved": [False], "wet": [False]})
    return model, state


@pytest.mark.parametrize("heuristic", ["opt", "blind"])
def test_an_undecided_precondition_is_named_with_its_action_and_proves_nothing(heuristic):
    model, state = pushing(may=0.5)
    result = pds.plan(model, state, "(moved b)", heuristic=heuristic)
    assert result.status == "gave-up"
    (reason,) = [r for r in result.reasons if "action::push::may" in r]
    assert "`push` is never applicable" in reason
    assert "0.50" in reason
    assert not any("no reachable state" in r for r in result.reasons)


def test_a_precondition_that_was_never_trained_asks_for_executable():
    model, state = pushing(given=False, trained=["derived::light::f"])
    for parameter in model.parameters():
        parameter.data.zero_()
    result = pds.plan(model, state, "(moved b)")
    assert result.status == "gave-up"
    (reason,) = [r for r in result.reasons if "action::push::may" in r]
    assert "was never trained (truth 0.50" in reason
    assert "train on episodes with `push` that say `executable`, or give a module" in reason


@pytest.mark.parametrize("heuristic", ["opt", "blind"])
def test_a_precondition_that_is_decided_still_proves_that_there_is_no_plan(heuristic):
    model, state = pushing(may=0.02)
    result = pds.plan(model, state, "(moved b)", heuristic=heuristic)
    assert result.status == "unsolvable"
    assert "no reachable state" in result.reasons[0]


def test_a_gate_that_cannot_decide_is_named():
    model, state = pushing(light=0.4)
    result = pds.plan(model, state, "(wet b)")
    assert result.status == "gave-up"
    assert any("derived::light::f" in reason for reason in result.reasons)


def test_a_goal_that_cannot_be_decided_is_named():
    model, state = pushing(light=0.45)
    result = pds.plan(model, state, "(light b)")
    assert result.status == "gave-up"
    assert any("`derived::light::f` in the goal is undecided" in reason for reason in result.reasons)


def test_an_untrained_goal_is_warned_of_and_no_proof():
    model, state = pushing(given=False)
    for parameter in model.parameters():
        parameter.data.zero_()
    with pytest.warns(UntrainedWarning):
        result = pds.plan(model, state, "(light b)")
    assert result.status == "gave-up"


def test_a_contradiction_is_unsolvable_whatever_a_blank_says():
    model, state = pushing(light=0.5)
    assert pds.plan(model, state, "(and (light b) (not (light b)))").status == "unsolvable"


def test_a_fit_without_executable_leaves_a_precondition_that_is_named_when_it_blocks():
    domain = pds.parse_domain(PUSH)
    model = pds.Model(domain, seed=0)

    def box(moved, size=1):
        return pds.State(domain, {"box": ["b"]}, {"size-of": [size], "moved": [moved], "wet": [False]})

    episodes = [
        pds.Episode([box(False, n), box(True, n)], [("push", "b")], "(light b)", [n == 1] * 2)
        for n in range(3)
    ]
    pds.fit(model, episodes, steps=5, seed=0)
    for said in (0.4, 0.6):
        model.blanks.calls["action::push::may"] = lambda s, truth=said: torch.full(s.shape[:-1], truth)
        result = pds.plan(model, box(False), "(moved b)")
        told = result.warnings if result.solved else result.reasons
        assert result.status == ("solved" if said > 0.5 else "gave-up")
        assert any("`action::push::may`" in sentence and "never trained" in sentence for sentence in told)


def test_reasons_use_the_words_of_the_report():
    model, state = pushing(may=0.02, trained=["action::push::may", "derived::light::f"])
    model.notes["verdicts"] = {"action::push::may": "one-sided", "derived::light::f": "ambiguous"}
    result = pds.plan(model, state, "(moved b)")
    assert any(r.startswith("`action::push::may` is one-sided (a Boolean that") for r in result.reasons)
    assert any(r.startswith("`derived::light::f` is ambiguous") and "look at" in r for r in result.reasons)


def test_a_blank_is_spoken_of_once_and_learned_ones_are_not():
    model, state = pushing(may=0.5, trained=["action::push::may", "derived::light::f"])
    model.notes["verdicts"] = {"action::push::may": "undecided", "derived::light::f": "learned"}
    reasons = pds.plan(model, state, "(moved b)").reasons
    assert sum("action::push::may" in r for r in reasons) == 1
    assert not any("derived::light::f" in r for r in reasons)


def test_a_fit_leaves_its_words_for_a_planner():
    domain = pds.parse_domain(PUSH)
    model = pds.Model(domain, seed=0)
    box = pds.State(domain, {"box": ["b"]}, {"size-of": [1], "moved": [False], "wet": [False]})
    pds.fit(model, [pds.Episode([box, box], [("wash", "b")], "(light b)", [0, 0])], steps=60, seed=0)
    assert model.notes["verdicts"] == {"derived::light::f": "one-sided", "action::push::may": "never-trained"}
    result = pds.plan(model, box, "(light b)")
    assert any("`derived::light::f` is one-sided" in r for r in result.reasons)


def test_a_blank_that_is_sure_and_was_never_trained_is_told_of():
    model, state = pushing(given=False, trained=["derived::light::f"])
    model.blanks.calls["action::push::may"] = lambda s: torch.zeros(s.shape[:-1])
    result = pds.plan(model, state, "(moved b)")
    assert result.status == "gave-up"
    (reason,) = [r for r in result.reasons if "action::push::may" in r]
    assert "was never trained (truth 0.00" in reason


def test_of_many_problems_without_a_plan_it_is_said_how_the_search_ended_alone():
    model, state = pushing(may=0.5)
    for count, explained in ((2, True), (40, False)):
        results = pds.plan_many(model, [state] * count, "(moved b)", heuristic="blind")
        for result in results:
            assert result.status == "gave-up"
            assert any("action::push::may" in reason for reason in result.reasons) == explained
            assert any("plan for this one alone" in reason for reason in result.reasons) != explained
