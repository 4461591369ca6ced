"""Gymnasium's environments as worlds: action maps, sources of success, vectors, and recorded episodes."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import pdsketch as pds

LAKE = pds.parse_domain("""
(define (domain lake)
  (:types elf - object)
  (:predicates (at [return_type=int64[choices=16]] ?e - elf))
  (:action left :parameters (?e - elf) :effect (at::assign ?e (??f (at ?e))))
  (:action down :parameters (?e - elf) :effect (at::assign ?e (??f (at ?e))))
  (:action right :parameters (?e - elf) :effect (at::assign ?e (??f (at ?e))))
  (:action up :parameters (?e - elf) :effect (at::assign ?e (??f (at ?e)))))
""")
ACTIONS = {"left": 0, "down": 1, "right": 2, "up": 3}
TO_THE_END = ("down", "down", "right", "right", "down", "right")


def see(observation: Any, env: Any) -> pds.State:
    return pds.State(LAKE, {"elf": ["e"]}, {"at": [int(observation)]})


def frozen_lake() -> Any:
    return gymnasium.make("FrozenLake-v1", is_slippery=False)


def world(**changes: Any) -> pds.GymWorld:
    settings = {"observe": see, "act": ACTIONS, "goal": "(= (at e) 15)", "success": "reward", **changes}
    return pds.GymWorld(frozen_lake(), LAKE, **settings)


def code_of(refused: pytest.ExceptionInfo[pds.Error]) -> str:
    return refused.value.diagnostics[0].code


class Scripted:
    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def reset(self) -> None:
        self.rest = list(self.names)

    def act(self, state: pds.State, goal: str) -> tuple[Any, ...] | None:
        return (self.rest.pop(0), "e") if self.rest else None


def test_actions_are_given_as_a_dictionary() -> None:
    (done,) = pds.record(world(), Scripted(TO_THE_END), episodes=1)
    assert [int(state["at"][0]) for state in done.states] == [0, 4, 8, 9, 10, 14, 15]
    assert done.success == [0, 0, 0, 0, 0, 0, 1]


def test_an_action_may_be_a_function_a_whole_step_or_refused() -> None:
    seen = []
    lake = world(
        act={
            "left": None,
            "DOWN": lambda env, elf: seen.append(elf) or 1,
            ("right", "e"): 2,
            "up": 3,
        }
    )
    (done,) = pds.record(lake, Scripted(("left", "down", "right")), episodes=1)
    assert done.executable == [False, True, True]
    assert [int(state["at"][0]) for state in done.states] == [0, 0, 4, 5]
    assert seen == ["e"]


@pytest.mark.parametrize(
    ("success", "script", "wanted"),
    [
        ("reward", ("down", "right"), [False, False, False]),  # into a hole
        ("termination", ("down", "right"), [False, False, True]),
        ("prob", ("down",), [True, True]),  # a key of info; FrozenLake's is 1 where nothing slips
        ("nothing", ("down",), None),
        (lambda env: env.unwrapped.s == 4, ("down",), [False, True]),
        (None, TO_THE_END, [False, False, False, False, False, False, True]),
        (None, ("down", "right"), None),
    ],
)
def test_where_success_comes_from(success: Any, script: tuple[str, ...], wanted: list[bool] | None) -> None:
    lake = world(success=success)
    states = [lake.reset(0)]
    said = [lake.success]
    for name in script:
        states.append(lake.step((name, "e")))
        said.append(lake.success)
    if success is None:
        (done,) = pds.record(world(success=None), Scripted(script), episodes=1)
        assert done.success == wanted
    else:
        assert said == (wanted or [None] * len(said))
    assert (lake.terminated, lake.truncated) == (lake.ended, False)


def test_random_walks_are_recorded_with_further_goals_and_differ_by_seed() -> None:
    def record(seed: int) -> pds.Rollouts:
        return pds.record(
            world(),
            episodes=12,
            seed=seed,
            goals={"(= (at e) 5)": lambda env: env.unwrapped.s in (5, 7, 11, 12)},
        )

    done = record(0)
    assert len(done) == 12
    assert [e.actions for e in done] == [e.actions for e in record(0)]
    assert [e.actions for e in done] != [e.actions for e in record(1)]
    assert {name for episode in done for name, _ in episode.actions} == set(ACTIONS)
    for episode, success in zip(done, done.success, strict=True):
        fell = episode.goals["(= (at e) 5)"]
        assert fell is not None
        assert fell[:-1] == [0] * len(episode.actions)
        assert bool(fell[-1]) is (not success and int(episode.states[-1]["at"][0]) in (5, 7, 11, 12))


def test_goals_are_kept_by_world_for_agents_of_every_kind() -> None:
    judge = {"(= (at e) 4)": lambda env: env.unwrapped.s == 4}
    for controller in (None, Scripted(("down", "down")), lambda state, goal: ("down", "e")):
        done = pds.record(
            pds.GymWorld.each(
                gymnasium.vector.SyncVectorEnv([frozen_lake] * 2),
                LAKE,
                observe=see,
                act=ACTIONS,
                goal="(= (at e) 15)",
            ),
            controller,
            episodes=5,
            max_steps=3,
            goals=judge,
        )
        for episode in done:
            assert episode.goals["(= (at e) 4)"] == [int(state["at"][0] == 4) for state in episode.states]


def test_a_bare_environment_is_told_what_to_write() -> None:
    with pytest.raises(
        pds.Error, match=r"wrap a Gymnasium environment: pds\.GymWorld\(env, domain"
    ) as refused:
        pds.record(frozen_lake())
    assert code_of(refused) == "bad-world"
    wanted = r'act=\{"left": 0, "down": 1, "right": 2, "up": 3\}(.|\n)*Discrete\(4\)'
    with pytest.raises(pds.Error, match=wanted):
        pds.GymWorld(frozen_lake(), LAKE, observe=see, goal="(= (at e) 15)")


def test_every_door_tells_a_bare_environment_what_to_write() -> None:
    vector = gymnasium.vector.SyncVectorEnv([frozen_lake])
    for call in (
        pds.record,
        lambda env: pds.rollout(Scripted(()), env, seeds=[0]),
        lambda env: pds.learn(env, LAKE),
    ):
        with pytest.raises(pds.Error, match=r"wrap a Gymnasium environment: pds\.GymWorld"):
            call(frozen_lake())
        with pytest.raises(pds.Error, match=r"make a world of each: pds\.GymWorld\.each"):
            call(vector)
    with pytest.raises(pds.Error, match=r"pds\.learn\(world, domain\)"):
        pds.learn(frozen_lake(), frozen_lake())  # type: ignore[arg-type]


def test_what_is_recorded_in_a_vector_of_environments_is_learned_from() -> None:
    vector = gymnasium.vector.SyncVectorEnv([frozen_lake] * 3)
    lakes = pds.GymWorld.each(vector, LAKE, observe=see, act=ACTIONS, goal="(= (at e) 15)", success="reward")
    walks = pds.record(lakes, episodes=30, max_steps=8)
    assert {len(episode.states) for episode in walks} - {9}  # holes end a walk
    assert {name for episode in walks for name, _ in episode.actions} == set(ACTIONS)
    report = pds.fit(pds.Model(LAKE, seed=0), walks, steps=2, seed=0)
    assert report.episodes == 30


@pytest.mark.parametrize(
    ("act", "code", "words"),
    [
        ({"left": 0, "right": 2}, "no-controller", "no entry for `down`, `up`"),
        ({**ACTIONS, "lift": 1}, "unknown-action", "did you mean `left`"),
    ],
)
def test_action_maps_are_checked(act: Any, code: str, words: str) -> None:
    with pytest.raises(pds.Error, match=words) as refused:
        world(act=act)
    assert code_of(refused) == code


def test_a_step_without_an_entry_is_an_error() -> None:
    lake = world(act={**dict.fromkeys(("left", "down", "up"), 0), ("right", "other"): 2})
    lake.reset(0)
    with pytest.raises(pds.Error, match=r"no entry for \('right', 'e'\)"):
        lake.step(("right", "e"))


def test_a_vector_is_no_world_and_other_slips_are_refused() -> None:
    vector = gymnasium.vector.SyncVectorEnv([frozen_lake])
    with pytest.raises(pds.Error, match=r"GymWorld\.each"):
        pds.GymWorld(vector, LAKE, observe=see, act=ACTIONS, goal="(= (at e) 15)")
    with pytest.raises(pds.Error, match="takes a list of environments"):
        pds.GymWorld.each(3, LAKE)
    for changes in ({"episodes": -1}, {"seed": 0.5}):
        with pytest.raises(pds.Error, match="whole number"):
            pds.record(world(), **changes)
    for goals in (3, {"(= (at e) 4)": True}):
        with pytest.raises(pds.Error, match="function"):
            pds.record(world(), goals=goals)  # type: ignore[arg-type]
    assert len(pds.record(world(), episodes=0)) == 0


def test_random_actions_need_choices() -> None:
    domain = pds.parse_domain("""
    (define (domain push)
      (:types b - object)
      (:predicates (at [return_type=float32] ?b - b))
      (:action push :parameters (?b - b ?to - float32) :effect (assign (at ?b) ?to)))
    """)
    pushes = pds.GymWorld(
        frozen_lake(),
        domain,
        observe=lambda seen, env: pds.State(domain, {"b": ["e"]}, {"at": [seen]}),
        act={"push": 1},
        goal="(= (at e) 4)",
    )
    with pytest.raises(pds.Error, match="no choices to draw from"):
        pds.record(pushes)
    assert len(pds.record(pushes, lambda state, goal: ("push", "e", 4.0), episodes=2, max_steps=1)) == 2


CART = pds.parse_domain("""
(define (domain cart)
  (:types cart - object place - float32[tolerance=0.5])
  (:predicates (at [return_type=place] ?c - cart))
  (:action move-to :parameters (?c - cart ?p - place) :effect (at::assign ?c ?p)))
