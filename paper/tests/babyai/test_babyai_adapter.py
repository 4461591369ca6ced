"""BabyAI as a world: its options, Minigrid's word, goals that no mission states."""

from __future__ import annotations

import numpy as np
import pytest

import pdsketch as pds
from pdsketch_paper.babyai.adapter import STOCK_LEVELS, exact_model
from pdsketch_paper.babyai.data import ACTION_NAMES, solve
from pdsketch_paper.babyai.goals import UNSEEN


def code_of(refused) -> str:
    return refused.value.diagnostics[0].code


def test_it_is_known_by_its_name_with_a_line_about_it():
    assert "keys, balls" in pds.worlds()["babyai"]
    with pytest.raises(pds.Error, match="did you mean `objects`"):
        pds.make_world("babyai", object=3)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"level": "GoToObjj"}, "did you mean `GoToObj`"),
        ({"sketch": "robb"}, "did you mean `rob`"),
        ({"goals": "fly"}, "cannot be 'fly'"),
        ({"objects": 2.5}, "`objects`"),
        ({"doors": -1}, "`doors`"),
        ({"objects": 99}, "the room holds up to"),
    ],
)
def test_bad_options_of_babyai_are_refused(options, told):
    with pytest.raises(pds.Error) as refused:
        pds.make_world("babyai", **options)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "bad-setting"
    assert told in f"{diagnostic.message} {diagnostic.help}"


@pytest.mark.parametrize("sketch", ["abs", "rob", "base"])
def test_the_expert_succeeds_in_the_world_as_minigrid_says(sketch):
    world = pds.make_world("babyai", objects=2, doors=1, sketch=sketch)
    state = world.reset(seed=5)
    assert (state.domain, world.success, world.executed) == (world.domain, False, True)
    pds.parse_goal(world.goal, world.domain, state.universe)
    said = []
    for number in solve(world.env):
        state = world.step((ACTION_NAMES[number], "agent"))
        said.append(world.success)
    assert said == [False] * (len(said) - 1) + [True]
    assert world.ended
    assert isinstance(state, pds.State)


def test_the_same_seed_gives_the_same_episode():
    worlds = [pds.make_world("babyai") for _ in range(2)]
    first, second = (world.reset(seed=3) for world in worlds)
    assert first == second
    assert worlds[0].goal == worlds[1].goal
    assert worlds[0].reset(seed=4) != first
    assert worlds[0].reset(seed=3) == first


@pytest.mark.parametrize("level", STOCK_LEVELS)
def test_no_mission_of_a_stock_level_is_accomplished_at_the_start(level):
    world = pds.make_world("babyai", level=level)
    for seed in range(2):
        state = world.reset(seed=seed)
        assert not exact_model().holds(state, world.goal, crisp=True) > 0.5
        assert world.success is False


def test_unseen_goals_are_judged_by_minigrids_state():
    world = pds.make_world("babyai", goals="all doors open", objects=0, doors=1)
    done = pds.rollout(pds.Policy(exact_model(), heuristic="blind"), world, seeds=[1])
    assert done.success == (True,)
    assert done[0].goal == world.goal
    assert done[0].actions[-1] == ("toggle", "agent")
    assert world.env.room.objs[0].is_open


def test_rooms_that_do_not_lend_themselves_to_a_goal_are_drawn_again(monkeypatch):
    drawn = []

    def maker(things, rng):
        drawn.append(things)
        return None if len(drawn) < 3 else "(exists (?o - item) (robot-holding agent ?o))"

    monkeypatch.setitem(UNSEEN, "third time", maker)
    pds.make_world("babyai", goals="third time").reset(seed=0)
    assert len(drawn) == 3
    assert drawn[0] != drawn[1]


def test_goals_that_hold_at_the_start_are_not_asked_for(monkeypatch):
    monkeypatch.setitem(UNSEEN, "nothing at all", lambda things, rng: "(and)")
    world = pds.make_world("babyai", goals="nothing at all")
    assert not world.fits(0)
    monkeypatch.setattr("pdsketch_paper.babyai.adapter._DRAWS", 2)
    with pytest.raises(pds.Error, match="no room of 2"):
        world.reset(seed=0)


def test_a_world_can_be_drawn():
    world = pds.make_world("babyai", objects=1, doors=1)
    world.reset(seed=0)
    before = world.render()
    assert before.dtype == np.uint8
    assert before.shape == (7 * 44, 7 * 44, 3)
    world.step(("lturn", "agent"))
    assert not np.array_equal(before, world.render())


def test_an_action_before_the_first_reset_or_of_an_unknown_name_is_told():
    world = pds.make_world("babyai", objects=1, doors=0)
    with pytest.raises(pds.Error) as refused:
        world.step(("lturn", "agent"))
    assert code_of(refused) == "not-reset"
    world.reset(seed=0)
    with pytest.raises(pds.Error, match="did you mean `lturn`"):
        world.step(("lturm", "agent"))


def test_only_our_own_room_has_demonstrations():
    assert len(pds.make_world("babyai", objects=1, doors=1).demonstrations(2)) == 2
    with pytest.raises(pds.Error) as refused:
        pds.make_world("babyai", level="GoToObj").demonstrations(2)
    assert code_of(refused) == "no-demonstrations"


def test_a_formula_is_a_goal_that_exact_modules_judge():
    world = pds.make_world("babyai", goals="(exists (?o - item) (is-open ?o))", objects=0, doors=1)
    done = pds.rollout(pds.Policy(exact_model(), heuristic="blind"), world, seeds=[1])
    assert done.success == (True,)
    with pytest.raises(pds.Error, match="is-opne"):
        pds.make_world("babyai", goals="(exists (?o - item) (is-opne ?o))").reset(seed=0)
