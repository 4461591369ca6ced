"""A PDDL problem as a Gymnasium environment: by its own checker, against the reference semantics."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from itertools import pairwise, product
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import pdsketch as pds
from pdsketch.interchange.pddl_environment import PDDLEnvironment
from pdsketch.lang import StaticContext, applicable

EXAMPLES = Path(__file__).parents[2] / "examples"

NUMBERS = """(define (domain tanks)
  (:types tank - object  level - int64[choices=4])
  (:predicates (full ?t - tank) (depth [return_type=level] ?t - tank) (weight [return_type=float32]) (open))
  (:derived (brim ?t - tank) (= (depth ?t) 3))
  (:action pour :parameters (?t - tank ?by - level)
    :precondition (and (open) (not (brim ?t)))
    :effect (and (increase (depth ?t) ?by) (increase (weight) 0.5)))
  (:action close :effect (not (open))))"""

TANKS = """(define (problem two) (:domain tanks) (:objects a b - tank)
  (:init (open) (= (depth a) 2) (= (depth b) 0) (= (weight) 1.5))
  (:goal (and (brim a) (not (open)))))"""


def made(folder="blocks", problem="p01", **settings):
    domain, file = EXAMPLES / folder / "domain.pddl", EXAMPLES / folder / f"{problem}.pddl"
    return gymnasium.make("pdsketch/PDDL-v0", domain=domain, problem=file, **settings)


def tanks(**settings):
    problem = pds.parse_problem(TANKS, pds.parse_domain(NUMBERS))
    return gymnasium.make("pdsketch/PDDL-v0", problem=problem, **settings)


@pytest.mark.parametrize("make", [made, lambda: made("delivery"), lambda: made("lights"), tanks])
def test_gymnasiums_checker_accepts_it(make):
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*infinity", category=UserWarning
        )  # of weights and distances
        check_env(make().unwrapped)


@pytest.mark.parametrize(
    "imports", ["import pdsketch, gymnasium", "import gymnasium, pdsketch", "import gymnasium, pdsketch.lang"]
)
def test_gymnasium_knows_it_whichever_is_imported_first(imports):
    code = f"{imports}; print('pdsketch/PDDL-v0' in gymnasium.registry)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.parametrize("folder", ["blocks", "delivery", "lights"])
def test_masks_are_what_the_semantics_says(folder):
    env = made(folder)
    inner = env.unwrapped
    static = StaticContext.of(inner.problem)
    _, info = env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(20):
        every = {
            (name, *found)
            for name, action in inner.domain.actions.items()
            for found in product(*(static.members(p.type) for p in action.parameters))
        }
        wanted = {step for step in every if applicable(static, inner._facts, step)}
        assert {inner.actions[n] for n in np.flatnonzero(info["action_mask"])} == wanted
        assert (info["action_mask"] == inner.action_masks()).all()
        if not wanted:
            break
        _, _, terminated, _, info = env.step(env.action_space.sample(info["action_mask"]))
        if terminated:
            break


def test_a_plan_reaches_the_goal_and_ends_the_episode():
    env = made("delivery")
    env.reset()
    plan = pds.plan(env.unwrapped.problem).plan
    answers = [env.step(env.unwrapped.number(step)) for step in plan]
    assert [(reward, terminated) for _, reward, terminated, _, _ in answers[-2:]] == [
        (0.0, False),
        (1.0, True),
    ]
    assert answers[-1][-1]["success"]


def test_observations_hold_the_state_by_predicate_and_place():
    env = tanks()
    observation, _ = env.reset()
    assert observation["depth"].tolist() == [2, 0]
    assert observation["weight"] == np.float32(1.5)
    assert observation["open"] == 1
    observation, *_ = env.step(env.unwrapped.number(("pour", "a", 1)))
    assert observation["depth"].tolist() == [3, 0]
    assert observation["weight"] == np.float32(2.0)
    assert env.unwrapped.state["depth"].tolist() == [3, 0]


def test_what_is_not_applicable_changes_nothing_and_says_so():
    env = tanks()
    env.reset()
    before, *_ = env.step(env.unwrapped.number(("close",)))
    after, reward, terminated, _, info = env.step(env.unwrapped.number(("pour", "a", 1)))
    assert all((before[name] == after[name]).all() for name in before)
    assert (reward, terminated, info["executed"]) == (0.0, False, False)


def test_what_is_undefined_changes_nothing_and_says_why():
    env = tanks()
    env.reset()
    _, _, _, _, info = env.step(env.unwrapped.number(("pour", "a", 3)))
    assert not info["executed"]
    assert "has the choices 0 to 3" in info["why"]
    assert env.unwrapped.state["depth"].tolist() == [2, 0]


def test_text_marks_what_is_new_and_what_is_wanted():
    env = made(render_mode="ansi")
    env.reset()
    assert env.render().startswith("the initial state\ngoal (and (on a b) (on b c))\na - block: ")
    for step in pds.plan(env.unwrapped.problem).plan:
        env.step(env.unwrapped.number(step))
    assert "a - block: +(on a b)! +(clear a)\nb - block: (on b c)!\n" in env.render()


def test_pictures_of_an_episode_have_one_size_and_show_each_step():
    env = made(render_mode="rgb_array")
    env.reset()
    pictures = [env.render()]
    for step in pds.plan(env.unwrapped.problem).plan:
        env.step(env.unwrapped.number(step))
        pictures.append(env.render())
    assert {picture.shape for picture in pictures} == {pictures[0].shape}
    assert [*env.unwrapped._cards()] == ["a - block", "b - block", "c - block", "blocks"]
    env.step(env.unwrapped.number(("unstack", "a", "b")))  # no fact without objects holds now
    assert [*env.unwrapped._cards()] == ["a - block", "b - block", "c - block", "blocks"]
    assert all((one != other).any() for one, other in pairwise(pictures))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, 'domain="domain.pddl", problem="p01.pddl"'),
        ({"render_mode": "human"}, "`render_mode` is ansi or rgb_array"),
        ({"problem": "nowhere.pddl"}, "nowhere.pddl"),
    ],
)
def test_what_cannot_be_made_says_what_to_do(settings, said):
    wrong = {"domain": EXAMPLES / "blocks/domain.pddl", "problem": EXAMPLES / "blocks/p01.pddl", **settings}
    with pytest.raises((pds.Error, FileNotFoundError), match=re.escape(said)):
        PDDLEnvironment(**(wrong if settings else {}))


def test_a_sketch_is_refused_and_numbers_are_checked():
    sketch = pds.load_domain(EXAMPLES / "lamps/lamps.pdsketch")
    state = "(define (problem p) (:domain lamps) (:goal (and)))"
    with pytest.raises(pds.Error, match=r"leaves .* open"):
        gymnasium.make("pdsketch/PDDL-v0", problem=pds.parse_problem(state, sketch))
    env = made()
    env.reset()
    with pytest.raises(pds.Error, match="and 999 is none of them"):
        env.unwrapped.step(999)
    with pytest.raises(pds.Error, match="there is no object"):
        env.unwrapped.number(("pick-up", "z"))


def test_a_sketch_of_the_domain_is_recorded_with_what_was_refused():
    env = made().unwrapped
    world = env.world(pds.sketch_of(env.domain), goal="(exists (?x - block) (on a ?x))")
    walks = pds.record(world, episodes=8, max_steps=20)
    assert {step.domain.name for walk in walks for step in walk.states} == {"blocks"}
    assert walks[0].states[0].domain.blanks
    tried = [done for walk in walks for done in walk.executable or [True] * len(walk.actions)]
    assert 0.1 < sum(tried) / len(tried) < 0.9
    for walk in walks:
        on_something = [bool(state["on"][0].any()) for state in walk.states]
        assert [bool(told) for told in walk.success] == on_something


def test_a_world_of_a_problem_refuses_what_facts_that_never_change_forbid():
    env = PDDLEnvironment(EXAMPLES / "delivery/domain.pddl", EXAMPLES / "delivery/p01.pddl")
    world = env.world(pds.sketch_of(env.domain))  # without distances, which the problem gives for roads alone
    state = world.reset(seed=0)
    (truck,) = state.objects["truck"][:1]
    closed = next(p for p in state.objects["customer"] if ("drive", truck, "hub", p) not in env._numbers)
    assert world.step(("drive", truck, "hub", closed)) is state
    assert not world.executed
    for step in pds.plan(env.problem).plan:
        world.step(step)
    assert world.success
