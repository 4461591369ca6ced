"""The commands of the BabyAI experiments, small: resumable, parallel, and the same twice."""

import json

import pytest

from pdsketch.cli.main import main
from pdsketch.lang.diagnostics import Error
from pdsketch.search.planning import plan
from pdsketch.tensor.model import Model
from pdsketch.training.data.files import load_episodes
from pdsketch_paper.babyai.adapter import STOCK_LEVELS, BabyAIWorld, exact_model
from pdsketch_paper.babyai.modules import exact_modules
from pdsketch_paper.babyai.observation import load_sketch
from pdsketch_paper.experiments.babyai import (
    SearchConfig,
    TrainConfig,
    both_loops,
    held_out,
    stock_seeds,
    unseen_seeds,
)
from pdsketch_paper.experiments.babyai_tables import EXPERIMENTS
from pdsketch_paper.experiments.reproduce import Request, reproduce, write_results
from pdsketch_paper.experiments.runs import ExperimentRun, run_all
from pdsketch_paper.experiments.tables import spread


@pytest.mark.parametrize("sketch", ["abs", "rob", "base"])
@pytest.mark.parametrize("room", [(4, 4), (8, 6)])
def test_exact_modules_solve_every_problem_within_the_limit(sketch, room):
    model = Model(load_sketch(sketch), modules=exact_modules(sketch))
    objects, doors = room
    measured = both_loops(model, held_out(6), SearchConfig(), objects=objects, doors=doors)["open"]
    assert measured["success"] == measured["planned"] == 1.0


def test_exact_modules_need_no_replanning():
    loops = both_loops(exact_model(), held_out(6), SearchConfig())
    assert loops["open"]["success"] == loops["closed"]["success"] == 1.0
    assert loops["open"]["steps"] == loops["closed"]["steps"]
    assert loops["closed"]["replans"] == 0.0


@pytest.mark.parametrize("level", STOCK_LEVELS)
def test_exact_modules_solve_stock_levels(level):
    search = SearchConfig(max_expansions=3000)
    loops = both_loops(exact_model(), stock_seeds(level, 2, 0), search, level=level)
    assert loops["open"]["success"] == 1.0


def test_unseen_problems_are_unseen_and_unsolved():
    seeds = unseen_seeds("all doors open", 3, 0)
    assert len(seeds) == 3
    world = BabyAIWorld(goals="all doors open")
    for seed in seeds:
        assert world.fits(seed)
        assert "forall" in world.goal


def test_within_a_limit_a_plan_over_all_doors_is_found_where_astar_alone_takes_longer():
    world = BabyAIWorld(goals="all doors open")
    state = world.reset(0)
    options = {"search": "astar", "heuristic": "blind", "k": 16}
    assert not plan(exact_model(), state, world.goal, max_expansions=500, **options).solved
    result = plan(exact_model(), state, world.goal, max_expansions=500)
    assert result.solved
    assert [stage.name for stage in result.stages] == ["rules"]


def test_data_are_written_and_read_back(tmp_path, capsys):
    command = ["data", "babyai", "--episodes", "5", "--seed", "3", "-o", str(tmp_path / "data"), "--json"]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    for sketch in ("rob", "abs"):  # one data set serves both
        columns = load_episodes(tmp_path / "data", load_sketch(sketch))
        assert len(columns) == told["episodes"] == 5
        assert int(columns.length.sum()) == told["states"]


def test_data_that_cannot_be_are_refused(tmp_path, capsys):
    assert main(["data", "babyai", "--objects", "99", "-o", str(tmp_path)]) == 31
    assert "bad-setting" in capsys.readouterr().err
    assert main(["data", "babyai", "--episodes", "0", "-o", str(tmp_path)]) == 2


def double(config):
    return {"twice": 2 * config.episodes}


def test_finished_runs_are_skipped_and_kept(tmp_path):
    runs = [ExperimentRun(f"n{n}", double, TrainConfig(episodes=n)) for n in (1, 2)]
    first = run_all(runs[:1], tmp_path)
    said = []
    both = run_all(runs, tmp_path, say=said.append)
    assert both[0] == first[0]
    assert [one["result"]["twice"] for one in both] == [2, 4]
    assert said[0] == "1 of 2 runs are finished already"


def test_an_unknown_table_is_refused_with_the_names(tmp_path):
    with pytest.raises(Error, match="babyai-main"):
        reproduce(Request("babyai-mian", tmp_path))


def test_a_quick_table_is_the_same_twice(tmp_path):
    request = [Request("babyai-words", tmp_path / name, seeds=range(1), quick=True) for name in "ab"]
    first, second = (reproduce(one) for one in request)
    assert first.rows == second.rows
    assert first.below == second.below
    assert [row[0] for row in first.rows] == ["PDS-Rob", "PDS-Rob", "PDS-Abs", "PDS-Abs"]
    assert all(int(row[5]) > 0 for row in first.rows)
    assert write_results(tmp_path / "a" / "quick", tmp_path / "page.md") == ["babyai-words"]
    assert "babyai-words" in (tmp_path / "page.md").read_text()


def test_every_table_names_different_runs():
    for experiment in EXPERIMENTS.values():
        keys = [run.key for run in experiment.runs(range(2), False)]
        assert len(set(keys)) == len(keys)


def test_spread_says_the_deviation_only_of_several():
    assert spread([0.5]) == "0.500"
    assert spread([0.0, 1.0], 2) == "0.50 ± 0.71"


def test_the_quick_demo_writes_its_page_and_film(tmp_path, capsys):
    assert main(["demo", "--quick", "-o", str(tmp_path / "demo"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"]
    for name in ("index.html", "agent.gif", "curve.svg"):
        assert (tmp_path / "demo" / name).stat().st_size > 0
