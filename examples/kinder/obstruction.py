"""KinDER's Obstruction2D, from skills to plans; ``docs/skills.md`` says what to install.

A block has to be put onto a surface that other blocks may cover. The robot takes speeds and a vacuum; two
skills are made of these below. What lies on the surface, and where a block has no room, is learned from
random tries.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Generator
from typing import Any

import kinder
import numpy as np

import pdsketch as pds

DOMAIN = pds.parse_domain("""
(define (domain obstruction)
  (:types item - object block surface - item
          place - float32[tolerance=0.005])
  (:predicates
    (left [return_type=place] ?i - item)
    (wide [return_type=place] ?i - item)
    (held ?b - block))
  (:derived (right [return_type=place] ?i - item) (+ (left ?i) (wide ?i)))
  (:derived (on ?b - block ?s - surface)
    (and (not (held ?b)) (??f (left ?b) (right ?b) (left ?s) (right ?s))))
  (:derived (in-the-way ?o - block ?b - block ?p - place)
    (and (not (= ?o ?b)) (??f ?p (+ ?p (wide ?b)) (left ?o) (right ?o))))
  (:action pick :parameters (?b - block)
    :precondition (not (exists (?o - block) (held ?o)))
    :effect (held ?b))
  (:action place :parameters (?b - block ?p - place)
    :precondition (and (held ?b) (not (exists (?o - block) (in-the-way ?o ?b ?p))))
    :effect (and (not (held ?b)) (left::assign ?b ?p))))
""")
GOAL = "(on target surface)"
HIGH, TABLE = 0.85, 0.1
"""Where the robot drives to and fro, and how high the table is."""

LEFT, RIGHT = 0.1, 1.518
"""How far the robot, which is round, can drive before it touches the walls."""

RANDOM = np.random.default_rng(0)
"""Where the samplers draw from: each time they are asked, they propose other values."""

X, Y, ARM = 0, 1, 3
"""Axes of the robot's actions."""

Skill = Generator[Any, Any, bool]


def see(world: pds.GymWorld) -> dict[str, dict[str, float]]:
    """The features of all objects."""
    return features(world.observation, world.env)


def features(observation: Any, env: Any) -> dict[str, dict[str, float]]:
    """The same of an observation."""
    state = env.observation_space.devectorize(observation)
    return {
        o.name.removeprefix("target_").replace("block", "target"): {
            f: float(state.get(o, f)) for f in state.type_features[o.type]
        }
        for o in state
    }


def drive(world: pds.GymWorld, axis: int, left: Callable[[Any], float], vacuum: bool) -> Skill:
    """Move along an axis until nothing is left to go; False where the way is blocked."""
    most = world.env.action_space.high[axis]
    while abs(way := left(see(world))) > 1e-3:
        command, before = np.zeros(5, dtype=np.float32), world.observation
        command[axis], command[4] = np.clip(way, -most, most), vacuum
        yield command
        if np.allclose(before, world.observation):
            return False
    return True


def to_high(seen: Any) -> float:
    """How far the robot is below where it drives."""
    return HIGH - seen["robot"]["y"]


def reach(name: str) -> Callable[[Any], float]:
    """How high the robot is above where its hand would touch a block."""

    def left(seen: Any) -> float:
        robot, block = seen["robot"], seen[name]
        tip = robot["y"] - robot["arm_joint"] - robot["gripper_width"]
        return block["y"] + block["height"] + 0.004 - tip

    return left


def grip(seen: Any, name: str) -> float:
    """Where a block is touched, from its left edge: in the middle, unless a wall is too near.

    A block touched in the middle could neither be lifted at the wall nor put down on a surface there.
    """
    block, surface = seen[name], seen["surface"]
    over = surface["x"] + (surface["width"] - block["width"]) / 2
    most = np.clip(block["width"] / 2, LEFT - over, RIGHT - over)
    return float(np.clip(most, LEFT - block["x"], RIGHT - block["x"]))


