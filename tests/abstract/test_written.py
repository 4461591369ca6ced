"""The sketch with what was learned written out, and the export of models of truths."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import pdsketch as pds
from pdsketch.abstract.written import written_out
from pdsketch.lang import BlankCall, domain_text, walk
from pdsketch.lang.semantics import StaticContext, applicable, apply
from pdsketch.nets.forms import Condition, CountForm, LinearForm, TableForm, TreeForm, element
from pdsketch.nets.readings import InputReading

ROOMS = """
(define (domain rooms)
  (:types robot room - object ball - room)
  (:predicates (at ?r - robot ?x - room) (lit ?x - room) (dark))
  (:derived (bright ?x - room) (??b (lit ?x) (dark)))
  (:action go
    :parameters (?r - robot ?x - room)
    :precondition (and (not (dark)) (??p (at ?r ?x) (lit ?x) (bright ?x)))
    :effect (and
      (at::assign ?r ?x (??e1 (at ?r ?x) (lit ?x)))
      (when (??w (lit ?x) (at ?r ?x)) (assign (dark) (??e2 (dark) (lit ?x) (at ?r ?x))))
      (forall (?y - room) (when (bright ?y) (assign (lit ?y) (??e3 (lit ?y) (at ?r ?y) (lit ?x)))))))
  (:action keep :parameters (?r - robot) :effect (and (assign (dark) (??e4 (dark))) (not (dark)))))
