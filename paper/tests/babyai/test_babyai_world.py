import gymnasium
import numpy as np
import pytest

from pdsketch.lang.diagnostics import Error
from pdsketch_paper.babyai.data import (
    DROP,
    FORWARD,
    PICKUP,
    RIGHT,
    TOGGLE,
    DataConfig,
    demonstrate,
    demonstrations,
    path_to_face,
    solve,
)
from pdsketch_paper.babyai.goals import mission_goal
from pdsketch_paper.babyai.observation import GONE, HELD, look, observe
from pdsketch_paper.babyai.world import SETTINGS, ActionObjDoor, make, problem_seed, register


def face(env, item):
    for action in path_to_face(env, [tuple(map(int, item.cur_pos))]):
        env.step(action)


def room_with(kind, **settings):
    """A room in which something of the kind can be approached at once."""
    env = ActionObjDoor(**settings)
    for seed in range(100):
        env.reset(seed=seed)
        for item in env.room.objs:
            if item.type == kind and path_to_face(env, [item.cur_pos]) is not None:
                return env, item
    raise AssertionError(f"no {kind} within reach in 100 rooms")


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_registered_and_hold_what_they_say(name):
    register()
    env = gymnasium.make(name)
    for seed in range(5):
        env.reset(seed=seed)
        kinds = [item.type for item in look(env.unwrapped).items]
        assert kinds.count("door") == SETTINGS[name]["doors"]
        assert len(kinds) == sum(SETTINGS[name].values())
        assert tuple(env.unwrapped.agent_pos) == (4, 4)
        env.step(FORWARD)
    env.close()


@pytest.mark.parametrize("setting", [(4, 4), (8, 6), (1, 0), (0, 1)])
def test_expert_succeeds_at_its_last_step_and_not_before(setting):
    env = ActionObjDoor(*setting)
    for index in range(150):
        env.reset(seed=problem_seed(7, index))
        plan = solve(env)
        assert plan, "the start never satisfies the mission, and the target can be reached"
        ends = [env.step(action)[2] for action in plan]
        assert ends == [False] * (len(plan) - 1) + [True]


def test_walking_out_of_a_door_does_not_crash():
    env, door = room_with("door")
    face(env, door)
    env.step(TOGGLE)
    env.step(FORWARD)
    assert tuple(map(int, env.agent_pos)) == tuple(door.cur_pos)
    for action in (FORWARD, RIGHT, FORWARD, DROP, PICKUP, TOGGLE) * 4:
        env.step(action)


def test_a_toggled_box_is_kept_as_gone():
    env, box = room_with("box")
    scene = look(env)
    face(env, box)
    env.step(TOGGLE)
    after = observe(env, scene)
    index = scene.items.index(box)
    assert tuple(after.item_pose[index]) == GONE
    assert len(after.item_pose) == len(scene.items)


def test_a_carried_object_is_held_and_can_be_put_elsewhere():
    env, ball = room_with("ball")
    scene = look(env)
    index = scene.items.index(ball)
    face(env, ball)
    env.step(PICKUP)
    assert tuple(observe(env, scene).item_pose[index]) == HELD
    where = tuple(env.front_pos - np.array(scene.top))
    env.step(DROP)
    assert tuple(observe(env, scene).item_pose[index]) == where


def test_the_verifier_follows_a_dropped_object():
    for seed in range(300):
        env = ActionObjDoor(objects=2, doors=0)
        env.reset(seed=seed)
        target = env.instrs.desc.obj_set[0]
        if type(env.instrs).__name__ != "GoToInstr" or target.type == "box":
            continue
        face(env, target)
        for action in (PICKUP, RIGHT, DROP):
            env.step(action)
        if env.carrying is None:
            positions = [tuple(map(int, pos)) for pos in env.instrs.desc.obj_poss]
            assert tuple(map(int, target.cur_pos)) in positions
            return
    raise AssertionError("no room allowed the test")


def test_walls_listed_are_those_that_can_be_faced():
    env = ActionObjDoor()
    env.reset(seed=3)
    scene = look(env)
    cells = {tuple(map(int, pose)) for pose in scene.wall_pose}
    doors = {(x - 1, y - 1) for x, y in (d.cur_pos for d in scene.items if d.type == "door")}
    border = {(x, y) for x in range(7) for y in range(7) if x in (0, 6) or y in (0, 6)}
    corners = {(0, 0), (0, 6), (6, 0), (6, 6)}
    assert border - doors - corners <= cells
    assert not cells & doors


def test_same_seed_same_data_and_other_seed_other_data():
    config = DataConfig(20, seed=3)
    once, twice = list(demonstrations(config)), list(demonstrations(config))
    for a, b in zip(once, twice, strict=True):
        assert (a.actions, a.goal, a.success) == (b.actions, b.goal, b.success)
        assert np.array_equal(a.states.item_pose, b.states.item_pose)
        assert np.array_equal(a.states.item_code, b.states.item_code)
    other = list(demonstrations(DataConfig(20, seed=4)))
    assert [e.actions for e in other] != [e.actions for e in once]
    held_out = list(demonstrations(DataConfig(20, seed=3, split="test")))
    assert [e.actions for e in held_out] != [e.actions for e in once]


def test_episodes_end_at_their_first_success():
    for episode in demonstrations(DataConfig(150, seed=1, failures=1.0)):
        assert not any(episode.success[:-1])
        assert len(episode.success) == len(episode.states.item_pose) == len(episode.actions) + 1


def test_failures_are_as_many_as_asked_for():
    env = ActionObjDoor()
    assert all(demonstrate(env, seed, failures=0.0).success[-1] for seed in range(50))
    failed = sum(not demonstrate(env, seed, failures=1.0).success[-1] for seed in range(50))
    assert failed >= 40  # random steps succeed now and then


STOCK = ["ActionObjDoor", "GoToLocal", "GoToRedBall", "GoToObj", "PickupDist", "OpenDoor", "GoToDoor"]


@pytest.mark.parametrize("level", STOCK)
def test_stock_levels_are_observed_and_solved_by_the_same_code(level, capsys):
    env = make(f"BabyAI-{level}-v0")
    for seed in range(5):
        env.reset(seed=seed)
        scene = look(env)
        assert mission_goal(env, scene).startswith("(exists (?o - item)")
        seen = observe(env, scene)
        assert (seen.item_pose >= 0).all()
        assert (seen.robot_pose > 0).all()
        plan = solve(env)
        if plan:
            assert [env.step(action)[2] for action in plan][-1]
    env.close()


def test_a_mission_that_is_no_state_condition_is_refused():
    env = make("BabyAI-PutNextLocal-v0")
    env.reset(seed=0)
    with pytest.raises(Error, match="PutNextInstr"):
        mission_goal(env, look(env))


def test_impossible_rooms_are_refused():
    with pytest.raises(ValueError, match="room holds"):
        ActionObjDoor(objects=40)
    with pytest.raises(ValueError, match="needs an object or a door"):
        ActionObjDoor(objects=0, doors=0)