def pick(world: pds.GymWorld, name: str) -> Skill:
    """Grasp a block from above, and lift it."""
    if any(one["y"] > TABLE + 0.05 for key, one in see(world).items() if key != "robot"):
        return False
    touched = grip(see(world), name)

    def to_grip(seen: Any) -> float:
        return seen[name]["x"] + touched - seen["robot"]["x"]

    def to_length(seen: Any) -> float:
        return seen["robot"]["arm_length"] - seen["robot"]["arm_joint"]

    yield from drive(world, Y, to_high, False)
    for axis, left in ((X, to_grip), (ARM, to_length), (Y, reach(name))):
        if not (yield from drive(world, axis, left, False)):
            yield from drive(world, Y, to_high, False)
            return False
    yield np.array([0, 0, 0, 0, 1], dtype=np.float32)
    yield from drive(world, Y, to_high, True)
    return see(world)[name]["y"] > TABLE + 0.05


def place(world: pds.GymWorld, name: str, x: float) -> Skill:
    """Put down the block in hand, its left edge at ``x``."""
    if see(world)[name]["y"] < TABLE + 0.05:
        return False

    def to_place(seen: Any) -> float:
        return x - seen[name]["x"]

    def to_table(seen: Any) -> float:
        return TABLE + 0.002 - seen[name]["y"]

    for axis, left in ((X, to_place), (Y, to_table)):
        if not (yield from drive(world, axis, left, True)):
            yield from drive(world, Y, to_high, True)
            return False
    yield np.zeros(5, dtype=np.float32)
    return (yield from drive(world, Y, to_high, False))


def observe(observation: Any, env: Any) -> pds.State:
    """Left edges and widths; what is above the table is held."""
    seen = features(observation, env)
    blocks = [name for name in seen if name not in ("robot", "surface")]
    return pds.State(
        DOMAIN,
        {"block": blocks, "surface": ["surface"]},
        {
            "left": [seen[name]["x"] for name in (*blocks, "surface")],
            "wide": [seen[name]["width"] for name in (*blocks, "surface")],
            "held": [seen[name]["y"] > TABLE + 0.05 for name in blocks],
        },
    )


def make(obstructions: int) -> pds.GymWorld:
    """The environment with so many obstructions, as a world whose actions are the skills."""
    skills = {"pick": pick, "place": place}
    world = pds.GymWorld(
        kinder.make(f"kinder/Obstruction2D-o{obstructions}-v0"),
        DOMAIN,
        observe=observe,
        act=lambda action, env: skills[action[0]](world, *action[1:]),
        goal=GOAL,
        success="termination",
        timeout=200,
    )
    return world


def places(model: Any, state: pds.State, block: str) -> list[float]:
    """Where a block may be put: on the surface, and anywhere on the table."""
    at = {name: i for i, name in enumerate((*state.members("block"), "surface"))}
    left, wide = state["left"].tolist(), state["wide"].tolist()
    room = wide[at["surface"]] - wide[at[block]]
    on = [left[at["surface"]] + room * share for share in (0.5, *RANDOM.uniform(-0.5, 1.5, 2))]
    return [*on, *RANDOM.uniform(0.1, 1.4, 5)]


def in_hand(model: Any, state: pds.State, block: str) -> list[float]:
    """The same for random tries: for the block in hand alone."""
    held = state["held"][state.members("block").index(block)]
    return places(model, state, block) if held else []


def main() -> None:
    """Record, learn, and act in fresh scenes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--walks", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=50)
    parser.add_argument("--obstructions", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--folder", help="where walks are kept")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kinder.register_all_environments()
    samplers = {"place.?p": places}
    walks = pds.record(
        [make(0), make(1), make(2)],
        episodes=args.walks,
        max_steps=10,
        samplers={"place.?p": in_hand},
        folder=args.folder,
        seed=args.seed,
    )
    print(walks)
    model = pds.Model(DOMAIN, seed=args.seed)
    print(pds.fit(model, walks, steps=1000, seed=args.seed))
    policy = pds.Policy(model, samplers=samplers, options={"candidates": "generators"})
    for obstructions in args.obstructions:
        seeds = range(1000, 1000 + args.scenes)
        print(f"{obstructions} obstructions:", pds.rollout(policy, make(obstructions), seeds, max_steps=20))


if __name__ == "__main__":
    main()