"""


def of_table(table):
    """A module that looks its answer up."""
    rows = torch.tensor(np.asarray(table), dtype=torch.float32)

    def module(*args):
        args = torch.broadcast_tensors(*args)
        place = sum((arg > 0.5).long() << at for at, arg in enumerate(reversed(args)))
        return rows[place]

    return module


def agree(model, task, state, steps):
    """The model and its export take the same steps to the same states, and refuse the same."""
    problem = pds.export(model, state, "(and)").problem
    static = StaticContext.of(problem)
    for step in steps:
        could = bool(model.applicable(state, step, crisp=True) > 0.5)
        assert applicable(static, dict(problem.init), step) == could, step
        if could:
            after = model.step(state, step, crisp=True)
            found = pds.export(model, after, "(and)").problem.init
            said = apply(static, dict(problem.init), step)
            assert {f for f, v in said.items() if v} == {f for f, v in found.items() if v}, step


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_the_export_of_truths_does_what_the_model_does(seed):
    rng = np.random.default_rng(seed)
    domain = pds.parse_domain(ROOMS)
    sizes = {name: len(blank.inputs) for name, blank in domain.blanks.items()}
    model = pds.Model(domain, modules={n: of_table(rng.random(2**k) < 0.5) for n, k in sizes.items()})
    task = pds.export(model)
    assert task.problem is None
    assert task.domain.name == "rooms"
    assert set(task.domain.hierarchy.parents) == {"robot", "room", "ball"}
    assert [*task.domain.predicates] == ["at", "lit", "dark", "bright"]
    assert "assign" not in task.domain_text
    values = {"at": rng.random((1, 3)) < 0.5, "lit": rng.random(3) < 0.5, "dark": bool(rng.random() < 0.3)}
    state = pds.State(domain, {"robot": ["r"], "room": ["a", "b"], "ball": ["c"]}, values)
    steps = [("go", "r", x) for x in "abc"] + [("keep", "r")]
    agree(model, task, state, steps)


def test_constant_effects_are_plain_lists_and_what_stays_is_not_written():
    domain = pds.parse_domain("""
    (define (domain towers) (:types block)
      (:predicates (clear ?x - block) (on ?x ?y - block) (held ?x - block) (empty))
      (:action stack :parameters (?x ?y - block) :precondition (??p (held ?x) (clear ?y) (empty))
        :effect (and (clear::assign ?x (??c (clear ?x))) (clear::assign ?y (??d (clear ?y)))
                     (on::assign ?x ?y (??o (on ?x ?y))) (held::assign ?x (??h (held ?x)))
                     (held::assign ?y (??k (held ?y))) (empty::assign (??e (empty)))
                     (on::assign ?y ?x (??t (on ?y ?x) (empty))))))
    """)
    always = {"c": 1.0, "d": 0.0, "o": 1.0, "h": 0.0, "e": 1.0}
    modules = {f"action::stack::{n}": lambda *x, v=v: torch.full_like(x[0], v) for n, v in always.items()}
    modules["action::stack::p"] = lambda x, y, z: x * y
    modules["action::stack::k"] = lambda x: x
    modules["action::stack::t"] = lambda x, empty: torch.maximum(x, empty) * x  # what it was
    text = pds.export(pds.Model(domain, modules=modules)).domain_text
    assert "when" not in text
    assert " ".join(text.split()).endswith(
        ":parameters (?x - block ?y - block) :precondition (and (held ?x) (clear ?y)) :effect (and"
        " (clear ?x) (not (clear ?y)) (on ?x ?y) (not (held ?x)) (empty))))"
    )


def test_what_the_precondition_rules_out_needs_no_condition():
    domain = pds.parse_domain("""
    (define (domain d) (:predicates (p) (q))
      (:action turn :parameters () :precondition (and (p) (not (q))) :effect (and
        (p::assign (??a (p))) (q::assign (??b (q) (p))))))
    """)
    modules = {"action::turn::a": lambda p: 1 - p, "action::turn::b": lambda q, p: torch.abs(p - q)}
    text = " ".join(pds.export(pds.Model(domain, modules=modules)).domain_text.split())
    assert text.endswith(":effect (and (not (p)) (q))))")


def test_a_file_takes_a_domain_alone(tmp_path):
    domain = pds.parse_domain("(define (domain d) (:predicates (p)) (:action a :parameters () :effect (p)))")
    model = pds.Model(domain)
    task = pds.export(model, folder=tmp_path / "own.pddl")
    assert (tmp_path / "own.pddl").read_text() == task.domain_text
    with pytest.raises(pds.Error, match="folder-exists"):
        pds.export(model, folder=tmp_path / "own.pddl")
    state = pds.State(domain, {}, {"p": False})
    with pytest.raises(pds.Error, match="bad-option"):
        pds.export(model, state, "(p)", tmp_path / "other.pddl")
    with pytest.raises(pds.Error, match="missing-argument"):
        pds.export(model, state)
    pds.export(model, folder=tmp_path / "folder")
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["domain.pddl", "mapping.json"]


def test_a_model_with_values_is_exported_over_codes_without_a_problem():
    domain = pds.parse_domain("""
    (define (domain d) (:types thing - object level - int64[choices=3])
      (:predicates (height [return_type=level] ?o - thing) (up [return_type=level] ?l - level))
      (:action lift :parameters (?o - thing) :effect (height::assign ?o (up (height ?o)))))
    """)
    model = pds.Model(domain, modules={"up": lambda level: (level + 1).clamp(max=2)})
    task = pds.export(model)
    assert task.domain.name == "d"
    assert len(task.problem.init) == 2
    assert not any(task.problem.objects.get("thing", ()))


def test_the_effects_of_a_model_with_values_are_plain_and_its_types_the_authors():
    domain = pds.parse_domain("""
    (define (domain d) (:types thing - object level - int64[choices=3])
      (:predicates (height [return_type=level] ?o - thing) (lit ?o - thing) (dry ?o - thing)
        (up [return_type=level] ?l - level))
      (:action lift :parameters (?o - thing) :precondition (lit ?o) :effect (and
        (height::assign ?o (up (height ?o))) (lit::assign ?o (??f (lit ?o))) (dry::assign ?o (??k (dry ?o)))))
      (:action put :parameters (?o - thing ?l - level) :effect (height::assign ?o ?l))
      (:action drop :parameters (?o - thing) :effect (and (lit ?o) (height::assign ?o 0))))
    """)
    modules = {"up": lambda level: (level + 1).clamp(max=2), "action::lift::f": lambda lit: 1 - lit}
    model = pds.Model(domain, modules={**modules, "action::lift::k": lambda dry: dry})
    task = pds.export(model)
    assert {*task.domain.hierarchy.parents} == {"thing", "level"}
    text = " ".join(task.domain_text.split())
    own = {name: text.partition(f"(:action {name}")[2].partition("(:action")[0] for name in task.actions}
    assert "(not (lit ?o))" in own["lift"]
    assert "dry" not in own["lift"]
    cleared = "(forall (?level - level) (not (height ?o ?level)))"
    assert own["put"].endswith(f":precondition (and) :effect (and (height ?o ?l) {cleared})) ")
    assert own["drop"].endswith(f":effect (and (lit ?o) (height ?o level-0) {cleared}))) ".rstrip())
    state = pds.State(domain, {"thing": ["a", "b"]}, {"height": [1, 2], "lit": [1, 0], "dry": [0, 1]})
    goal = "(and (= (height a) 2) (= (height b) 1) (lit b))"
    found = pds.plan(pds.export(model, state, goal).problem, search="astar", heuristic="blind")
    assert found.cost == pds.plan(model, state, goal, heuristic="blind").cost == 3


def test_a_type_above_the_authors_stands_only_where_the_sketch_ranges_over_all_objects():
    domain = pds.parse_domain("""
    (define (domain d) (:types thing - object level - int64[choices=3])
      (:predicates (height [return_type=level] ?o - thing) (good))
      (:action look :effect (when (forall (?o - object) (exists (?p - thing) (= ?o ?p))) (good)))
      (:action put :parameters (?o - thing ?l - level) :effect (height::assign ?o ?l)))
    """)
    assert "(?o - entity)" in pds.export(pds.Model(domain)).domain_text


SET = pds.parse_domain("""
(define (domain d) (:types thing - object place - vector[float32, 2] colour - int64[choices=3])
  (:predicates (at [return_type=place] ?o - thing) (of [return_type=colour] ?o - thing) (lit ?o - thing))
  (:derived (near ?a ?b - thing) (??n (at ?a) (at ?b) (of ?a) (lit ?b)))
  (:derived (some ?a - thing) (??s (at ?a) (foreach (?b - thing) (when (lit ?b) (at ?b))))))
