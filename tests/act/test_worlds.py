"""Worlds by name, BabyAI as a world, and Gymnasium's environments."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from pdsketch.envs import registry

import pdsketch as pds
from pdsketch_paper.babyai.adapter import STOCK_LEVELS, exact_model
from pdsketch_paper.babyai.expert import ACTION_NAMES, solve
from pdsketch_paper.babyai.unseen import UNSEEN


def code_of(refused) -> str:
    return refused.value.diagnostics[0].code


def test_worlds_are_known_by_name_with_a_line_each(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    assert "babyai" in pds.worlds()
    assert all(line for line in pds.worlds().values())


def test_unknown_worlds_and_options_get_a_hint():
    with pytest.raises(pds.Error, match="did you mean `babyai`") as refused:
        pds.make_world("babiai")
    assert code_of(refused) == "unknown-world"
    with pytest.raises(pds.Error, match="did you mean `objects`") as refused:
        pds.make_world("babyai", object=3)
    assert code_of(refused) == "unknown-option"


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


def test_a_world_of_ones_own_can_be_registered(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    pds.register_world("mine", lambda size=3: ("a world", size), "small")
    assert pds.worlds()["mine"] == "small"
    assert pds.make_world("mine", size=4) == ("a world", 4)
    for name, maker in (("babyai", print), ("", print), ("other", 3)):
        with pytest.raises(pds.Error) as refused:
            pds.register_world(name, maker)
        assert code_of(refused) == "bad-world"


def test_a_world_that_needs_an_option_says_so(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    pds.register_world("mine", lambda size: size)
    with pytest.raises(pds.Error, match="needs the option `size`"):
        pds.make_world("mine")


@pytest.mark.parametrize("name", ["registry", "gym"])
def test_worlds_can_be_named_and_adapted_without_gymnasium(monkeypatch, name):
    for package in ("gymnasium", "minigrid"):
        monkeypatch.setitem(sys.modules, package, None)
    file = Path(registry.__file__).parent / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"fresh_{name}", file)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


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


LINE = pds.parse_domain("""
(define (domain line)
  (:types robot - object)
  (:predicates (at [return_type=float32[tolerance=0.1]] ?r - robot))
  (:action right :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 1)))
  (:action jump :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 2))))
""")


class Steps:
    """Gymnasium's interface, and nothing else."""

    def reset(self, *, seed=None, options=None):
        self.x = float(seed or 0)
        return self.x, {}

    def step(self, action):
        self.x += action
        return self.x, float(self.x >= 3), self.x >= 3, self.x < 0, {}

    def render(self):
        return None


def see(x, env):
    return pds.State(LINE, {"robot": ["r"]}, {"at": [x]})


def gym_world(**changes):
    settings = {
        "observe": see,
        "act": lambda action, env: {"right": 1, "jump": None}[action[0]],
        "goal": lambda env: f"(>= (at r) {env.x + 3:g})",
        **changes,
    }
    return pds.GymWorld(Steps(), LINE, **settings)


def test_a_gymnasium_environment_is_a_world():
    world = gym_world()
    done = pds.rollout(pds.Policy(pds.Model(LINE), heuristic="blind"), world, seeds=[0])
    assert world.goal == "(>= (at r) 3)"
    assert done.success == (True,)
    assert list(done[0].success) == [0] * len(done[0].actions) + [1]
    refused = [action for action, done in zip(done[0].actions, done[0].executable, strict=True) if not done]
    assert refused == [("jump", "r")] * len(refused)
    assert refused


def test_the_word_of_a_gymnasium_world_can_be_given():
    world = gym_world(success=lambda env: env.x >= 1, goal="(>= (at r) 1)")
    world.reset(seed=0)
    assert world.success is False
    world.step(("right", "r"))
    assert (world.success, world.ended) == (True, False)


def test_what_is_no_gymnasium_world_is_refused():
    for changes in ({"observe": None}, {"act": 3}, {"success": 3}, {"goal": 3}):
        with pytest.raises(pds.Error) as refused:
            gym_world(**changes)
        assert code_of(refused) == "bad-world"
    with pytest.raises(pds.Error, match="has `reset`; a int has not"):
        pds.GymWorld(3, LINE, observe=see, act=see, goal="(and)")
    with pytest.raises(pds.Error, match="draws nothing"):
        gym_world().render()
    with pytest.raises(pds.Error, match="no state yet"):
        gym_world().step(("right", "r"))
