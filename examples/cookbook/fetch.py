"""Fetch (Gymnasium-Robotics, MuJoCo): an arm learns what its skills do, and brings a block to new places.

``pip install gymnasium-robotics "mujoco<3.4" "pdsketch-planning[gym]"``, then ``python
examples/cookbook/fetch.py``. Three skills send the arm's commands. Blank are how they move the block,
which poses the arm reaches, and how near to its target a block has to be.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator
from typing import Any

import gymnasium
import gymnasium_robotics
import numpy as np

import pdsketch as pds

DOMAIN = pds.parse_domain("""
(define (domain fetch)
  (:types block target - object
          pose - vector[float32, 3, tolerance=0.01])
  (:constants block - block target - target)
  (:predicates
    (at [return_type=pose] ?b - block)
    (held ?b - block)
    (where [return_type=pose] ?t - target))
  (:derived (reached ?b - block ?t - target) (??f (at ?b) (where ?t)))
  (:action pick :parameters (?b - block)
    :precondition (not (held ?b))
    :effect (and (held ?b) (at::assign ?b (??lifted (at ?b)))))
  (:action bring :parameters (?b - block ?p - pose)
    :precondition (and (held ?b) (??reach ?p))
    :effect (at::assign ?b ?p))
  (:action drop :parameters (?b - block)
    :precondition (held ?b)
    :effect (and (not (held ?b)) (at::assign ?b (??fallen (at ?b))))))
""")
GOAL = "(reached block target)"
OPEN, CLOSE, TABLE = 1.0, -1.0, 0.425
NEAR = 0.005
"""How near to a place the arm has to be, in metres."""

UP = np.array([0, 0, 0.1])
"""How far the hand is above the block before it grasps it, and lifts it."""

RANDOM = np.random.default_rng(0)
"""Where the sampler draws from: each time it is asked, it proposes other poses."""

Skill = Generator[Any, Any, bool]


def block_of(world: pds.GymWorld) -> Any:
    """Where the block is."""
    return world.observation["achieved_goal"]


def is_held(observation: Any) -> bool:
    """Whether the block is between the fingers, which it keeps apart, and above the table."""
    apart = float(observation["observation"][9:11].sum())
    near = np.linalg.norm(observation["observation"][:3] - observation["achieved_goal"]) < 0.04
    return bool(near and 0.03 < apart < 0.07)


def move(world: pds.GymWorld, to: Any, fingers: float, steps: int = 40) -> Skill:
    """Move the hand there; False if it does not arrive."""
    for _ in range(steps):
        way = np.asarray(to) - world.observation["observation"][:3]
        if np.linalg.norm(way) < NEAR:
            return True
        yield np.array([*np.clip(8 * way, -1, 1), fingers], dtype=np.float32)
    return False


def grip(fingers: float) -> Skill:
    """Open or close the fingers."""
    for _ in range(10):
        yield np.array([0, 0, 0, fingers], dtype=np.float32)
    return True


def pick(world: pds.GymWorld, _: str) -> Skill:
    """Grasp the block from above, and lift it by a hand's breadth."""
    if is_held(world.observation) or not (yield from move(world, block_of(world) + UP, OPEN)):
        return False
    yield from move(world, block_of(world), OPEN)
    yield from grip(CLOSE)
    yield from move(world, world.observation["observation"][:3] + UP, CLOSE)
    return is_held(world.observation)


def bring(world: pds.GymWorld, _: str, pose: Any) -> Skill:
    """Move the block in hand; False, and back, if the arm does not reach that far."""
    if not is_held(world.observation):
        return False
    before = world.observation["observation"][:3].copy()
    slip = before - block_of(world)
    if (yield from move(world, np.asarray(pose) + slip, CLOSE)):
        return True
    yield from move(world, before, CLOSE)
    return False


def drop(world: pds.GymWorld, _: str) -> Skill:
    """Open the fingers, and wait until the block lies still."""
    if not is_held(world.observation):
        return False
    yield from grip(OPEN)
    yield from grip(OPEN)
    return True


def observe(observation: Any, env: Any) -> pds.State:
    """Where the block and its target are."""
    values = {
        "at": [observation["achieved_goal"]],
        "held": [is_held(observation)],
        "where": [observation["desired_goal"]],
    }
    return pds.State(DOMAIN, {}, values)


def make(goal: str = GOAL, success: Any = "is_success") -> pds.GymWorld:
    """The arm as a world whose actions are the skills."""
    skills = {"pick": pick, "bring": bring, "drop": drop}
    env = gymnasium.make("FetchPickAndPlace-v4", max_episode_steps=100_000)
    world = pds.GymWorld(
        env,
        DOMAIN,
        observe=observe,
        act=lambda action, env: skills[action[0]](world, *action[1:]),
        goal=goal,
        success=success,
        timeout=200,
    )
    return world


def poses(model: Any, state: pds.State, block: str) -> list[Any]:
    """For random tries: near the target, and anywhere, also where the arm does not reach."""
    near = np.maximum(np.asarray(state["where"][0]) + RANDOM.normal(0, 0.04, 3), [0, 0, TABLE])
    anywhere = RANDOM.uniform([0.9, 0.3, TABLE], [1.8, 1.2, 1.0])
    return [list(near), list(anywhere)]


def somewhere(model: Any, state: pds.State, turn: int) -> Any:
    """For plans whose goal names no pose."""
    return RANDOM.uniform([1.0, 0.4, TABLE], [1.5, 1.1, 0.8], (8, 3))


def main() -> None:
    """Record random tries, learn, and bring blocks to new targets and to a place that a new goal names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tries", type=int, default=60)
    parser.add_argument("--scenes", type=int, default=20)
    args = parser.parse_args()
    gymnasium.register_envs(gymnasium_robotics)
    tries = pds.record(make(), episodes=args.tries, max_steps=8, seed=args.seed, samplers={"bring.?p": poses})
    print(tries)
    model = pds.Model(DOMAIN, seed=args.seed)
    print(pds.fit(model, tries, seed=args.seed))
    for name, form in model.forms.items():
        print(name, "=", form)
    seeds = range(1000, 1000 + args.scenes)
    print("new targets:", pds.rollout(pds.Policy(model), make(), seeds, max_steps=10))
    high = "(> (component (at block) 2) 0.55)"
    lifted = make(high, lambda env: env.unwrapped._get_obs()["achieved_goal"][2] > 0.55)
    policy = pds.Policy(model, generators={"pose": somewhere})
    print("a new goal, high up:", pds.rollout(policy, lifted, seeds, max_steps=10))


if __name__ == "__main__":
    main()
