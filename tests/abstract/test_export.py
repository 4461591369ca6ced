"""Export: the abstraction of a model as PDDL, and plans for it as steps of the model."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import pdsketch as pds
from pdsketch.abstract.pddl.formulas import nested
from pdsketch.abstract.pddl.task import exported, number_word
from pdsketch.lang.steps import write_plan
from pdsketch.lang.terms import Apply, Logic, Quantified, Variable
from pdsketch.lang.types import BOOL, ObjectType
from pdsketch.lang.unparse import Names, legal

SHELF = """
(define (domain shelf)
  (:types
    thing - object
    level - int64[choices=3]
    spot - vector[int64, 2, choices=2]
    seen - vector[float32, 2])
  (:predicates
    (height [return_type=level] ?o - thing)
    (pin [return_type=spot] ?o - thing)
    (look [return_type=seen] ?o - thing)
    (lit ?o - thing)
    (height-1)
    (up [return_type=level] ?l - level)
    (sure ?s - seen))
  (:functions (total-cost) - number)
  (:derived (odd) (= (??f [return_type=level] (foreach (?o - thing) (height ?o))) 1))
  (:derived (plain) (not (odd)))
  (:derived (top ?o - thing) (= (height ?o) 2))
  (:derived (fine ?o - thing) (exists (?l - level) (and (not (= ?l 1)) (= (up (height ?o)) ?l))))
  (:derived (good ?o - thing) (sure (look ?o)))
  (:action put
    :parameters (?o - thing ?l - level)
    :precondition (not (= (height ?o) ?l))
    :effect (and (height::assign ?o ?l) (increase (total-cost) 3)))
  (:action raise
    :parameters (?o - thing)
    :effect (and (height::assign ?o (up (height ?o))) (increase (total-cost) 1)))
  (:action move
    :parameters (?o - thing ?s - spot)
    :effect (pin::assign ?o ?s))
  (:action guess
    :parameters (?o - thing)
    :precondition (plain)
    :effect (lit ?o))
  (:action flip
    :parameters (?o - thing)
    :effect (and (assign (lit ?o) (not (top ?o))) (height-1))))
