"""A second compiler beside OPT: one line in the registry, and its infinity need not be a proof."""

from __future__ import annotations

import numpy as np
import pytest
from tests.heuristics.tasks import make_task

import pdsketch as pds
from pdsketch.abstract.abstraction import Abstraction
from pdsketch.cli.main import main
from pdsketch.heuristics import NAMES
from pdsketch.heuristics.registry import HEURISTICS
from pdsketch.lang.rewrite import conjuncts, lift_objects
from pdsketch.search.heuristics import MODEL_HEURISTICS, over

LAMPS = """(define (domain lamps) (:types lamp - object)
  (:predicates (on ?l - lamp) (broken ?l - lamp) (level [return_type=int64[choices=9]] ?l - lamp))
  (:action light :parameters (?l - lamp) :precondition (not (broken ?l))
    :effect (and (on ?l) (assign (level ?l) 3))))"""
GOAL = "(and (on a) (on b) (on c))"
HOPELESS = "counting sees no way to light a lamp"


def goal_count(*, hopeless):
    """The goal's conjuncts as facts, each made true by an operator of its own; none where it is hopeless."""

    def compile_goal(model, objects, goal, state, values):
        parts = conjuncts(goal)
        facts = [f"f{i}" for i in range(len(parts))]
        operators = [] if hopeless else [(f"light{f}", "", f, 1.0) for f in facts]
        return Abstraction(
            make_task(" ".join(facts), "", " ".join(facts), operators),
            lift_objects(parts, model.domain),
            infinity_is_proof=False,
            explain=lambda state: () if state.all() else (HOPELESS,),
            objects=objects,
        )

    return compile_goal


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(MODEL_HEURISTICS, "count", over(goal_count(hopeless=False)))
    monkeypatch.setitem(MODEL_HEURISTICS, "hopeless", over(goal_count(hopeless=True)))


@pytest.fixture
def model():
    return pds.Model(pds.parse_domain(LAMPS), seed=0)


def state(model, on=(), broken=()):
    lamps = ["a", "b", "c"]
    values = {"on": [lamp in on for lamp in lamps], "broken": [lamp in broken for lamp in lamps]}
    return pds.State(model.domain, {"lamp": lamps}, {**values, "level": [0, 0, 0]})


def test_its_facts_are_read_off_states_and_its_task_guides_the_search(model):
    result = pds.plan(model, state(model), GOAL, heuristic="count")
    assert result.status == "solved"
    assert len(result.plan) == 3
    assert result.expanded == 4  # blind, it is all 8 states
    limited = pds.plan(model, state(model, on=["b"], broken=["a"]), GOAL, heuristic="count", max_expansions=1)
    assert limited.best_h == 1.0  # after one step: a is left


def test_it_guides_many_problems_and_policies(model):
    starts = [state(model), state(model, on=["a", "b"])]
    found = pds.plan_many(model, starts, GOAL, heuristic="count")
    assert [len(result.plan) for result in found] == [3, 1]
    policy = pds.Policy(model, heuristic="count")
    assert policy.act(starts[1], GOAL) == ("light", "c")


@pytest.mark.parametrize("search", ["astar", "wastar", "gbfs"])
@pytest.mark.parametrize("k", [1, 4])
def test_a_wrong_infinity_that_is_no_proof_hides_no_plan(model, search, k):
    result = pds.plan(model, state(model), GOAL, heuristic="hopeless", search=search, k=k)
    assert result.status == "solved"
    assert len(result.plan) == 3


def test_a_wrong_infinity_is_explained_and_called_no_proof(model):
    result = pds.plan(model, state(model), GOAL, heuristic="hopeless", max_expansions=2)
    assert result.status == "gave-up"
    assert HOPELESS in result.reasons
    assert result.best_h is None


def test_all_states_searched_is_a_proof_whatever_the_heuristic_says(model):
    broken = state(model, broken=["a"])
    for name in ("hopeless", "count", "blind", "opt"):
        assert pds.plan(model, broken, GOAL, heuristic=name).status == "unsolvable"
    result = pds.plan(model, broken, GOAL, heuristic="hopeless")
    assert result.expanded == 4
    assert pds.plan(model, broken, GOAL, heuristic="opt").expanded == 0


def test_the_infinity_of_opt_is_explained_by_opt(model):
    result = pds.plan(model, state(model, broken=["a"]), GOAL)
    assert any("no actions can make `(on a)` true, even optimistically" in r for r in result.reasons)


def test_an_unknown_heuristic_is_one_error_that_lists_what_is_registered(model):
    for planning in (
        lambda name: pds.plan(model, state(model), GOAL, heuristic=name),
        lambda name: pds.plan_many(model, [state(model)], GOAL, heuristic=name),
        lambda name: pds.Policy(model, heuristic=name).act(state(model), GOAL),
    ):
        for name in ("coun", ["count"]):
            with pytest.raises(pds.Error) as caught:
                planning(name)
            (found,) = caught.value.diagnostics
            assert found.code == "unknown-heuristic"
            assert "`count`, `hopeless`" in found.message


def test_the_command_line_lists_the_registries(capsys):
    assert main(["plan", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "ff (default), add, max, lmcut, goalcount, blind; with a model: opt (default), ff" in said
    assert "hopeless" in said
    assert set(NAMES) == set(HEURISTICS)


def test_facts_that_are_not_read_are_false(model):
    compiled = goal_count(hopeless=False)(
        model, {}, model.formula(state(model).batch, GOAL), state(model).batch, {}
    )
    facts = np.array([[True, False, True, True]])
    assert compiled.states(facts).tolist() == [[True, False, True]]
