"""Goals that compare and add numbers are ground over codes, and mean there what they mean in the model."""

import random

import pytest
import torch

import pdsketch as pds
from pdsketch.abstract import abstraction_of, compile_and_or
from pdsketch.budget import OutOfTimeError
from pdsketch.core import States

TOKENS = """
(define (domain tokens)
  (:types token - object  place - vector[float32, 2])
  (:predicates (at [return_type=place] ?t - token) (red ?t - token) (stuck ?t - token))
  (:derived (beside ?t ?u - token) (= (component (at ?t) 0) (component (at ?u) 0)))
  (:action east :parameters (?t - token) :precondition (not (stuck ?t)) :effect (at::assign ?t (??f (at ?t))))
  (:action north :parameters (?t - token) :precondition (not (stuck ?t))
    :effect (at::assign ?t (??f (at ?t)))))
"""
SIDE = 4
PAIR = "(exists (?a ?b - token) (and (red ?a) (not (red ?b)) {}))"
X, Y = "(component (at {}) 0)", "(component (at {}) 1)"
XA, XB, YA, YB = X.format("?a"), X.format("?b"), Y.format("?a"), Y.format("?b")
GOALS = {
    "right of": PAIR.format(f"(= {XA} (+ 1 {XB}))"),
    "next to": PAIR.format(
        f"(or (and (= {YA} {YB}) (or (= {XA} (+ 1 {XB})) (= {XB} (+ 1 {XA}))))"
        f" (and (= {XA} {XB}) (or (= {YA} (+ 1 {YB})) (= {YB} (+ 1 {YA})))))"
    ),
    "all left of all": f"(forall (?a ?b - token) (implies (and (red ?a) (not (red ?b))) (< {XA} {XB})))",
    "far": PAIR.format(f"(> (+ (* (- {XA} {XB}) (- {XA} {XB})) (* (- {YA} {YB}) (- {YA} {YB}))) 8)"),
    "sums": PAIR.format(f"(= (+ {XA} {XB}) (+ 1 {YA} {YB}))"),
    "none on a diagonal": f"(not (exists (?a - token) (= {XA} {YA})))",
    "not beside": "(forall (?a ?b - token) (or (= ?a ?b) (not (beside ?a ?b)) (stuck ?b)))",
    "of three": f"(exists (?a ?b ?c - token) (and (< {XA} {XB}) (< {XB} {X.format('?c')})))",
}


@pytest.fixture(scope="module")
def model():
    """Tokens that go round and round on a board."""
    domain = pds.parse_domain(TOKENS)

    def moved(axis):
        def move(place):
            numbers = [(place[..., i] + (i == axis)) % SIDE for i in range(2)]
            return torch.stack(numbers, -1)

        return move

    return pds.Model(domain, {"action::east::f": moved(0), "action::north::f": moved(1)})


def board(model, tokens, seed):
    rng = random.Random(seed)
    names = [f"t{i}" for i in range(tokens)]
    values = {
        "at": [[rng.randrange(SIDE), rng.randrange(SIDE)] for _ in names],
        "red": [i % 2 == 0 for i in range(tokens)],
        "stuck": [rng.random() < 0.2 for _ in names],
    }
    return pds.State(model.domain, objects={"token": names}, values=values)


def holds_over_codes(model, state, goal):
    """Whether the goal holds in the initial state of its task."""
    checked = model.formula(state.batch, goal)
    abstraction = compile_and_or(model, state.batch.universe(0).types, checked, state.batch)
    task = abstraction.task
    facts = States(task).derived(task.init)
    return all(facts[literal >> 1] != (literal & 1) for literal in task.goal.tolist())


@pytest.mark.parametrize("kind", GOALS)
def test_a_goal_holds_over_codes_where_it_holds_in_the_model(model, kind):
    said = []
    for seed in range(24):
        state = board(model, 2 + seed % 4, seed)
        truth = bool(model.holds(state, GOALS[kind], crisp=True))
        assert holds_over_codes(model, state, GOALS[kind]) == truth, seed
        said.append(truth)
    assert 0 < sum(said) < len(said)


@pytest.mark.parametrize("kind", GOALS)
def test_plans_of_the_abstraction_are_the_models(model, kind):
    for seed in range(4):
        state = board(model, 4, 50 + seed)
        if any(state["stuck"].tolist()):
            continue
        result = pds.plan(model, state, GOALS[kind], search="abstract", heuristic="ao")
        assert result.solved
        assert result.refinements == 0
        assert pds.validate(model, result.plan, state, GOALS[kind]).valid


def test_relations_of_one_goal_are_none_of_another(model):
    pds.plan(model, board(model, 5, 0), "(exists (?t - token) (stuck ?t))", search="abstract")
    before = {*abstraction_of(model).symbolic.translator.symbols.relations}
    # Each problem has another number of objects, whose task is made after the relations of the goals before.
    for tokens in (2, 3, 5):
        for kind in ("next to", "sums"):
            pds.plan(model, board(model, tokens, tokens), GOALS[kind])
    assert {*abstraction_of(model).symbolic.translator.symbols.relations} == before


def test_a_goal_that_a_limit_ends_leaves_the_model_as_it_was(model, monkeypatch):
    state = board(model, 4, 60)
    types = state.batch.universe(0).types
    compile_and_or(model, types, model.formula(state.batch, GOALS["sums"]), state.batch)  # values get codes
    translator = abstraction_of(model).symbolic.translator
    outer = translator.symbols
    monkeypatch.setattr(type(translator), "tabulated", _out_of_time)
    goal = model.formula(state.batch, f"(exists (?a - token) (= {YA} (+ {XA} {XA})))")
    with pytest.raises(OutOfTimeError):
        compile_and_or(model, types, goal, state.batch)
    monkeypatch.undo()
    assert abstraction_of(model).symbolic.translator.symbols is outer
    assert pds.plan(model, state, GOALS["sums"], search="abstract").solved


def _out_of_time(*_):
    raise OutOfTimeError
