"""Factored and undivided states: the same transitions, and a table of what they cost."""

import random

import torch

from pdsketch.search.planning import plan
from pdsketch_paper.babyai.adapter import BabyAIWorld, exact_model
from pdsketch_paper.experiments.babyai import shortest
from pdsketch_paper.experiments.babyai_factors import TITLES, holistic_model, joined
from pdsketch_paper.experiments.reproduce import Request, reproduce


def test_undivided_states_go_where_factored_ones_go():
    world, rng = BabyAIWorld(objects=6, doors=3), random.Random(0)
    whole, parts = holistic_model(), exact_model()
    reached = set()
    for seed in range(4):
        state = world.reset(seed)
        for _ in range(60):
            step = (rng.choice(["lturn", "rturn", "forward", "forward", "pickup", "drop", "toggle"]), "agent")
            after = parts.step(state, step, crisp=True)
            found = whole.step(joined(state), step, crisp=True)
            for name in ("robot-state", "thing-state"):
                assert torch.allclose(found[name], joined(after)[name]), step
            if not torch.equal(joined(after)["thing-state"], joined(state)["thing-state"]):
                reached.add(step[0])
            assert bool(whole.holds(found, world.goal)) == bool(parts.holds(after, world.goal))
            state = after
    assert reached == {"pickup", "drop", "toggle"}


def test_a_shortest_plan_is_as_long_as_that_of_blind_search():
    world = BabyAIWorld(goals="hold X, face door Y")
    for seed in range(4):
        state = world.reset(seed)
        found = plan(exact_model(), state, world.goal, heuristic="blind", k=64, max_expansions=5000)
        assert found.cost == shortest(exact_model(), state, world.goal)


def test_a_quick_table_of_factors_has_a_row_for_each_kind_of_states(tmp_path):
    table = reproduce(Request("babyai-factors", tmp_path, seeds=range(1), quick=True))
    assert [row[0] for row in table.rows] == [*TITLES.values()]
    factored, undivided, *_ = table.rows
    rows = table.head.index("rules: rows")
    assert int(factored[rows].replace(",", "")) < int(undivided[rows].replace(",", ""))
    blind, guided = (table.head.index(f"expanded: {name}") for name in ("blind", "AO"))
    assert all(int(row[guided]) < int(row[blind]) for row in table.rows)
