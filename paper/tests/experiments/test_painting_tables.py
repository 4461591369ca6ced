"""The tables of the Painting Factory: their runs, their rows, and one small run from data to success."""

from dataclasses import asdict, replace

import pytest

from pdsketch.cli.main import main
from pdsketch.tensor.model import Model
from pdsketch_paper.experiments.painting import new_painting_model
from pdsketch_paper.experiments.painting_tables import (
    EXPERIMENTS,
    LOST_GRIPS,
    METHODS,
    PAPER_UNSEEN,
    PLACEMENT_NOISES,
    PROBLEMS,
    SIZES,
    UNSEEN,
    PaintingConfig,
    PaintingSearch,
    PaintingTraining,
    image_runs,
    main_runs,
    measure,
    noise_runs,
    unseen_runs,
)
from pdsketch_paper.experiments.runs import in_world, sources
from pdsketch_paper.painting.adapter import load_sketch
from pdsketch_paper.painting.goals import GOALS, PAIR
from pdsketch_paper.painting.modules import exact_modules

LOOPS = {
    loop: {"success": 0.5, "planned": 1.0, "steps": 4.0, "replans": 1.0, "expanded": 9.0}
    for loop in ("open", "closed")
}
ORIGIN = {"commit": "c", "sources": sources(), "date": "d", "versions": {}}


def record_of(run):
    config = asdict(run.config)
    result = {"success": 0.25} if "kind" in config else dict.fromkeys(config["goals"], LOOPS)
    return {"config": config, "result": result, "origin": ORIGIN}


def records_of(runs):
    return [record_of(run) for run in runs]


@pytest.mark.parametrize("name", sorted(EXPERIMENTS.keys() - {"painting-light"}))
def test_a_quick_table_says_how_little_was_run(name, tmp_path):
    experiment = EXPERIMENTS[name]
    records = records_of(experiment.runs(range(1), True))
    table = experiment.table(records)
    assert "at most 4 expansions" in table.note
    assert "1 held-out tables" in table.note
    assert "1,000" not in table.note
    assert all(len(row) == len(table.head) for row in table.rows)
    if experiment.plot is not None:
        experiment.plot(records, tmp_path / "plot.png")
        assert (tmp_path / "plot.png").stat().st_size > 1000


def test_colours_that_a_model_reads_off_crops_are_counted(monkeypatch):
    run, *_ = EXPERIMENTS["painting-light"].runs(range(1), True)
    config = replace(run.config, lights=(0.0, 0.3))
    found = {}
    for name, model in (
        ("exact", Model(load_sketch(), modules=exact_modules())),
        ("untrained", new_painting_model(0)),
    ):
        trained = (model, None)
        monkeypatch.setattr("pdsketch_paper.experiments.painting.train_painting", lambda _, t=trained: t)
        found[name] = run.function(config)
    assert found["exact"] == {key: {"crops": 8, "agreement": 1.0} for key in ("0", "0.3")}
    assert all(light["agreement"] < 0.5 for light in found["untrained"].values())
    record = {"config": asdict(config), "result": found["exact"], "origin": ORIGIN}
    table = EXPERIMENTS["painting-light"].table([record])
    assert table.rows == (("± 0%", "1.000", "–"), ("± 30%", "1.000", "–"))
    assert "from 4 demonstrations" in table.note


def test_names_of_goals_are_those_of_the_world():
    assert (PAIR, *UNSEEN) == tuple(GOALS)
    assert PAPER_UNSEEN.keys() == set(UNSEEN)


def test_a_full_table_stands_beside_the_papers():
    runs = main_runs(range(2), False)
    trained = [run.config.train for run in runs if isinstance(run.config, PaintingConfig)]
    wanted = [(size, seed) for size in SIZES for _ in METHODS for seed in range(2)]
    assert [(train.episodes, train.seed) for train in trained] == wanted
    rows = {row[0]: row[1:] for row in EXPERIMENTS["painting-main"].table(records_of(runs)).rows}
    for title, _ in METHODS.values():
        assert rows[f"{title}, open loop"] == ("0.500 ± 0.000, worst 0.500",) * 3
    assert rows["BC"] == rows["BC, told what the models are"] == ("0.250 ± 0.000, worst 0.250",) * 3
    assert rows["PDS (paper, open loop)"] == ("–", "0.91", "0.99")
    assert rows["BC (paper)"] == ("–", "0.70", "0.95")


def test_each_table_asks_for_its_own_kinds_of_goals_alone():
    runs = unseen_runs(range(3), False)
    assert [run.config.goals for run in runs] == [UNSEEN] * 3
    assert {(run.config.problems, run.config.tried_in()["blocks"]) for run in runs} == {(PROBLEMS, 5)}
    images = [run.config.tried_in()["images"] for run in image_runs(range(1), False)]
    assert images == ["rasterised", "rendered"]


def test_every_setting_of_noise_is_a_run_and_a_row():
    runs = noise_runs(range(1), False)
    settings = {(run.config.placement_noise, run.config.lost_grips) for run in runs}
    assert settings == {(placement, lost) for placement in PLACEMENT_NOISES for lost in LOST_GRIPS}
    assert (0.03, 0.15) in settings
    records = records_of(runs)
    worse = {loop: {**LOOPS[loop], "success": 0.0} for loop in LOOPS}
    records[-1]["result"] = dict.fromkeys(records[-1]["result"], worse)
    rows = EXPERIMENTS["painting-noise"].table(records).rows
    assert rows[-1][:4] == ("3 cm", "15%", "0.000", "0.000")
    assert {row[2] for row in rows[:-1]} == {"0.500"}


def test_a_world_option_is_one_of_the_tables_own_world(tmp_path, capsys):
    words = ["reproduce", "painting-main", "--world-option", "doors=1", "-o", str(tmp_path)]
    assert main(words) == 31
    assert "no world option `doors`" in capsys.readouterr().err
    for run in main_runs(range(1), True):
        config = in_world(run.config, blocks=2)
        assert getattr(config, "train", config).blocks == 2
    fewer = in_world(PaintingConfig(PaintingTraining(), (PAIR,), 1), blocks=2)
    assert fewer.tried_in()["blocks"] == 2


def test_a_run_trains_plans_and_acts():
    train = PaintingTraining(episodes=2, steps=2, batch=8, blocks=2, bowls=2)
    config = PaintingConfig(train, (PAIR,), 1, PaintingSearch(max_expansions=2))
    found = measure(config)
    assert set(found) == {PAIR}
    for loop in ("open", "closed"):
        assert 0.0 <= found[PAIR][loop]["success"] <= 1.0
    unseen = measure(replace(config, goals=UNSEEN, blocks=3, bowls=3, lost_grips=0.5))
    assert list(unseen) == list(UNSEEN)


@pytest.mark.parametrize("kind", ["bc", "dt-s"])
def test_agents_are_trained_from_the_same_episodes_and_act(kind):
    run = next(run for run in main_runs(range(1), True) if run.name.startswith(f"painting-{kind}"))
    found = run.function(replace(run.config, blocks=2, bowls=2, episodes=3, steps=2))
    assert 0.0 <= found["success"] <= 1.0
    assert found["notes"]["episodes"] == 3
