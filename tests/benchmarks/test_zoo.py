"""The suite of small learning tasks runs, and its tasks are what they claim to be."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest


def test_the_quick_suite_writes_its_table_and_its_figures(zoo, monkeypatch, capsys, tmp_path):
    out = tmp_path / "zoo.json"
    monkeypatch.setattr(sys, "argv", ["zoo.py", "--quick", "--out", str(out)])
    zoo.main()
    printed = capsys.readouterr().out
    for name in zoo.QUICK:
        assert f"| {name} |" in printed
    found = json.loads(out.read_text())
    assert {one["way"] for one in found} == {"ours", "plain", "hand"}
    assert all(0 <= score <= 1 for one in found for score in one["scores"].values())


def test_there_are_tasks_of_every_kind_for_choosing_and_for_checking(zoo):
    tasks = zoo.TASKS.values()
    assert len(tasks) >= 40
    kinds = {task.kind for task in tasks}
    assert {"ints", "floats", "relations", "sets", "images", "gates", "quantifiers"} <= kinds
    for kind in kinds:
        halves = {task.half for task in tasks if task.kind == kind}
        assert halves == {"tune", "check"}, kind


@pytest.mark.parametrize("split", ["train", "test"])
def test_no_task_is_solved_by_saying_nothing(zoo, split):
    for task in zoo.TASKS.values():
        examples = zoo.draw(task, 200, 0, split)
        rate = zoo.keep_rate(task, examples)
        assert rate < 0.9, task.name
        again = zoo.draw(task, 200, 0, split)
        for one, other in zip(examples, again, strict=True):
            assert all(np.array_equal(one.values[name], other.values[name]) for name in one.values)
