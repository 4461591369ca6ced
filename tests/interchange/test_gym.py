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
            world(), episodes=12, seed=seed, goals={"(= (at e) 5)": lambda w: w.terminated and not w.success}
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
    judge = {"(= (at e) 4)": lambda w: w.env.unwrapped.s == 4}
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
