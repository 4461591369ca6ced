"""Reports as people and machines read them."""

from __future__ import annotations

import json

import torch
from tests.training.models import as_trained, rooms_model

import pdsketch as pds
from pdsketch.training.diagnosis.page import grids, page


def evaluated(rooms):
    model = rooms_model(rooms[0], right=lambda at: at, in_last=torch.ones_like)
    return model, pds.evaluate(model, rooms[1])


def test_warnings_come_before_tables_and_lines_stay_within_100_columns(rooms):
    text = str(evaluated(rooms)[1])
    assert text.index("always false") < text.index("warning:") < text.index("Goals by kind")
    assert text.index("Effects") < text.index("Blanks") < text.index("Worst steps")
    assert max(map(len, text.splitlines())) <= 100


def test_a_fit_reports_the_same_things(rooms):
    report = pds.fit(pds.Model(rooms[0], seed=0), rooms[1], steps=2, validation=0.25, forms=False)
    assert report.worst(5)[0].variable
    assert len(report.worst(2)) == 2
    assert report.worst_goals(1)[0].formula in {e.goal for e in rooms[1]}
    plain = json.loads(json.dumps(report.as_json()))
    assert set(plain["held_out"]["effects"]) <= {"left", "right", "dye"}
    assert plain["worst_steps"][0]["seen"] == report.worst(1)[0].seen
    assert max(map(len, str(report).splitlines())) <= 100


def test_the_json_of_an_evaluation_holds_everything(rooms):
    plain = json.loads(json.dumps(evaluated(rooms)[1].as_json()))
    assert plain["effects"]["right"]["at"]["right_changed"] == 0.0
    assert plain["goals"][0]["always_false"] > 0.0
    assert plain["blanks"]["action::right::f"]["verdict"] == "ambiguous"
    assert plain["warnings"]
    assert plain["worst_goals"][0]["truth"] == 1.0


def test_the_page_needs_nothing_else_and_shows_small_blanks(rooms):
    model, found = evaluated(rooms)
    text = page(found, model)
    assert "http" not in text
    assert text.count("<figure>") == 5
    assert text.count("<svg") == 2  # near, over two numbers, and in-last, over one
    assert all(name in text for name in model.domain.blanks)
    assert "ambiguous" in text


PLANE = """
(define (domain plane)
  (:types box)
  (:predicates (pose [return_type=vector[float32, 2]] ?b - box))
  (:derived (left-of ?a - box ?b - box) (??f (pose ?a) (pose ?b)))
  (:action wait :parameters () :precondition (and) :effect (and)))
"""


def test_two_poses_are_drawn_over_their_difference():
    domain = pds.parse_domain(PLANE)
    model = as_trained(domain, {"derived::left-of::f": lambda a, b: (a[..., :1] < b[..., :1]).float()})
    state = pds.State(domain, {"box": ["a", "b"]}, {"pose": [[0.0, 0.0], [4.0, 2.0]]})
    found = pds.evaluate(model, [pds.Episode([state], [], "(left-of a b)", [1])])
    (grid,) = grids(model, found.blanks)
    assert "difference" in grid.caption
    assert (grid.down, grid.across) == (("-4", "4"), ("-2", "2"))
    assert grid.is_map
    assert set(grid.values[0]) == {1.0}
    assert set(grid.values[-1]) == {0.0}
    assert "difference" in page(found, model)


def test_goals_are_told_apart_by_their_predicate_and_not_by_their_objects():
    domain = pds.parse_domain("""
    (define (domain line) (:types b) (:predicates (x [return_type=float32] ?b - b))
      (:derived (left ?a ?b - b) (??f (x ?a) (x ?b)))
      (:derived (right ?a ?b - b) (??f (x ?a) (x ?b))))
    """)
    goals = {f"({p} {a} {b})": [0] for p in ("left", "right") for a, b in ("pq", "qr", "pp")}
    state = pds.State(domain, {"b": ["p", "q", "r"]}, {"x": [0.0, 1.0, 2.0]})
    found = pds.evaluate(pds.Model(domain, seed=0), [pds.Episode([state], [], goals=goals)]).measures
    assert [(kind.formula.split()[0], kind.formulas) for kind in found.goals] == [
        ("(left", 2),
        ("(left", 1),
        ("(right", 2),
        ("(right", 1),
    ]
