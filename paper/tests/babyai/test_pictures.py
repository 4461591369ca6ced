"""BabyAI as pictures: Minigrid's own drawing, in worlds and in demonstrations."""

from __future__ import annotations

import numpy as np
import pytest

import pdsketch as pds
import pdsketch_paper
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.observation import PIXELS, SIDE
from pdsketch_paper.babyai.world import PADDING, ROOM_SIZE


def drawn(env):
    """What Minigrid draws of the room, from above."""
    whole = env.grid.render(PIXELS // SIDE, env.agent_pos, env.agent_dir)
    room = slice(PADDING * (PIXELS // SIDE), (PADDING + ROOM_SIZE) * (PIXELS // SIDE))
    return whole[room, room]


def test_a_picture_is_minigrids_own_drawing():
    world = BabyAIWorld(4, 4, "pixels")
    rng = np.random.default_rng(0)
    actions = [*world.domain.actions]
    carried = 0
    for seed in range(6):
        state = world.reset(seed)
        for _ in range(40):
            view = state["view"].numpy()
            assert view.shape == (PIXELS, PIXELS, 3)
            wanted = drawn(world.env)
            assert np.array_equal(view[: len(wanted), : len(wanted)], wanted)
            carried += world.env.carrying is not None
            state = world.step((actions[rng.integers(len(actions))], "agent"))
    assert carried


def test_rooms_of_other_sizes_have_no_pictures():
    with pytest.raises(pds.Error, match="our own room"):
        BabyAIWorld(sketch="pixels", level="GoToObj")


def test_demonstrations_have_the_pictures_of_the_states():
    demonstrations = BabyAIWorld(3, 2, "pixels").demonstrations(4, 0)
    world = BabyAIWorld(3, 2, "abs")
    for seen, known in zip(demonstrations, world.demonstrations(4, 0), strict=True):
        assert seen.actions == known.actions
        assert [*seen.goals] == [*known.goals]
        alike = [[(one["view"] == other["view"]).all() for other in seen.states] for one in seen.states]
        poses = [(s["robot-pose"].tolist(), s["robot-direction"].tolist()) for s in known.states]
        for i, row in enumerate(alike):
            assert all(poses[i] == poses[j] for j, same in enumerate(row) if same)


@pytest.mark.parametrize("kind", ["bc", "dreamer"])
def test_a_baseline_learns_from_pictures(kind):
    world = BabyAIWorld(2, 1, "pixels")
    episodes = world.demonstrations(6, 0)
    agent = pdsketch_paper.train_baseline(kind, world.domain, episodes, steps=2, batch=4, types=["robot"])
    done = pds.rollout(agent, BabyAIWorld(2, 1, agent.domain), range(2), 3)
    assert len(done) == 2
