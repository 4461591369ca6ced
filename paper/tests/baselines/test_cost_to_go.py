"""The learned heuristic: what it learns, and that plans are found with it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from paper.tests.baselines.blocks import demonstrations, start, tower

import pdsketch as pds
import pdsketch_paper
from pdsketch.cli.main import main
from pdsketch_paper.baselines.training import load_agent


@pytest.fixture(scope="module")
def learned():
    domain, episodes = demonstrations(20)
    return pdsketch_paper.train_baseline("gnn", domain, episodes, steps=140, learning_rate=3e-3, batch=64)


def test_it_learns_the_steps_that_are_left(learned):
    assert learned.notes["score"] > -0.3
    _, episodes = demonstrations(20)
    for episode in episodes[:5]:
        goals = [episode.goal] * len(episode.states)
        with torch.no_grad():
            found = learned(*learned.seen(episode.states, goals)).numpy()
        np.testing.assert_allclose(found, np.arange(len(episode.actions), -1, -1), atol=0.9)


def test_plans_are_found_with_fewer_expansions_than_blindly(learned):
    domain = learned.domain
    model = pds.Model(domain)
    state = start(domain, ["b0", "b1", "b2", "b3"])
    orders = (["b2", "b0", "b3"], ["b1", "b2", "b0"], ["b3", "b1", "b0"])
    blind = [pds.plan(model, state, tower(order), heuristic="blind") for order in orders]
    found = [pds.plan(model, state, tower(order), heuristic=learned) for order in orders]
    assert [len(result.plan) for result in found] == [len(result.plan) for result in blind] == [4, 4, 4]
    assert sum(result.expanded for result in found) < sum(result.expanded for result in blind)
    goal = tower(orders[0])
    both = pds.plan_many(model, [state] * 2, [goal, tower(["b1", "b2"])], heuristic=learned)
    assert [len(result.plan) for result in both] == [4, 2]
    policy = pds.Policy(model, heuristic=learned)
    assert policy.act(state, goal) == ("pick-up", "b0")


def test_what_is_no_heuristic_or_one_of_another_domain_is_refused(learned, tmp_path):
    domain, episodes = demonstrations(2)
    cloned = pdsketch_paper.train_baseline("bc", domain, episodes, steps=1)
    state, goal = start(domain, ["b0", "b1"]), tower(["b0", "b1"])
    with pytest.raises(pds.Error) as refused:
        pds.plan(pds.Model(domain), state, goal, heuristic=cloned)
    assert refused.value.diagnostics[0].code == "unknown-heuristic"
    other = pds.parse_domain(domain.source.text.replace("put-down", "lay-down"))
    with pytest.raises(pds.Error) as refused:
        pds.plan(pds.Model(other), start(other, ["b0", "b1"]), goal, heuristic=learned)
    assert refused.value.diagnostics[0].code == "other-domain"
    learned.save(tmp_path / "gnn")
    with pytest.raises(pds.Error, match="does not act"):
        load_agent(tmp_path / "gnn")


def test_it_plans_from_the_command_line(learned, tmp_path, capsys):
    domain = learned.domain
    learned.save(tmp_path / "gnn")
    pds.Model(domain).save(tmp_path / "model")
    (tmp_path / "domain.pddl").write_text(domain.source.text)
    (tmp_path / "p.pddl").write_text(
        "(define (problem p) (:domain blocks) (:objects b0 b1 b2 - block) (:init (clear b0) (clear b1)"
        " (clear b2) (on-table b0) (on-table b1) (on-table b2) (hand-empty)) (:goal (on b0 b1)))"
    )
    words = [
        "plan",
        str(tmp_path / "domain.pddl"),
        str(tmp_path / "p.pddl"),
        "--model",
        str(tmp_path / "model"),
    ]
    assert main([*words, "--heuristic", f"gnn:{tmp_path / 'gnn'}", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["plan"]) == 2
    assert main([*words, "--heuristic", f"gnn:{tmp_path / 'none'}"]) == 31
    assert main([*words, "--heuristic", "gnn"]) == 2
