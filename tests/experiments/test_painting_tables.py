"""The tables of the Painting Factory: their runs, their rows, and one small run from data to success."""

from dataclasses import asdict

import pytest

from pdsketch.cli.main import main
from pdsketch.envs.painting.goals import UNSEEN
from pdsketch.experiments.painting_config import PaintingConfig, PaintingSearch, PaintingTraining
from pdsketch.experiments.painting_tables import (
    EXPERIMENTS,
    PAPER_UNSEEN,
    PROBLEMS,
    UNSEEN_PROBLEMS,
    main_runs,
    measure,
    unseen_runs,
)

LOOPS = {
    loop: {"success": 0.5, "planned": 1.0, "steps": 4.0, "replans": 1.0, "expanded": 9.0}
    for loop in ("open", "closed")
}
ORIGIN = {"commit": "c", "date": "d", "versions": {}}


def records_of(runs):
    result = {"pair": LOOPS, "unseen": dict.fromkeys(UNSEEN, LOOPS)}
    return [{"config": asdict(run.config), "result": result, "origin": ORIGIN} for run in runs]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_quick_table_says_how_little_was_run(name):
    experiment = EXPERIMENTS[name]
    table = experiment.table(records_of(experiment.runs(1, True)))
    assert "at most 4 expansions" in table.note
    assert "1,000" not in table.note
    assert all(len(row) == len(table.head) for row in table.rows)


def test_a_full_table_stands_beside_the_papers():
    runs = main_runs(2, False)
    assert [(run.config.train.episodes, run.config.train.seed) for run in runs] == [
        (100, 0),
        (100, 1),
        (1000, 0),
        (1000, 1),
    ]
    rows = EXPERIMENTS["painting-main"].table(records_of(runs)).rows
    assert rows[0] == ("PDS, open loop", "0.500 ± 0.000", "0.500 ± 0.000")
    assert rows[2] == ("PDS (paper, open loop)", "0.91", "0.99")
    assert PAPER_UNSEEN.keys() == set(UNSEEN)


def test_each_table_asks_for_its_own_kinds_of_goals_alone():
    assert {(run.config.problems, run.config.unseen) for run in main_runs(3, False)} == {(PROBLEMS, 0)}
    assert {(run.config.problems, run.config.unseen) for run in unseen_runs(3, False)} == {
        (0, UNSEEN_PROBLEMS)
    }


def test_a_world_option_is_one_of_the_tables_own_world(tmp_path, capsys):
    words = ["reproduce", "painting-main", "--world-option", "doors=1", "-o", str(tmp_path)]
    assert main(words) == 31
    assert "no world option `doors`" in capsys.readouterr().err
    fewer = PaintingConfig(PaintingTraining()).in_world(blocks=2)
    assert fewer.train.blocks == 2


def test_a_run_trains_plans_and_acts():
    train = PaintingTraining(episodes=2, steps=2, batch=8, blocks=2, bowls=2)
    search = PaintingSearch(max_expansions=2)
    found = measure(PaintingConfig(train, search, problems=1))
    assert set(found) == {"pair"}
    for loop in ("open", "closed"):
        assert 0.0 <= found["pair"][loop]["success"] <= 1.0
    unseen = measure(PaintingConfig(train, search, unseen=1, unseen_blocks=3, unseen_bowls=3))
    assert list(unseen["unseen"]) == list(UNSEEN)
