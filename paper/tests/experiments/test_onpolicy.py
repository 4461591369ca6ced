"""The table of on-policy learning, from runs as small as can be."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from pdsketch_paper.experiments.babyai_onpolicy import (
    ROWS,
    OnPolicyConfig,
    measure_onpolicy,
    onpolicy_plot,
    onpolicy_runs,
    onpolicy_table,
)
from pdsketch_paper.experiments.runs import in_world, sources


@pytest.mark.filterwarnings("ignore::pdsketch.search.result.UntrainedWarning")
def test_a_run_has_a_point_for_each_round_and_both_loops():
    small = OnPolicyConfig("rob", episodes=3, first=2, fit_steps=2, watched=1, problems=2, max_expansions=2)
    found = measure_onpolicy(in_world(small, objects=1, doors=1))
    assert [point["all_episodes"] for point in found["curve"]] == [2, 3]
    assert all(0 <= point["held_out"] <= 1 for point in found["curve"])
    assert found["final"].keys() == {"open", "closed"}


def test_the_table_has_a_row_for_each_kind_of_run_and_means_over_seeds(tmp_path):
    origin = {"commit": "c", "sources": sources(), "date": "d", "versions": {}}
    records = []
    for run in onpolicy_runs(range(2), quick=False):
        success = 0.5 + 0.5 * run.config.seed
        curve = [{"all_episodes": n, "all_steps": 9 * n, "held_out": success} for n in (30, 60)]
        ppo = run.name.startswith("onpolicy-ppo")
        loops = {loop: {"success": success} for loop in (("closed",) if ppo else ("open", "closed"))}
        result = {"curve": curve, "final": loops}
        records.append({"name": run.name, "config": asdict(run.config), "result": result, "origin": origin})
    table = onpolicy_table(records)
    assert [row[0] for row in table.rows] == [title for title, _ in ROWS.values()]
    assert table.head[1:3] == ("30", "60")
    assert all(row[-3:-1] == ("60 ± 0", "540 ± 0") for row in table.rows)
    assert {row[1:5] for row in table.rows[:-1]} == {("0.750 ± 0.354",) * 4}
    assert table.rows[-1][:5] == ("PPO", "–", "–", "–", "0.750 ± 0.354")  # its episodes are far more
    assert "seeds 0, 1" in table.note
    assert "PDS-Base, no subgoals: 60 random walks first, 600 training steps a round" in table.note
    onpolicy_plot(records, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
