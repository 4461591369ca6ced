"""The tables with baselines, small."""

from __future__ import annotations

from dataclasses import asdict, replace

from pdsketch.act.rollouts import Rollouts
from pdsketch_paper.experiments import babyai_baselines as settings
from pdsketch_paper.experiments.babyai_baselines import AGENTS, baseline_runs, measure_baseline
from pdsketch_paper.experiments.babyai_nodes import (
    HEURISTICS,
    curve_runs,
    curve_table,
    expansions,
    measure_curve,
    needed,
    node_table,
)
from pdsketch_paper.experiments.babyai_tables import ALL_AGENTS, data_table, main_table
from pdsketch_paper.experiments.reproduce import EXPERIMENTS, REMARKS, Request, reproduce, write_results

ORIGIN = {"commit": "0", "date": "today", "versions": {}}


def record(run, result):
    return {"config": asdict(run.config), "result": result, "origin": ORIGIN}


def test_a_quick_agent_is_measured_the_same_twice():
    (run, *_) = baseline_runs([100], [((4, 4),)], 1, quick=True)
    config = replace(run.config, steps=3, problems=3)
    first = measure_baseline(config)
    assert set(first) == {"4+4", "notes"}
    assert first == measure_baseline(config)


def test_rows_of_baselines_stand_beside_those_of_models():
    records = []
    for run in EXPERIMENTS["babyai-data"].runs(range(2), False):
        if "kind" in run.config.__dataclass_fields__:
            value = {"success": 0.5 + run.config.seed / 4}
            records.append(record(run, {f"{a}+{b}": value for a, b in run.config.rooms}))
        else:
            loops = {loop: {"success": 1.0} for loop in ("open", "closed")}
            records.append(record(run, {f"{a}+{b}": loops for a, b in run.config.rooms}))
    rows = {row[0]: row for row in data_table(records).rows if row[1] == ""}
    assert set(rows) == set(AGENTS.values())
    assert rows["BC"][2:] == ("0.625 ± 0.125",) * 3
    largest = [r for r in records if "8+6" in r["result"]]
    table = main_table(largest)
    assert [row[0] for row in table.rows] == [*ALL_AGENTS.values(), "PDS-Base", "PDS-Abs", "PDS-Rob"]
    assert table.rows[0][1:5] == ("", "0.625 ± 0.125", "", "0.625 ± 0.125")


def test_expansions_that_are_needed():
    assert needed([3, 1, None, 2], 0.5) == 2
    assert needed([3, 1, None, 2], 0.75) == 3
    assert needed([3, 1, None, 2], 0.8) is None
    assert needed([5] * 9 + [7], 0.9) == 5


def test_plans_that_fail_do_not_count():
    done = Rollouts((), (), (True, False, None), tuple({"expanded": float(n)} for n in (3, 4, 5)), 0.0)
    assert expansions(done) == [3, None, None]


def test_ratios_are_to_ao():
    counts = {"blind": [100] * 10, "gnn": [50] * 10, "opt": [20] * 10, "ao": [5] * 8 + [None] * 2}
    (run,) = EXPERIMENTS["babyai-nodes"].runs(range(1), False)
    table = node_table([record(run, {"error": 0.1, "4+4": counts})])
    assert [row[1] for row in table.rows] == [*HEURISTICS.values()]
    assert [row[-1] for row in table.rows] == ["20.0", "10.0", "4.0", "1.0"]
    assert table.rows[-1][2:7] == ("0.800", "5", "5", "–", "–")


def test_quick_nodes_have_a_row_for_each_heuristic_and_are_made_once(tmp_path):
    request = Request("babyai-nodes", tmp_path, seeds=range(1), quick=True)
    table = reproduce(request)
    assert [row[1] for row in table.rows] == [*HEURISTICS.values()]
    files = {path.name: path.stat().st_mtime_ns for path in request.runs.iterdir()}
    assert reproduce(request) == table  # from the file of the run
    assert files == {path.name: path.stat().st_mtime_ns for path in request.runs.iterdir()}
    assert (request.place / "babyai-nodes.png").stat().st_size > 0


def test_a_curve_has_a_point_for_each_measurement():
    run = curve_runs(1, quick=True)[1]
    found = measure_curve(run.config)
    assert [point["step"] for point in found["points"]] == [5, 10]
    table = curve_table([record(run, found)])
    (row,) = [row for row in table.rows if row[2] != "–"]
    assert row[:2] == ("1 object", "PDS-Abs")
    assert all(0.0 <= float(cell) <= 1.0 for cell in row[2:])


def test_the_page_says_where_the_paper_contradicts_itself(tmp_path):
    (tmp_path / "babyai-data.md").write_text("## a table\n")
    assert write_results(tmp_path, tmp_path / "page.md") == ["babyai-data"]
    page = (tmp_path / "page.md").read_text()
    assert page.index("## a table") < page.index("contradicts itself")
    assert set(REMARKS) <= set(EXPERIMENTS)


def test_settings_are_tried_on_problems_of_no_table(tmp_path):
    table = reproduce(Request("babyai-settings", tmp_path, quick=True))
    assert len(table.rows) == len(settings.CLONE_SETTINGS) * len(settings.SETTING_SIZES)
    assert "temperature 0.5" in table.markdown()
    used = {
        run.config.seed
        for run in EXPERIMENTS["babyai-data"].runs(range(3), False)
        if hasattr(run.config, "seed")
    }
    assert settings.SEED not in used


def test_every_agent_has_as_many_settings_tried(tmp_path):
    assert len(settings.CLONE_SETTINGS) == len(settings.DREAMER_SETTINGS) == len(settings.PPO_SETTINGS)
    table = reproduce(Request("babyai-settings-dreamer", tmp_path, quick=True))
    assert [row[1:3] for row in table.rows] == [("0.001", "1"), ("0.002", "1"), ("0.002", "10")] * 2
    assert "settings of a Dreamer" in table.title
    seeds = {run.config.seed for run in settings.ppo_settings_runs(False)}
    assert seeds == {settings.SEED}
    curve = [{"all_steps": 2048, "held_out": 0.25}, {"all_steps": 4096, "held_out": 0.5}]
    found = settings.ppo_settings_table(
        [record(run, {"curve": curve}) for run in settings.ppo_settings_runs(False)]
    )
    assert found.head[2:] == ("2,048", "4,096")
    assert found.rows[1] == ("0.0003", "0.01", "0.250", "0.500")
