"""The Painting Factory: physics, paint, refusals and what the simulator says of goals."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import pdsketch as pds
from pdsketch_paper.painting import simulation as simulation_module
from pdsketch_paper.painting.goals import GOALS, beside, contained, facts, holds, stacked
from pdsketch_paper.painting.layout import BOX_HALF, COLOUR_NAMES, REST, SIDE, SPAN, point, to_pose

POSES = pds.parse_domain("""(define (domain poses) (:types item container) (:constants box - container)
  (:predicates (item-pose [return_type=vector[float32, 3]] ?o - item)
    (container-pose [return_type=vector[float32, 3]] ?c - container)))""")


def code_of(refused):
    return refused.value.diagnostics[0].code


def blind_world(**options):
    """A world without pictures: they take most of the time."""
    return pds.make_world("painting", sketch=POSES, **options)


def pose_of(world, name):
    return world.observation["item-pose"][int(name.removeprefix("block#")) - 1]


def beside_pose(world, name, metres):
    return tuple((pose_of(world, name) + metres / SPAN).tolist())


def test_the_world_is_registered_and_says_what_it_is():
    assert "paint" in pds.worlds()["painting"]


def test_the_same_seed_gives_the_same_episode_and_others_others():
    worlds = [blind_world(lost_grips=0.3, placement_noise=0.01) for _ in range(2)]
    actions = [("move-into", "block#1", "bowl#1"), ("move-into", "block#2", "box")]
    seen = [[world.reset(seed=3), *(world.step(action) for action in actions)] for world in worlds]
    assert seen[0] == seen[1]
    assert worlds[0].goal == worlds[1].goal
    again = worlds[0].reset(seed=3)
    assert again == seen[0][0]
    assert [worlds[0].step(action) for action in actions] == seen[0][1:]
    assert worlds[0].reset(seed=4) != again


def test_only_bowls_paint_and_each_gives_its_own_colour():
    world = blind_world()
    world.reset(seed=1)
    before = world.simulation.colours.copy()
    world.step(("move-into", "block#1", "box"))
    world.step(("move-to", "block#2", (0.5, 0.1, 0.07)))
    assert (world.simulation.colours == before).all()
    for bowl, paint in enumerate(world.simulation.paints.copy(), 1):
        world.step(("move-into", "block#1", f"bowl#{bowl}"))
        assert world.executed
        assert world.simulation.colours[0] == paint
    assert (world.simulation.colours[1:] == before[1:]).all()


@pytest.mark.parametrize("seed", [0, 6, 9])  # in two of them, blocks in the bowl are pushed aside
def test_a_bowl_takes_five_blocks_and_no_more(seed):
    world = blind_world(blocks=7, bowls=2)
    world.reset(seed=seed)
    executed = []
    for i in range(1, 8):
        world.step(("move-into", f"block#{i}", "bowl#1"))
        executed.append(world.executed)
    assert executed[:5] == [True] * 5
    assert executed[-1] is False
    assert world.trouble == "the container is full"
    assert (world.simulation.colours == world.simulation.paints[0]).sum() >= 5
    world.step(("move-into", "block#5", "bowl#1"))  # it makes room for itself
    assert world.executed


def test_blocks_stand_on_each_other_until_they_are_put_too_far_aside():
    world = blind_world(placement_noise=0.0)
    world.reset(seed=2)
    world.step(("move-into", "block#1", "box"))
    world.step(("move-to", "block#2", beside_pose(world, "block#1", point(0, 0, SIDE))))
    assert facts(world.simulation)["on"][1, 0]
    world.step(("move-into", "block#1", "bowl#1"))
    assert not world.executed
    assert world.trouble == "another block lies on it"
    world.step(("move-to", "block#3", beside_pose(world, "block#2", point(0.03, 0, SIDE))))
    assert world.executed
    true = facts(world.simulation)
    assert not true["on"][2].any()  # it fell


def test_a_block_that_is_let_go_in_the_air_falls():
    world = blind_world(placement_noise=0.0)
    world.reset(seed=2)
    world.step(("move-to", "block#1", (0.5, 0.1, 0.9)))
    assert world.executed
    assert pose_of(world, "block#1")[2] == pytest.approx(SIDE / 2 / SPAN[2], abs=0.01)


@pytest.mark.parametrize(
    ("pose", "told"),
    [
        ((0.5, 0.5, 1.2), "out of reach"),
        ((-0.1, 0.5, 0.1), "out of reach"),
        ((float("nan"), 0.5, 0.1), "out of reach"),
        (None, "inside another block"),
    ],
)
def test_poses_that_cannot_be_taken_are_refused_and_nothing_moves(pose, told):
    world = blind_world()
    before = world.reset(seed=5)
    pose = beside_pose(world, "block#2", point(0.01, 0, 0)) if pose is None else pose
    after = world.step(("move-to", "block#1", pose))
    assert not world.executed
    assert told in world.trouble
    assert after == before
    world.step(("move-into", "block#1", "bowl#1"))
    assert world.trouble == ""


def test_a_lost_grip_is_told_and_the_block_lies_elsewhere():
    world = blind_world(lost_grips=1.0)
    world.reset(seed=5)
    before = world.simulation.positions[0]
    world.step(("move-into", "block#1", "bowl#1"))
    assert not world.executed
    assert world.trouble == "the grip was lost"
    assert not contained(world.simulation.positions, world.simulation.containers)[0, 0]
    assert np.linalg.norm(world.simulation.positions[0] - before) > 0.001


def test_placement_noise_is_of_the_size_that_is_asked_for():
    world = blind_world(placement_noise=0.02)
    off = []
    for seed in range(12):
        world.reset(seed=seed)
        world.step(("move-to", "block#1", (0.5, 0.1, 0.07)))
        off.append(world.simulation.positions[0, :2] - [0.0, -0.32])
    assert 0.01 < np.std(off) < 0.03


def test_physics_that_explodes_ends_the_episode():
    world = blind_world()
    world.reset(seed=0)
    world.simulation.data.qvel[:] = 1e9
    state = world.step(("move-into", "block#1", "bowl#1"))
    assert (world.ended, world.success, world.executed) == (True, False, False)
    assert "unstable" in world.trouble
    assert np.isfinite(state["item-pose"].numpy()).all()
    with pytest.raises(pds.Error, match="the episode is over"):
        world.step(("move-into", "block#1", "bowl#1"))
    world.reset(seed=0)
    world.step(("move-into", "block#1", "bowl#1"))
    assert world.executed


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"blocks": 0}, "from 1 to 21"),
        ({"bowls": 9}, "from 0 to 8"),
        ({"blocks": True}, "whole number"),
        ({"goals": "pear"}, "did you mean `pair`"),
        ({"images": "painted"}, "rasterised or rendered"),
        ({"placement_noise": -1}, "from 0 to 0.2"),
        ({"lost_grips": 2}, "from 0 to 1"),
        ({"light": "dim"}, "a number from 0"),
    ],
)
def test_bad_options_are_refused(options, told):
    with pytest.raises(pds.Error, match=told):
        pds.make_world("painting", **options)


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (("move-in", "block#1", "box"), "unknown-action"),
        (("move-into", "block#9", "box"), "unknown-object"),
        (("move-into", "block#1", "bowl#9"), "unknown-object"),
        (("move-into", "block#1"), "arity-mismatch"),
        (("move-to", "block#1", (0.5, 0.5)), "shape-mismatch"),
        (("move-to", "block#1", "there"), "shape-mismatch"),
    ],
)
def test_actions_that_are_none_are_told(action, code):
    world = blind_world()
    with pytest.raises(pds.Error) as refused:
        world.step(action)
    assert code_of(refused) == "not-reset"
    world.reset(seed=0)
    with pytest.raises(pds.Error) as refused:
        world.step(action)
    assert code_of(refused) == code


def test_without_mujoco_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    file = Path(simulation_module.__file__)
    spec = importlib.util.spec_from_file_location("fresh_simulation", file)
    with pytest.raises(pds.Error, match=r"pdsketch-paper\[painting\]") as refused:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert code_of(refused) == "missing-extra"


@pytest.mark.parametrize("kind", GOALS)
def test_goals_of_every_kind_are_formulas_of_the_sketch_and_do_not_hold_at_the_start(kind):
    world = pds.make_world("painting", goals=kind)
    for seed in range(3):
        state = world.reset(seed=seed)
        pds.parse_goal(world.goal, world.domain, state.universe)
        assert world.success is False
        assert not holds(world.simulation, world.goal)


def test_a_formula_can_be_the_goal():
    world = blind_world(goals="(inside block#2 bowl#1)")
    world.reset(seed=0)
    world.step(("move-into", "block#1", "bowl#1"))
    assert world.success is False
    world.step(("move-into", "block#2", "bowl#1"))
    assert world.success is True


def test_tables_that_do_not_lend_themselves_to_goals_are_told(monkeypatch):
    monkeypatch.setattr("pdsketch_paper.painting.adapter._DRAWS", 3)
    with pytest.raises(pds.Error, match="no table of 3"):
        blind_world(goals="row of three", blocks=2).reset(seed=0)
    with pytest.raises(pds.Error, match="no table of 3"):
        blind_world(goals="(and)").reset(seed=0)


def test_relations_are_what_they_are_called():
    there = point(0.0, 0.0, REST)
    at = np.stack([there, there + point(-0.07, 0, 0), there + point(0, 0, SIDE), there + point(0, 0.07, 0)])
    assert np.argwhere(beside(at)).tolist() == [[1, 0]]
    assert np.argwhere(stacked(at)).tolist() == [[2, 0]]
    assert not stacked(np.stack([there, there + point(0, 0, 2 * SIDE)])).any()
    containers = np.stack([there + point(0.4, 0, 0), there])
    assert contained(at, containers).tolist() == [[False, True], [False, True], [False, False], [False, True]]
    assert not contained(there[None] + point(BOX_HALF + 0.01, 0, 0), containers).any()
    assert (to_pose(at) >= 0).all()
    assert len(COLOUR_NAMES) == 8


def test_clutter_lies_in_the_box_and_stays_there():
    world = blind_world(blocks=23, bowls=2, clutter=2)
    world.reset(seed=0)
    inside = contained(world.simulation.positions, world.simulation.containers)[:, -1]
    assert inside.tolist() == [True] * 2 + [False] * 21
    world.simulation.pass_time(0.5)
    assert contained(world.simulation.positions, world.simulation.containers)[:2, -1].all()
    with pytest.raises(pds.Error, match="`blocks`"):
        blind_world(blocks=22)
