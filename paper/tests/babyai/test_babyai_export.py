"""What models of BabyAI's sketches say: their rules, and their export as PDDL."""

from __future__ import annotations

import pytest
from tests.abstract.test_export import assert_legal, optimal

import pdsketch as pds
from pdsketch.lang.steps import write_plan
from pdsketch.lang.validator import validate
from pdsketch_paper.babyai.modules import exact_modules
from pdsketch_paper.babyai.observation import load_sketch


@pytest.mark.parametrize("name", ["abs", "base"])
def test_of_models_that_saw_nothing_rules_say_that_nothing_is_known(name):
    found = pds.rules(pds.Model(load_sketch(name), seed=0))
    assert not found.left_out
    assert len(found.untrained) == len(load_sketch(name).blanks)
    nothing = [f for f in found.functions if not f.cases]
    assert {"robot-facing", "forward"} & {f.owner for f in nothing}
    assert all(f.rules == (("unknown", "otherwise"),) for f in nothing)


@pytest.mark.parametrize("seed", [0, 5])
def test_babyai_is_solved_from_the_files_and_in_minigrid(seed, tmp_path):
    world = pds.make_world("babyai", objects=2, doors=2)
    state = world.reset(seed)
    model = pds.Model(world.domain, modules=exact_modules("abs"))
    task = pds.export(model, state, world.goal, tmp_path / "export")
    assert_legal(task)
    assert not task.left_out
    assert task.objects["item-1"] == "item#1"
    found = optimal(task.problem)
    assert found.cost == pds.plan(model, state, world.goal, heuristic="blind").cost
    assert validate(task.problem, found.plan).valid
    (tmp_path / "plan").write_text(write_plan(found.plan, found.cost))
    for step in pds.read_abstract_plan(tmp_path / "export", tmp_path / "plan"):
        world.step(step)
    assert world.success
