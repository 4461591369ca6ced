"""Factored and undivided states: a table of what they cost."""

from pdsketch.search.planning import plan
from pdsketch_paper.babyai.adapter import BabyAIWorld, exact_model
from pdsketch_paper.experiments.babyai import shortest
from pdsketch_paper.experiments.babyai_factors import TITLES
from pdsketch_paper.experiments.reproduce import Request, reproduce


def test_a_shortest_plan_is_as_long_as_that_of_blind_search():
    world = BabyAIWorld(goals="hold X, face door Y")
    for seed in range(4):
        state = world.reset(seed)
        found = plan(exact_model(), state, world.goal, heuristic="blind", k=64, max_expansions=5000)
        assert found.cost == shortest(exact_model(), state, world.goal)


def test_a_quick_table_of_factors_has_a_row_for_each_kind_of_states(tmp_path):
    table = reproduce(Request("babyai-factors", tmp_path, seeds=range(1), quick=True))
    assert [row[0] for row in table.rows] == [*TITLES.values()]
    factored, undivided = table.rows
    rows = table.head.index("rules: rows")
    assert int(factored[rows].replace(",", "")) < int(undivided[rows].replace(",", ""))
    blind, guided = (table.head.index(f"expanded: {name}") for name in ("blind", "AO"))
    assert factored[-1] == "1 of 1"
    # Ten demonstrations may show too few codes of PDS-Base for its goal to be within reach.
    reached = [row for row in table.rows if row[-1] == "1 of 1"]
    assert all(int(row[guided]) < int(row[blind]) for row in reached)
