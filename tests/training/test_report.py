"""Reports as people and machines read them."""

from __future__ import annotations

import json
from html import escape

import torch
from tests.training.models import rooms_model

import pdsketch as pds
from pdsketch.training.diagnosis.report import page


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


def test_the_page_needs_nothing_else_and_writes_forms_out(rooms):
    model, found = evaluated(rooms)
    text = page(found, model)
    assert "http" not in text
    assert all(name in text for name in model.domain.blanks)
    assert "ambiguous" in text
    assert "Forms" not in text
    fitted = pds.Model(rooms[0], seed=0)
    pds.fit(fitted, rooms[1], steps=60, batch=64)
    name, form = next(iter(fitted.forms.items()))
    assert escape(f"{name}: {form}") in page(pds.evaluate(fitted, rooms[1]), fitted)


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
