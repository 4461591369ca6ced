"""Rules of the BabyAI experiments: which problems, how acting ends, what is counted."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from paper.tests.babyai.test_babyai_world import room_with

import pdsketch as pds
from pdsketch_paper.babyai.adapter import exact_model
from pdsketch_paper.babyai.data import FORWARD, path_to_face
from pdsketch_paper.babyai.goals import colour_in_hand
from pdsketch_paper.babyai.modules import exact_modules
from pdsketch_paper.babyai.observation import load_sketch
from pdsketch_paper.babyai.world import ActionObjDoor, problem_seed
from pdsketch_paper.experiments import babyai
from pdsketch_paper.experiments.babyai import SearchConfig, TrainConfig
from pdsketch_paper.experiments.babyai_words import judged
from pdsketch_paper.experiments.runs import MEASURED, ExperimentRun


def test_no_two_problems_share_a_seed():
    seeds = [problem_seed(s, i, split) for s in range(6) for i in range(6) for split in ("train", "test")]
    assert len(set(seeds)) == len(seeds)


def test_held_out_problems_are_not_those_of_training():
    trained_on = {problem_seed(seed, index, "train") for seed in range(3) for index in range(50)}
    assert not trained_on & set(babyai.held_out(50))


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


def steps_of(config: TrainConfig) -> dict[str, int]:
    return {"steps": config.steps}


def test_runs_of_different_settings_have_different_files():
    keys = [
        ExperimentRun("same", steps_of, TrainConfig(episodes=n, seed=s)).key for n in (1, 2) for s in (0, 1)
    ]
    assert len(set(keys)) == 4
    assert ExperimentRun("same", steps_of, TrainConfig(episodes=1, seed=0)).key == keys[0]
    assert keys[0] != ExperimentRun("same", dict, TrainConfig(episodes=1, seed=0)).key


def overshooting_model() -> pds.Model:
    """Exact, but for walking: from some cells it predicts two steps for one."""
    modules = exact_modules("abs")
    walk = modules["action::forward::g"]

    def far(pose, *rest):
        after = walk(pose, *rest)
        return torch.where(pose.sum(-1, keepdim=True).round() % 3 == 2, 2 * after - pose, after)

    return pds.Model(load_sketch("abs"), modules={**modules, "action::forward::g": far})


def test_replanning_makes_up_for_a_wrong_model():
    model, search, seeds = overshooting_model(), SearchConfig(), babyai.held_out(8)
    loops = babyai.both_loops(model, seeds, search, objects=2, doors=1)
    assert loops["open"]["replans"] == 0.0
    assert loops["open"]["success"] < loops["closed"]["success"]
    assert 0 < loops["closed"]["replans"] <= babyai.MOST_REPLANS
    worlds = babyai.worlds_for(model, len(seeds), objects=2, doors=1)
    blind = pds.rollout(babyai.planner(model, search, "open"), worlds, seeds, babyai.MOST_STEPS)
    assert {name: blind.summary[name] for name in MEASURED} == loops["open"]


def test_the_policy_of_the_tables_has_limits_of_expansions_and_none_of_time():
    policy = babyai.planner(exact_model(), SearchConfig(max_expansions=7, snap=True), "closed")
    assert policy.options == {"max_expansions": 7, "time_limit": None, "snap": True, "k": 1}
    assert (policy.search, policy.heuristic, policy.loop) == ("astar", "blind", "closed")
    assert policy.tolerance == babyai.TOLERANCE < 0.5


def test_only_fitting_seeds_are_taken_in_their_order():
    class World:
        def fits(self, seed):
            return seed % 2 == 1

    assert babyai.fitting(World(), range(100), 3) == [1, 3, 5]


class Network(torch.nn.Module):
    """What learning would leave in a blank."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def test_a_blank_is_wrong_where_it_differs_from_the_exact_function():
    exact = {**exact_modules("abs"), "action::forward::g": lambda pose, *_: pose + 0}
    model = pds.Model(load_sketch("abs"), modules={name: Network(one) for name, one in exact.items()})
    report: Any = SimpleNamespace(blanks=defaultdict(lambda: SimpleNamespace(verdict="learned")))
    found = judged(model, report, "abs", 0, 30)
    assert {name for name, one in found.items() if one["wrong"]} == {"action::forward::g"}
    assert found["action::forward::g"]["wrong"] == 1.0