""")


def forms():
    """Forms of each kind, for the blanks of `SET`."""
    blanks = pds.Model(SET).blanks
    near, some = (blanks.network(f"derived::{n}").signature for n in ("near::n", "some::s"))
    far = Condition(InputReading("distance", 0, 1), 1.0, order=True)
    right = Condition(InputReading("difference", 0, 1, 0), 1.0, 0.25)
    red, lit = Condition(InputReading("code", 2), 1.0), Condition(InputReading("code", 3), 1.0)
    yield "n", TreeForm(near, [far, red, lit], (0, (1, 0, (2, 1, 0)), (2, 0, 1)), [(0.0,), (1.0,)])
    yield "n", TreeForm(near, [right, red], (0, (1, 0, 1), 1), [(1.0,), (0.0,)])
    moved = Condition(InputReading("sum", 0, 1, 0, other=0), 1.0, order=True)
    yield "n", TreeForm(near, [moved], (0, 1, 0), [(0.0,), (1.0,)])
    keys = [InputReading("code", 2), InputReading("code", 3)]
    yield "n", TableForm(near, keys, {(0, 1): (1.0,), (2, 0): (1.0,), (1, 1): (0.0,)}, (0.0,))
    yield "n", TableForm(near, keys, {(0, 1): (0.0,), (2, 0): (1.0,)}, (1.0,))
    columns = [(InputReading("number", 0, place=1), None), (keys[0], 2.0), (keys[1], 1.0)]
    yield "n", LinearForm(near, columns, [(-0.5,), (1.0,), (0.7,), (-0.4,)])
    yield "n", LinearForm(near, columns[1:], [(-0.5,), (1.0,), (0.7,)])
    inner = TreeForm(element(some, 1), [far], (0, 0, 1), [(1.0,), (0.0,)])
    for count, few in product((1, 2, 3), (False, True)):
        yield "s", CountForm(some, 1, inner, count, few=few)


@pytest.mark.parametrize(("name", "form"), [*forms()], ids=str)
def test_forms_are_formulas_of_the_same_truth(name, form):
    model = pds.Model(SET)
    blank = f"derived::{'near' if name == 'n' else 'some'}::{name}"
    model.blanks.network(blank).form = form
    own = written_out(model)
    assert not any(isinstance(node, BlankCall) and node.blank == blank
                   for p in own.predicates.values() if p.body for node in walk(p.body))  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(20):
        places = rng.choice([0.0, 0.5, 1.0, 2.0], (4, 2))
        values = {"at": places, "of": rng.integers(0, 3, 4), "lit": rng.random(4) < 0.6}
        state = pds.State(SET, {"thing": [*"abcd"]}, values)
        said = pds.State(plain(own), {"thing": [*"abcd"]}, values)
        goals = [f"(near a {x})" for x in "abcd"] if name == "n" else [f"(some {x})" for x in "abcd"]
        for goal in goals:
            assert model.holds(state, goal, crisp=True) == pds.Model(plain(own)).holds(said, goal, crisp=True)


def test_that_more_are_of_one_kind_than_of_another_is_not_written():
    model = pds.Model(SET)
    network = model.blanks.network("derived::some::s")
    here = Condition(InputReading("distance", 0, 1), 1.0, order=True)
    inner = TreeForm(element(network.signature, 1), [here], (0, 0, 1), [(1.0,), (0.0,)])
    network.form = CountForm(network.signature, 1, inner, 1, against=inner)
    assert any(isinstance(node, BlankCall) for node in walk(written_out(model).predicates["some"].body))


def plain(domain):
    """A domain without blanks, read from its text."""
    other = "some" if any(isinstance(n, BlankCall) for n in walk(domain.predicates["some"].body)) else "near"
    kept = {name: p for name, p in domain.predicates.items() if name != other}
    return pds.parse_domain(domain_text(replace(domain, predicates=kept, blanks={})))
