"""Rules of the BabyAI experiments: which problems, how acting ends, what is counted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.envs.test_babyai_world import room_with

import pdsketch as pds
from pdsketch.envs.babyai.expert import FORWARD, path_to_face
from pdsketch.envs.babyai.modules import exact_modules
from pdsketch.envs.babyai.observation import look, observe
from pdsketch.envs.babyai.states import load_sketch
from pdsketch.envs.babyai.unseen import UNSEEN, colour_in_hand
from pdsketch.envs.babyai.world import ActionObjDoor, problem_seed
from pdsketch.experiments import babyai
from pdsketch.experiments.babyai import (
    MOST_STEPS,
    SearchConfig,
    TrainConfig,
    Trial,
    agrees,
    closed_loop,
    follow,
)
from pdsketch.experiments.babyai_checks import (
    exact_model,
    measure_transitions,
    total_agreement,
    unseen_trials,
)
from pdsketch.experiments.runs import Run


def test_no_two_problems_share_a_seed():
    seeds = [problem_seed(s, i, split) for s in range(6) for i in range(6) for split in ("train", "test")]
    assert len(set(seeds)) == len(seeds)


def test_held_out_problems_are_not_those_of_training():
    for index, trial in enumerate(babyai.held_out(4, 4, 4)):
        env = ActionObjDoor(4, 4)
        env.reset(seed=problem_seed(0, index, "train"))
        ours, theirs = observe(trial.env, trial.scene), observe(env, look(env))
        assert not np.array_equal(ours.item_pose, theirs.item_pose)


def test_the_expert_walks_through_open_doors_alone():
    env, door = room_with("door", objects=0, doors=1)
    x, y = map(int, door.cur_pos)
    beyond = (x + (x == 7) - (x == 1), y + (y == 7) - (y == 1))
    assert path_to_face(env, [beyond]) is None
    door.is_open = True
    assert path_to_face(env, [beyond])[-1] == FORWARD


def test_the_expert_takes_a_shortest_path():
    env = ActionObjDoor(objects=1, doors=0)
    env.reset(seed=0)
    env.grid.set(*env.room.objs[0].cur_pos, None)
    ahead = np.array(env.dir_vec)
    front, behind = (tuple(map(int, env.agent_pos + step * ahead)) for step in (2, -2))
    assert path_to_face(env, [front]) == [FORWARD]
    assert len(path_to_face(env, [behind])) == 3


def test_what_is_asked_for_can_be_carried_and_is_the_only_one_of_its_colour():
    things = [("door", "red"), ("key", "green"), ("ball", "green"), ("box", "blue"), ("door", "grey")]
    for seed in range(8):
        goal = colour_in_hand(things, np.random.default_rng(seed))
        assert goal is not None
        assert "is-blue" in goal


def test_runs_of_different_settings_have_different_files():
    keys = [Run("same", "m:f", TrainConfig(episodes=n, seed=s)).key for n in (1, 2) for s in (0, 1)]
    assert len(set(keys)) == 4
    assert Run("same", "m:f", TrainConfig(episodes=1)).key == Run("same", "m:f", TrainConfig(episodes=1)).key


class Still:
    """A room in which nothing happens."""

    def step(self, _):
        return None, 0.0, False, False, {}


def test_acting_ends_after_so_many_steps():
    trial = Trial(Still(), None, "")
    for _ in range(MOST_STEPS):
        assert trial.active
        trial.act("lturn")
    assert not trial.active


def test_a_problem_without_a_plan_has_failed():
    trial = Trial(Still(), None, "")
    follow(None, trial, ())
    assert not trial.active


def lazy_model() -> pds.Model:
    """Exact, but for walking: it predicts that the robot stays where it is."""
    modules = {**exact_modules("abs"), "action::forward::g": lambda pose, *_: pose + 0}
    return pds.Model(load_sketch("abs"), modules=modules)


def test_a_plan_is_followed_only_as_long_as_the_world_does_as_predicted():
    plan = [("lturn", "agent"), ("forward", "agent"), ("forward", "agent")]
    for model, taken in ((exact_model(), 3), (lazy_model(), 2)):
        env = ActionObjDoor(objects=1, doors=0)
        for seed in range(50):
            env.reset(seed=seed)
            scene = look(env)
            ahead = env.agent_pos + np.array([env.dir_vec[1], -env.dir_vec[0]])
            if env.grid.get(*ahead) is None and env.grid.get(*(2 * ahead - env.agent_pos)) is None:
                break
        trial = Trial(env, scene, "")
        follow(model, trial, plan)
        assert (trial.solved, len(trial.taken)) == (False, taken)


def test_a_state_agrees_in_all_predicates_or_not():
    predicted = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([3.0])}
    assert agrees(predicted, {"a": np.array([1.1, 2.0]), "b": np.array([3.0])})
    assert not agrees(predicted, {"a": np.array([1.0, 2.0]), "b": np.array([4.0])})
    assert not agrees(predicted, {"a": np.array([1.0, 2.9]), "b": np.array([3.0])})


def test_solved_problems_are_not_planned_for_again(monkeypatch):
    model, search = exact_model(), SearchConfig()
    trials = babyai.held_out(2, 1, 2)
    plans = babyai.plans_for(model, trials, search)
    monkeypatch.setattr(babyai, "plans_for", lambda *_: pytest.fail("planned again"))
    assert closed_loop(model, trials, plans, search)["success"] == 1.0


def test_the_mean_number_of_steps_is_that_of_what_was_solved():
    class Plan:
        status, expanded = "solved", 1

    solved, failed = Trial(Still(), None, ""), Trial(Still(), None, "")
    solved.taken, solved.solved, failed.taken = ["forward"] * 3, True, ["forward"] * 9
    summary = babyai._summary([solved, failed], [Plan(), Plan()])
    assert (summary["steps"], summary["success"]) == (3.0, 0.5)


def test_goals_that_hold_at_the_start_are_not_asked_for(monkeypatch):
    monkeypatch.setitem(UNSEEN, "nothing at all", lambda things, rng: "(and)")
    assert unseen_trials("nothing at all", 1, 0, exact_model()) == []


def test_a_prediction_is_right_where_all_of_it_is():
    measured = measure_transitions(lazy_model(), 40, 0)
    assert measured["forward"]["agreement"]["robot-pose"] < 1.0
    assert measured["forward"]["agreement"]["item-pose"] == 1.0


def test_actions_weigh_by_their_steps():
    one = {"steps": 9, "agreement": {"a": 1.0, "b": 1.0}}
    other = {"steps": 1, "agreement": {"a": 1.0, "b": 0.0}}
    assert total_agreement([one, other]) == pytest.approx(0.9)
