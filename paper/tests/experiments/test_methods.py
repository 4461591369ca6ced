"""The paper's method beside ours: ladders, plain networks, when a fit ends, and the tables of the gap."""

from __future__ import annotations

from dataclasses import asdict, astuple
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch_paper.babyai.observation import load_sketch
from pdsketch_paper.experiments.babyai import TrainConfig, new_model, train
from pdsketch_paper.experiments.gap import EXPERIMENTS, LADDERS
from pdsketch_paper.experiments.methods import OURS, PAPER, PATIENCE, Flat, PlainNetwork, ladder, modules_of
from pdsketch_paper.experiments.painting import new_painting_model
from pdsketch_paper.experiments.runs import sources

ORIGIN = {"commit": "c", "sources": sources(), "date": "d", "versions": {}}


@pytest.mark.parametrize("name", LADDERS)
def test_a_ladder_leads_from_the_papers_method_to_ours_by_one_change_at_a_time(name):
    methods = [astuple(method) for method in LADDERS[name].values()]
    assert methods[-1] == astuple(OURS)
    for before, after in pairwise(methods):
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    assert next(iter(ladder().values())) == PAPER


def test_plain_networks_take_and_return_what_blanks_do():
    sketch = pds.parse_domain("""(define (domain all)
      (:types item - object kind - int64[choices=3] place - vector[float32, 2]
              picture - vector[float32, 8, 8, 3])
      (:predicates (kind [return_type=kind] ?o - item) (at [return_type=place] ?o - item)
        (image [return_type=picture] ?o - item))
      (:derived (good ?o - item) (??f (kind ?o) (at ?o) (image ?o)))
      (:action act :parameters (?o - item) :effect (and
        (at::assign ?o (??g (at ?o) (foreach (?x - item) (at ?x))))
        (kind::assign ?o (??h)))))""")
    model = pds.Model(sketch, modules=modules_of(sketch, PAPER, 0))
    state = pds.State(
        sketch,
        objects={"item": ["a", "b", "c"]},
        values={
            "kind": torch.tensor([0, 1, 2]),
            "at": torch.rand(3, 2),
            "image": torch.rand(3, 8, 8, 3) * 255,
        },
    )
    assert 0 < model.holds(state, "(good a)", crisp=False) < 1
    after = model.step(state, ("act", "b"))
    assert not torch.equal(after["at"][1], state["at"][1])
    assert torch.equal(after["at"][0], state["at"][0])
    assert all(isinstance(m, PlainNetwork) for m in modules_of(sketch, PAPER, 0).values())
    assert modules_of(sketch, OURS, 0) == {}


def test_a_fit_ends_where_the_held_out_loss_has_stopped_falling():
    flat = Flat()
    losses = [3.0, 2.0, 1.0, *[1.5] * (PATIENCE - 1)]
    assert not any(flat(SimpleNamespace(figures={"held_out_loss": loss})) for loss in losses)
    assert flat(SimpleNamespace(figures={"held_out_loss": 1.0}))


def test_the_papers_model_sees_no_walls_but_for_the_rules_that_need_them():
    assert "wall" not in new_model("abs", 0, PAPER).domain.hierarchy.parents
    assert "wall" in new_model("rob", 0, PAPER).domain.hierarchy.parents
    assert new_model("abs", 0).domain is load_sketch("abs")
    relation = new_painting_model(0, PAPER).blanks.network("derived::left-of::f")
    assert relation is not None
    assert not isinstance(relation, PlainNetwork)


def test_the_papers_method_trains():
    model, report = train(TrainConfig("abs", 4, steps=3, batch=8, method=PAPER))
    assert report.steps == 3
    assert report.held_out_episodes == 0 or report.held_out is not None
    assert not model.training


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_gap_has_a_row_for_each_change_and_the_papers_figures(name):
    loops = {loop: {"success": 0.5} for loop in ("open", "closed")}
    records = [
        {
            "name": run.name,
            "config": asdict(run.config),
            "result": {"4+4": loops, "pair": loops},
            "origin": ORIGIN,
        }
        for run in EXPERIMENTS[name].runs(range(1), False)
    ]
    table = EXPERIMENTS[name].table(records)
    shown = [model for model in LADDERS if (model == "painting") == name.startswith("painting")]
    assert len(table.rows) == sum(len(LADDERS[model]) + 1 for model in shown)
    assert all(len(row) == len(table.head) for row in table.rows)
    assert {row[2] for row in table.rows} == {"0.500", *(row[2] for row in table.rows if "printed" in row[1])}


@pytest.mark.parametrize("words", [["reproduce"], ["reproduce", "babyai-main", "--all"]])
def test_a_table_is_named_or_all_are_asked_for(words, capsys):
    assert main(words) == 2
    assert "--all" in capsys.readouterr().err
    assert main(["reproduce", "--all", "--world-option", "doors=1"]) == 2