""")


class Cart:
    """It moves by one; at 9 the episode ends, with a reward. Until step 8 it does not come beyond 5."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[float, dict[str, Any]]:
        self.x, self.taken = 0.0, 0
        return self.x, {}

    def step(self, action: int) -> tuple[float, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        if not (self.x == 5 and action > 0 and self.taken < 8):
            self.x += action
        done = self.x >= 9
        return self.x, float(done), done, False, {}


def cart(act: Any, **changes: Any) -> pds.GymWorld:
    settings: dict[str, Any] = {"goal": "(= (at c) 9)", "success": "reward", **changes}
    return pds.GymWorld(
        Cart(),
        CART,
        observe=lambda x, env: pds.State(CART, {"cart": ["c"]}, {"at": [x]}),
        act=act,
        **settings,
    )


def drive(env: Cart, name: str, place: float) -> Any:
    """A skill: it is sent what the environment answers."""
    if place < 0:
        return False
    x = env.x
    while x != place:
        x, *_ = yield 1 if place > x else -1
    return True


def test_an_action_may_be_a_skill_of_many_steps() -> None:
    world = cart({"move-to": drive})
    world.reset(0)
    assert float(world.step(("move-to", "c", 4.0))["at"][0]) == 4.0
    assert (world.executed, world.steps, world.success) == (True, 4, False)
    assert float(world.step(("move-to", "c", 7.0))["at"][0]) == 7.0
    assert (world.executed, world.steps) == (True, 9)
    assert float(world.step(("move-to", "c", 12.0))["at"][0]) == 9.0  # the episode ends on the way
    assert (world.executed, world.ended, world.success, world.steps) == (True, True, True, 11)


def test_a_skill_that_returns_false_was_refused() -> None:
    world = cart({"move-to": drive})
    world.reset(0)
    world.step(("move-to", "c", -1.0))
    assert (world.executed, world.steps) == (False, 0)


def test_a_skill_is_cut_off_after_the_timeout() -> None:
    world = cart({"move-to": drive}, timeout=3)
    world.reset(0)
    assert float(world.step(("move-to", "c", 4.0))["at"][0]) == 3.0
    assert (world.executed, world.steps) == (False, 3)
    world.step(("move-to", "c", 5.0))
    assert world.executed
    with pytest.raises(pds.Error, match="`timeout` is a number"):
        cart({"move-to": drive}, timeout=0)


def test_an_action_may_be_a_list_of_actions_unless_the_space_has_it_as_one() -> None:
    world = cart({"move-to": lambda env, name, place: [1] * int(place - env.x)})
    world.reset(0)
    assert float(world.step(("move-to", "c", 3.0))["at"][0]) == 3.0
    assert float(world.step(("move-to", "c", 3.0))["at"][0]) == 3.0
    assert (world.executed, world.steps) == (True, 3)

    class Arm(Cart):
        action_space = gymnasium.spaces.MultiDiscrete([3, 3])

        def step(self, action: Any) -> Any:
            return super().step(int(action[0]))

    world = cart({"move-to": lambda env, name, place: [2, 0]})
    world.env = Arm()
    world.reset(0)
    assert float(world.step(("move-to", "c", 3.0))["at"][0]) == 2.0


def test_what_a_skill_returns_is_checked() -> None:
    def wrong(env: Cart, name: str, place: float) -> Any:
        yield 1
        return "done"

    world = cart({"move-to": wrong})
    world.reset(0)
    with pytest.raises(pds.Error, match="the skill of `move-to` returned a str"):
        world.step(("move-to", "c", 4.0))


def test_plans_are_carried_out_by_skills() -> None:
    done = pds.rollout(pds.Policy(pds.Model(CART)), cart({"move-to": drive}), seeds=[0])
    assert done.success == (True,)
    assert done[0].actions == (("move-to", "c", 9.0),)


def test_numbers_of_random_actions_come_from_samplers_and_generators() -> None:
    asked = []

    def near(model: None, state: pds.State, name: str) -> Any:
        asked.append((model, name))
        return [float(state["at"][0]) + 1, float(state["at"][0]) + 2]

    by_sampler = pds.record(cart({"move-to": drive}), episodes=3, max_steps=4, samplers={"move-to.p": near})
    assert asked[0] == (None, "c")
    by_type = pds.record(
        cart({"move-to": drive}), episodes=3, max_steps=4, generators={"place": lambda m, s, n: [2.0, 4.0]}
    )
    assert {step[2] for episode in by_type for step in episode.actions} == {2.0, 4.0}
    for episode in by_sampler:
        assert all(isinstance(step[2], float) for step in episode.actions)
        for state, step in zip(episode.states, episode.actions, strict=False):
            assert step[2] - float(state["at"][0]) in (1.0, 2.0)
    with pytest.raises(pds.Error, match=r'samplers=."move-to.\?p": fn'):
        pds.record(cart({"move-to": drive}))
    with pytest.raises(pds.Error, match="are for random actions"):
        pds.record(cart({"move-to": drive}), lambda s, g: None, samplers={"move-to.p": near})