"""
MODULES = {
    "up": lambda level: (level + 1).clamp(max=2),
    "sure": lambda seen: (seen[..., 0] > 0.5).float(),
}
WORDS = re.compile(r"[^\s()]+")
LEGAL = re.compile(r"\??[a-z][a-z0-9_-]*|:[a-z-]+|-|=|\d+")


def shelf(**values):
    domain = pds.parse_domain(SHELF)
    given = {
        "height": [0, 0, 1],
        "pin": [[0, 0], [0, 1], [1, 1]],
        "lit": [False, True, False],
        "height-1": False,
        "look": [[0.25, -1.5], [1.0, 0.0], [1e-5, 1 / 3]],
        **values,
    }
    state = pds.State(domain, objects={"thing": ["a#1", "a-1", "b.c"]}, values=given)
    return pds.Model(domain, modules=MODULES), state


def optimal(problem):
    return pds.plan(problem, search="astar", heuristic="blind", time_limit=None)


def assert_legal(task):
    """Every word of both files is one that PDDL has."""
    for text in (task.domain_text, task.problem_text):
        wrong = [word for word in WORDS.findall(text) if not LEGAL.fullmatch(word)]
        assert not wrong


def test_names_are_legal_each_given_once_and_kept_where_they_can_be():
    assert [legal(t) for t in ("item#1", "Pose.0", "_x", "3d", "ä", "vector[float32, 2].0")] == [
        "item-1",
        "pose-0",
        "x",
        "n3d",
        "unnamed",
        "vector-float32-2-0",
    ]
    assert [number_word(n) for n in (3.0, -1.0, 0.5, 1e-5, 1e20)] == ["3", "m1", "0_5", "1em05", "1e20"]
    names = Names()
    assert names.give_all(["a#1", "a-1", "a.1"]) == {"a#1": "a-1-2", "a-1": "a-1", "a.1": "a-1-3"}
    assert names.give("int64", "code") == "int64-code"
    assert names.give("and") == "and-2"


def test_variables_are_bound_as_far_inside_as_they_can_be():
    thing = ObjectType(("thing",))
    x, y, z = (Variable(f"?{name}", thing) for name in "xyz")
    p, q, r = Apply("p", (z,), BOOL), Apply("q", (y,), BOOL), Apply("r", (x, y), BOOL)
    inner = Quantified("exists", (x,), r)
    assert nested([x, y], [r, p, q]) == Logic(
        "and", (p, Quantified("exists", (y,), Logic("and", (q, inner))))
    )


def test_objects_values_and_costs_are_those_of_the_model():
    model, state = shelf()
    goal = "(and (top a#1) (fine b.c) (lit b.c))"
    task = exported(model, state, goal)
    assert_legal(task)
    assert task.objects == {"a-1-2": "a#1", "a-1": "a-1", "b-c": "b.c"}
    assert task.codes["level-2"].value == 2
    assert task.codes["seen-0_25-m1_5"].value == (0.25, -1.5)
    assert task.problem.metric == "cost"
    best = optimal(task.problem)
    assert best.cost == pds.plan(model, state, goal, heuristic="blind", k=64).cost == 2
    plain = exported(model, state, goal, costs=False)
    assert plain.problem.metric == "unit"
    assert optimal(plain.problem).cost == 2  # put a#1 on 2, flip b.c
    assert ":action-costs" in task.domain_text
    assert ":action-costs" not in plain.domain_text


def test_requirements_are_those_that_are_needed():
    domain = pds.parse_domain("""
        (define (domain d) (:predicates (p) (q)) (:action a :parameters () :precondition (p) :effect (q)))
    """)
    task = exported(pds.Model(domain), pds.State(domain, objects={}, values={"p": True, "q": False}), "(q)")
    assert task.problem.domain.requirements == (":strips", ":typing")
    model, state = shelf()
    assert exported(model, state, "(lit b.c)").problem.domain.requirements == (
        ":strips",
        ":typing",
        ":negative-preconditions",
        ":existential-preconditions",
        ":conditional-effects",
        ":derived-predicates",
        ":action-costs",
    )


def test_a_plan_is_read_back_as_steps_of_the_model_with_values(tmp_path):
    model, state = shelf()
    folder = tmp_path / "export"
    task = pds.export(model, state, "(and (= (height b.c) 0) (top a#1))", folder, costs=False)
    loaded = pds.load_problem(folder / "problem.pddl", pds.load_domain(folder / "domain.pddl"))
    found = optimal(loaded)
    assert optimal(task.problem).plan == found.plan
    plan = tmp_path / "sas_plan"
    plan.write_text(write_plan(found.plan, found.cost).upper())
    steps = pds.read_abstract_plan(folder, plan)
    assert sorted(steps) == [("put", "a#1", 2), ("put", "b.c", 0)]
    for step in steps:
        assert model.applicable(state, step, crisp=True) == 1
        state = model.step(state, step, crisp=True)
    assert model.holds(state, "(and (= (height b.c) 0) (top a#1))", crisp=True) == 1


def test_what_has_no_form_over_codes_is_left_out_and_named():
    model, state = shelf()
    task = exported(model, state, "(top b.c)")
    assert task.left_out == {
        "move": "`?s` ranges over values of several parts",
        "odd": "a set is given to a function inside of another",
        "plain": "it asks for `odd`: a set is given to a function inside of another",
        "guess": "it asks for `odd`: a set is given to a function inside of another",
    }
    assert [*task.actions] == ["put", "raise", "flip"]
    assert not re.search(r"\b(odd|plain|guess|move)\b", task.domain_text)
    for goal in ("(odd)", "(and (top b.c) (plain))"):
        with pytest.raises(pds.Error, match=r"not-abstractable.*the goal asks for"):
            exported(model, state, goal)
    with pytest.raises(pds.Error, match="there is no object `z`"):
        exported(model, state, "(top z)")


def test_a_model_none_of_whose_actions_has_a_form_is_refused():
    domain = pds.parse_domain("""
        (define (domain d) (:types spot - vector[int64, 2, choices=2])
          (:predicates (pin [return_type=spot]))
          (:action move :parameters (?s - spot) :effect (pin::assign ?s)))
    """)
    state = pds.State(domain, objects={}, values={"pin": [0, 0]})
    with pytest.raises(pds.Error, match=r"no action of the model has a form over codes[\s\S]*`move`"):
        exported(pds.Model(domain), state, "(= (pin) [1, 1])")
    with pytest.raises(pds.Error, match="bad-model"):
        exported(domain, state, "(= (pin) [1, 1])")


def test_costs_are_functions_of_objects_and_of_models_with_values_numbers():
    domain = pds.parse_domain("""
        (define (domain d) (:types t) (:predicates (p ?x - t)) (:functions (total-cost) (w ?x - t) - number)
          (:action a :parameters (?x - t) :effect (and (p ?x) (increase (total-cost) (w ?x)))))
    """)
    state = pds.State(domain, objects={"t": ["x"]}, values={"p": [False], "w": [2.0]})
    assert optimal(exported(pds.Model(domain), state, "(p x)").problem).cost == 2
    domain = pds.parse_domain("""
        (define (domain d) (:types t - object n - int64[choices=2]) (:predicates (p [return_type=n] ?x - t))
          (:functions (total-cost) (w ?x - t) - number)
          (:action a :parameters (?x - t) :effect (and (p::assign ?x 1) (increase (total-cost) (w ?x)))))
    """)
    state = pds.State(domain, objects={"t": ["x"]}, values={"p": [0], "w": [2.0]})
    model = pds.Model(domain)
    with pytest.raises(pds.Error, match="what `a` costs depends on"):
        exported(model, state, "(= (p x) 1)")
    assert optimal(exported(model, state, "(= (p x) 1)", costs=False).problem).cost == 1


def test_goals_about_all_objects_name_them():
    model, state = shelf()
    others = "(forall (?o - thing) (imply (good ?o) (not (= ?o b.c))))"
    goal = f"(and (height-1) {others} (exists (?o - thing) (top ?o)))"
    task = exported(model, state, goal)
    assert_legal(task)
    assert "goal" not in task.domain_text
    for name in ("a-1-2", "a-1", "b-c"):
        assert f"(or (not (good {name})) (not (= {name} b-c)))" in task.problem_text
    found = pds.plan(model, state, goal, heuristic="blind")
    assert optimal(task.problem).cost == found.cost


def test_a_goal_that_can_never_hold_is_exported_and_has_no_plan():
    model, state = shelf()
    task = exported(model, state, "(and (height-1) (not (height-1)) (or))")
    assert optimal(task.problem).status == "unsolvable"


def test_a_folder_that_holds_something_is_kept_unless_it_is_forced(tmp_path):
    model, state = shelf()
    folder = tmp_path / "export"
    folder.mkdir()
    pds.export(model, state, "(lit b.c)", folder)  # it was empty
    before = (folder / "problem.pddl").read_text()
    with pytest.raises(pds.Error, match="folder-exists"):
        pds.export(model, state, "(top b.c)", folder)
    assert (folder / "problem.pddl").read_text() == before
    pds.export(model, state, "(top b.c)", folder, force=True)
    assert (folder / "problem.pddl").read_text() != before
    assert sorted(path.name for path in folder.iterdir()) == ["domain.pddl", "mapping.json", "problem.pddl"]


@pytest.mark.parametrize(
    ("plan", "wrong"),
    [
        ("(flop a-1)", r"sas_plan:1:1: error\[bad-plan\]: the export has no `flop`"),
        ("(flip a-1)\n(flip a-2)", r"sas_plan:2:1: error\[bad-plan\]: the export has no `a-2`"),
        ("(flip a-1) flip", "a plan is a list of steps"),
        ("(flip 3)", "the export has no `3`"),
    ],
)
def test_plans_that_are_not_of_the_export_are_refused(plan, wrong, tmp_path):
    model, state = shelf()
    pds.export(model, state, "(lit b.c)", tmp_path / "export")
    (tmp_path / "sas_plan").write_text(plan)
    with pytest.raises(pds.Error, match=wrong):
        pds.read_abstract_plan(tmp_path / "export", tmp_path / "sas_plan")


@pytest.mark.parametrize(
    "change",
    [
        lambda mapping: None,
        lambda mapping: [],
        lambda mapping: {**mapping, "format": 2},
        lambda mapping: {**mapping, "objects": ["a-1"]},
        lambda mapping: {**mapping, "actions": {"flip": 3}},
        lambda mapping: {**mapping, "codes": {"level-2": 2}},
        lambda mapping: {key: value for key, value in mapping.items() if key != "codes"},
    ],
)
def test_damaged_mappings_are_refused(change, tmp_path):
    model, state = shelf()
    pds.export(model, state, "(lit b.c)", tmp_path / "export")
    (tmp_path / "sas_plan").write_text("(flip b-c)")
    assert pds.read_abstract_plan(tmp_path / "export", tmp_path / "sas_plan") == [("flip", "b.c")]
    file = tmp_path / "export" / "mapping.json"
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with pytest.raises(pds.Error, match="bad-mapping"):
        pds.read_abstract_plan(tmp_path / "export", tmp_path / "sas_plan")
    file.unlink()
    with pytest.raises(pds.Error, match="bad-mapping"):
        pds.read_abstract_plan(tmp_path / "export", tmp_path / "sas_plan")


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 3), st.integers(0, 10_000))
def test_an_exact_export_has_the_models_optimal_costs_and_its_plans_replay(k, seed):
    rng = np.random.default_rng(seed)
    domain = pds.parse_domain(f"""
        (define (domain counters)
          (:types thing - object n - int64[choices={k}])
          (:predicates (a [return_type=n] ?o - thing) (b [return_type=n] ?o - thing) (on ?o - thing)
            (next [return_type=n] ?x - n) (mix [return_type=n] ?x - n ?y - n) (good ?x - n ?y - n))
          (:derived (fine ?o - thing) (good (a ?o) (b ?o)))
          (:action count :parameters (?o - thing)
            :precondition (exists (?p - thing) (or (on ?p) (fine ?p)))
            :effect (a::assign ?o (next (a ?o))))
          (:action blend :parameters (?o - thing ?y - n)
            :precondition (not (= (a ?o) ?y))
            :effect (forall (?p - thing) (when (imply (on ?p) (= ?p ?o)) (b::assign ?p (mix (a ?p) ?y)))))
          (:action flip :parameters (?o - thing)
            :effect (assign (on ?o) (not (forall (?p - thing) (fine ?p))))))
    """)
    after = torch.tensor(rng.integers(0, k, k))
    mixed, good = torch.tensor(rng.integers(0, k, (k, k))), torch.tensor(rng.random((k, k)) < 0.4)
    modules = {
        "next": lambda x: after[x],
        "mix": lambda x, y: mixed[x, y],
        "good": lambda x, y: good[x, y].float(),
    }
    model = pds.Model(domain, modules=modules)
    values = {name: rng.integers(0, k, 2).tolist() for name in "ab"}
    state = pds.State(domain, objects={"thing": ["x", "y"]}, values={**values, "on": [False, True]})
    all_fine = "(forall (?p - thing ?q - thing) (or (fine ?p) (= ?p ?q)))"
    goal = f"(and (fine x) (= (on x) (on y)) {all_fine} (= (b y) {int(rng.integers(0, k))}))"
    task = exported(model, state, goal)
    assert_legal(task)
    found = optimal(task.problem)
    exhaustive = pds.plan(model, state, goal, heuristic="blind", time_limit=None)
    assert (found.status, found.cost) == (exhaustive.status, exhaustive.cost)
    if found.solved:
        back = {**task.objects, **{name: code.value for name, code in task.codes.items()}}
        for action, *row in found.plan:
            step = (task.actions[action], *(back[o] for o in row))
            assert model.applicable(state, step, crisp=True) == 1
            state = model.step(state, step, crisp=True)
        assert model.holds(state, goal, crisp=True) == 1
