"""BabyAI as pictures: the same as Minigrid's own encoding, in worlds and in demonstrations."""

from __future__ import annotations

import numpy as np
import pytest

import pdsketch as pds
import pdsketch_paper
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.babyai.observation import PIXELS, SIDE
from pdsketch_paper.babyai.world import PADDING, ROOM_SIZE


def drawn(env):
    """What Minigrid's FullyObsWrapper shows of the room."""
    grid = env.grid.encode()
    grid[env.agent_pos[0], env.agent_pos[1]] = (10, 0, env.agent_dir)
    room = slice(PADDING, PADDING + ROOM_SIZE)
    return grid[room, room]


def test_a_picture_is_minigrids_own():
    world = BabyAIWorld(4, 4, "image")
    rng = np.random.default_rng(0)
    actions = [*world.domain.actions]
    carried = 0
    for seed in range(6):
        state = world.reset(seed)
        for _ in range(40):
            view = state["view"].numpy().reshape(SIDE, SIDE, 3)
            assert np.array_equal(view, drawn(world.env))
            carried += world.env.carrying is not None
            state = world.step((actions[rng.integers(len(actions))], "agent"))
    assert carried


def test_rooms_of_other_sizes_have_no_pictures():
    with pytest.raises(pds.Error, match="our own room"):
        BabyAIWorld(sketch="image", level="GoToObj")


def test_demonstrations_have_the_pictures_of_the_states():
    pictures, objects = (BabyAIWorld(3, 2, name).demonstrations(4, 0) for name in ("image", "abs"))
    for seen, known in zip(pictures, objects, strict=True):
        assert seen.actions == known.actions
        assert [*seen.goals] == [*known.goals]
        for one, other in zip(seen.states, known.states, strict=True):
            view = one["view"].numpy().reshape(SIDE, SIDE, 3)
            x, y = other["robot-pose"][0].int().tolist()
            assert view[x, y].tolist() == [10, 0, int(other["robot-direction"][0])]


@pytest.mark.parametrize("kind", ["bc", "dreamer"])
def test_a_baseline_learns_from_pictures(kind):
    world = BabyAIWorld(2, 1, "image")
    episodes = world.demonstrations(6, 0)
    agent = pdsketch_paper.train_baseline(kind, world.domain, episodes, steps=2, batch=4, types=["robot"])
    done = pds.rollout(agent, BabyAIWorld(2, 1, agent.domain), range(2), 3)
    assert len(done) == 2


def test_pixels_are_minigrids_own_drawing():
    world = BabyAIWorld(3, 2, "pixels")
    state = world.reset(seed=1)
    view = state["view"].numpy()
    assert view.shape == (PIXELS, PIXELS, 3)
    whole = world.env.grid.render(PIXELS // SIDE, world.env.agent_pos, world.env.agent_dir)
    edge = PADDING * (PIXELS // SIDE)
    assert np.array_equal(view[:63, :63], whole[edge:-edge, edge:-edge])
