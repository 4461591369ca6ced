"""PPO's view of a room: what it sees, what is rewarded, and which rooms it learns in."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pdsketch.lang.diagnostics import Error
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.data import ACTION_NAMES
from pdsketch_paper.experiments import babyai_onpolicy
from pdsketch_paper.experiments.babyai import held_out
from pdsketch_paper.experiments.babyai_onpolicy import (
    ITEM,
    ROBOT,
    WORDS,
    MissionEnv,
    PPOConfig,
    make_learner,
    success,
)
from pdsketch_paper.experiments.runs import in_world

PROBLEMS = held_out(12)


def room():
    return MissionEnv(4, 4, lambda at: PROBLEMS[at])


def test_a_room_is_that_of_the_other_agents():
    env, world = room(), BabyAIWorld(4, 4, "abs")
    for seed in PROBLEMS:
        seen, _ = env.reset(seed=seed)
        state = world.reset(seed)
        assert seen.shape == env.observation_space.shape
        assert env.observation_space.contains(seen)
        assert seen[:2] * 7 == pytest.approx(state["robot-pose"].flatten().tolist())
        assert int(seen[2:6].argmax()) == int(state["robot-direction"])
        items = seen[ROBOT + len(WORDS) :].reshape(8, ITEM)
        assert items[:, :2] * 7 == pytest.approx(np.asarray(state["item-pose"])[:8])
        assert items[:, 2:13].argmax(1).tolist() == np.asarray(state["item-feature"])[:8, 0].tolist()
        named = {word for word, there in zip(WORDS, seen[ROBOT:], strict=False) if there}
        assert all(f"({word} " in world.goal for word in named)
        assert len(named) == world.goal.count("(") - 3  # all but `exists`, `and` and the variable's list


def test_the_goal_is_rewarded_once_and_long_episodes_are_cut_off():
    env, world = room(), BabyAIWorld(4, 4, "abs")
    draw = np.random.default_rng(0)
    ends = set()
    for seed in PROBLEMS:
        env.reset(seed=seed)
        world.reset(seed)
        for step in range(1, 65):
            action = int(draw.integers(len(ACTION_NAMES)))
            _, reward, terminated, truncated, _ = env.step(action)
            world.step((ACTION_NAMES[action], "agent"))
            assert (reward == 1.0) == bool(world.success)
            assert truncated == (step == 64 and not terminated)
            if terminated:
                break
        assert terminated or truncated
        ends.add(reward)
    assert ends == {0.0, 1.0}


def test_rooms_to_learn_in_are_dealt_out_one_after_the_other():
    env = room()
    first = [env.reset()[0].tolist() for _ in range(3)]
    assert env.rooms == 3
    assert first == [env.reset(seed=seed)[0].tolist() for seed in PROBLEMS[:3]]
    assert env.rooms == 3


class Walking:
    """An agent that walks ahead for ever, as the library's learners are asked."""

    def predict(self, seen, deterministic):
        assert not deterministic
        return np.full(len(seen), ACTION_NAMES.index("forward")), None


def test_success_is_the_part_of_problems_that_the_world_says_are_solved():
    found = success(Walking(), PPOConfig(), held_out(60))
    reached = 0
    for seed in held_out(60):
        world = BabyAIWorld(4, 4, "abs")
        world.reset(seed)
        for _ in range(6):
            world.step(("forward", "agent"))
            if world.success:
                reached += 1
                break
    assert found == reached / 60
    assert 0 < found < 0.5


def test_without_the_library_it_says_which_extra_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(Error, match="stable-baselines3"):
        make_learner(PPOConfig())
    assert in_world(babyai_onpolicy.PPOConfig(), objects=2).objects == 2
