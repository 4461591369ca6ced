"""The tables with baselines, small."""

from __future__ import annotations

from dataclasses import asdict, replace

from pdsketch.act.rollouts import Rollouts
from pdsketch_paper.experiments.babyai_baselines import AGENTS, agent_runs, measure_agent
from pdsketch_paper.experiments.babyai_curves import curve_runs, curve_table, measure_curve
from pdsketch_paper.experiments.babyai_tables import METHODS, data_table, main_table
from pdsketch_paper.experiments.nodes import HEURISTICS, expansions, needed, node_table
from pdsketch_paper.experiments.reproduce import EXPERIMENTS, REMARKS, Request, reproduce, write_results
from pdsketch_paper.experiments.runs import sources

ORIGIN = {"commit": "0", "sources": sources(), "date": "today", "versions": {}}


def record(run, result):
    return {"config": asdict(run.config), "result": result, "origin": ORIGIN}


def test_a_quick_agent_is_measured_the_same_twice():
    (run, *_) = agent_runs([100], [((4, 4),)], range(1), quick=True)
    config = replace(run.config, steps=3, problems=3)
    first = measure_agent(config)
    assert set(first) == {"4+4", "notes", "device"}
    assert first == measure_agent(config)


def test_rows_of_baselines_stand_beside_those_of_models():
    records = []
    for run in EXPERIMENTS["babyai-data"].runs(range(2), False):
        if "kind" in run.config.__dataclass_fields__:
            value = {"success": 0.5 + run.config.seed / 4}
            records.append(record(run, {f"{a}+{b}": value for a, b in run.config.rooms}))
        else:
            loops = {loop: {"success": 1.0} for loop in ("open", "closed")}
            records.append(record(run, {f"{a}+{b}": loops for a, b in run.config.rooms}))
    rows = {row[0]: row for row in data_table(records).rows if row[1:3] == ("ours", "closed")}
    assert rows.keys() == {*AGENTS.values(), "PDS-Base", "PDS-Abs", "PDS-Rob"}
    assert rows["BC"][3:] == ("–", *["0.625 ± 0.177, worst 0.500"] * 3)
    largest = [r for r in records if "8+6" in r["result"]]
    table = main_table(largest)
    kinds = {title: [row[1] for row in table.rows if row[0] == title] for title, *_ in table.rows}
    assert kinds["PDS-Abs"] == [*METHODS, "paper"]
    assert kinds["BC"] == ["ours", "paper"]
    assert table.rows[0][2:] == ("", "0.625 ± 0.177, worst 0.500") * 2
    assert table.rows[1] == ("BC", "paper", "", "0.93", "", "0.79")
    assert table.rows[-1] == ("PDS-Rob", "paper", "1.00", "", "1.00", "")


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
    counts["goalorder"] = counts["opt"]
    (run,) = EXPERIMENTS["babyai-nodes"].runs(range(1), False)
    measured = {name: {"expansions": some, "seconds": 0.25} for name, some in counts.items()}
    table = node_table([record(run, {"error": 0.1, "4+4": measured})])
    assert [row[1] for row in table.rows] == [*HEURISTICS.values()]
    assert [row[-2:] for row in table.rows] == [(n, "0.250") for n in ("20.0", "10.0", "4.0", "1.0", "4.0")]
    assert table.rows[-2][2:7] == ("0.800", "5", "5", "–", "–")


def test_quick_nodes_have_a_row_for_each_heuristic_and_are_made_once(tmp_path):
    request = Request("babyai-nodes", tmp_path, seeds=range(1), quick=True)
    table = reproduce(request)
    assert [row[1] for row in table.rows] == [*HEURISTICS.values()]
    files = {path.name: path.stat().st_mtime_ns for path in request.runs.iterdir()}
    assert reproduce(request) == table  # from the file of the run
    assert files == {path.name: path.stat().st_mtime_ns for path in request.runs.iterdir()}
    assert (request.place / "babyai-nodes.png").stat().st_size > 0


def test_a_curve_has_a_point_for_each_measurement():
    run = curve_runs(range(1), quick=True)[1]
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
