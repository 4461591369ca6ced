"""Traces: files of states and actions, plans that are replayed, and the sketch that is learned from them."""

from __future__ import annotations

import json

import pytest
from tests.interchange.test_pddl_environment import EXAMPLES

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.lang import Source, read_trace

BLOCKS = EXAMPLES / "blocks/domain.pddl"

TRACE = """(:trajectory
(:state (clear b2) (clear b3) (hand-empty) (on b2 b1) (on-table b1) (on-table b3))
(:action (pick-up b3))
(:state (clear b2) (held b3) (on b2 b1) (on-table b1))
(:action (put-down b3))
(:state (clear b2) (clear b3) (hand-empty) (on b2 b1) (on-table b1) (on-table b3)))"""

TYPED = """(define (domain depot)
  (:types place vehicle parcel - object  truck drone - vehicle)
  (:constants hub - place)
  (:predicates (at ?v - vehicle ?p - place) (heavy ?x - parcel) (in ?x - parcel ?v - vehicle))
  (:functions (fuel ?v - vehicle) (total-cost))
  (:derived (home ?v - vehicle) (at ?v hub))
  (:action drive :parameters (?t - truck ?from ?to - place)
    :precondition (at ?t ?from) :effect (and (not (at ?t ?from)) (at ?t ?to) (increase (total-cost) 1))))"""


@pytest.fixture(scope="module")
def blocks():
    return pds.load_domain(BLOCKS)


def written(tmp_path, text):
    path = tmp_path / "trace"
    path.write_text(text)
    return path


def test_a_trace_of_amlgym_is_an_episode(blocks, tmp_path):
    path = written(tmp_path, TRACE)
    (episode,) = pds.read_traces(pds.sketch_of(blocks), path)
    assert [*episode.actions] == [("pick-up", "b3"), ("put-down", "b3")]
    assert episode.executable is None
    assert episode.states[0].objects == {"block": ("b2", "b3", "b1")}
    assert episode.states[1]["held"].tolist() == [False, True, False]
    assert episode.states[0] == episode.states[2]
    assert [len(one.actions) for one in pds.read_traces(blocks, [path, str(path)])] == [2, 2]


def test_other_words_objects_goals_and_refusals_are_read(blocks, tmp_path):
    text = """((:objects a b - block) (:init (on-table a) (on-table b) (clear a) (not (clear b)) (hand-empty))
      (:refused (pick-up b)) (operator: (pick-up a)) (:state (held a) (on-table b)) (:goal (held a))
      (:refused pick-up b))"""
    (episode,) = pds.read_traces(blocks, written(tmp_path, text))
    assert [*episode.actions] == [("pick-up", "b"), ("pick-up", "a"), ("pick-up", "b")]
    assert list(episode.executable) == [False, True, False]
    assert episode.goal == "(held a)"
    assert len(episode.states) == 4


def test_objects_are_of_the_most_general_type_that_fits():
    domain = pds.parse_domain(TYPED)
    text = "((:state (at v1 p1) (at v2 hub) (in x v2)) (:action (drive v1 p1 hub)) (:state (at v1 hub)))"
    found = read_trace(Source("t", text), domain).universe
    assert {name: str(type_) for name, type_ in found.items()} == {
        "hub": "place",
        "v1": "truck",
        "p1": "place",
        "v2": "vehicle",
        "x": "parcel",
    }


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "bad-trace", "there is no state"),
        ("((:state) (:state))", "bad-trace", "no action between them"),
        ("((:action (put-down a)))", "bad-trace", "none is before it"),
        ("((:state (held a)) (:action (put-down a)))", "bad-trace", "behind the last action is missing"),
        ("((:state) (:actoin (put-down a)) (:state))", "bad-trace", "did you mean `action`"),
        ("((:state (held a)) (:action (put-dwn a)) (:state))", "unknown-action", "did you mean `put-down`"),
        ("((:state (hold a)))", "unknown-predicate", "1:11"),
        ("((:state (held a))", "unbalanced", "1:1"),
    ],
)
def test_what_is_wrong_has_its_place(blocks, text, code, said):
    with pytest.raises(pds.Error, match=said) as refused:
        read_trace(Source("t", text), blocks)
    assert refused.value.diagnostics[0].code == code


def test_a_plan_is_replayed_from_its_problem(blocks, tmp_path):
    problem, plan = EXAMPLES / "blocks/p01.pddl", tmp_path / "plan"
    plan.write_text("(pick-up b)\n(pick-up a)\n(stack b c)\n")
    (episode,) = pds.read_traces(blocks, [(problem, plan)])
    assert list(episode.executable) == [True, False, True]
    assert episode.states[-1]["on"].tolist() == [[False] * 3, [False, False, True], [False] * 3]
    assert episode.success == [0.0, 0.0, 0.0, 0.0]
    sketch = pds.sketch_of(blocks)
    with pytest.raises(pds.Error, match="leaves that blank"):
        pds.read_traces(sketch, [(problem, plan)])
    whole = pds.load_problem(problem, blocks)
    (episode,) = pds.read_traces(sketch, [(whole, pds.plan(whole).plan)])
    assert episode.states[0].domain is sketch
    assert episode.success[-1] == 1.0


def test_a_sketch_leaves_all_atoms_of_the_parameters_blank():
    sketch = pds.sketch_of(pds.parse_domain(TYPED))
    assert [blank.signature for blank in sketch.blanks.values()] == [
        "action::drive::possible(bool, bool, bool, number, bool) -> bool",
        "action::drive::at-t-from(bool) -> bool",
        "action::drive::at-t-to(bool) -> bool",
        "action::drive::at-t-hub(bool) -> bool",
        "action::drive::fuel-t(number) -> number",
    ]
    assert "(home ?t)" in sketch.source.text
    assert "total-cost" not in sketch.source.text


def test_functions_that_only_costs_read_are_left_out_with_the_costs():
    """Published problems give distances for roads alone, and a state has a value for every pair."""
    whole = pds.load_domain(BLOCKS.parents[1] / "delivery" / "domain.pddl")
    sketch = pds.sketch_of(whole)
    assert "distance" not in sketch.predicates
    assert {"road", "at"} <= sketch.predicates.keys()
    problem = pds.load_problem(BLOCKS.parents[1] / "delivery" / "p01.pddl", whole)
    (episode,) = pds.read_traces(sketch, [(problem, pds.plan(problem).plan)])
    assert episode.states[0]["road"].any()


def test_the_command_prints_it(tmp_path, capsys):
    assert main(["sketch", str(BLOCKS), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["blanks"] == len(pds.parse_domain(printed["sketch"]).blanks) == 30
    assert main(["sketch", str(BLOCKS), "-o", str(tmp_path / "b.pdsketch")]) == 0
    assert main(["check", str(tmp_path / "b.pdsketch")]) == 0
    assert main(["fmt", "--check", str(tmp_path / "b.pdsketch")]) == 0
