"""Blocks on a table, in numpy alone: a world of continuous actions that is small enough for tests.

A block is 4 cm wide. Truth is the world's own: ``left-of`` is a box of places beside a block, ``on`` one of
places above it. A hand may lose its grip (the block stays), and a block is put down with noise; what is put
into another block is pushed up onto it, and what stands on nothing falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import pdsketch as pds
from pdsketch.nets import Offset

WIDTH = 0.04
SKETCH = """
(define (domain tabletop)
  (:types block - object pose - vector[float32, 3, tolerance=0.005])
  (:predicates (at [return_type=pose] ?b - block))
  (:derived (left-of ?a - block ?b - block) (??f (at ?a) (at ?b)))
  (:derived (on ?a - block ?b - block) (??f (at ?a) (at ?b)))
  (:action move-to :parameters (?b - block ?p - pose) :effect (assign (at ?b) ?p)))
"""
DOMAIN = pds.parse_domain(SKETCH)
OFFSETS = {"left-of": (-0.1, 0.0, 0.0), "on": (0.0, 0.0, WIDTH)}
"""What the oracle aims at."""


def new_model(**modules: Any) -> pds.Model:
    """A model of the sketch, whose relations are offsets."""
    own = {name: Offset(3) for name in OFFSETS}
    return pds.Model(
        DOMAIN, modules={f"derived::{name}::f": module for name, module in {**own, **modules}.items()}
    )


class Tabletop:
    """A table of a metre with blocks on it."""

    domain = DOMAIN

    def __init__(
        self, blocks: int = 4, goal: str = "(left-of b0 b1)", noise: float = 0.0, lost: float = 0.0
    ) -> None:
        self.blocks, self.goal, self.noise, self.lost = blocks, goal, noise, lost
        self.at = np.zeros((blocks, 3))
        self.executed = True

    def reset(self, seed: int | None = None) -> pds.State:
        """Blocks in random places, apart from each other."""
        self.random = np.random.default_rng(seed)
        while True:
            self.at[:, :2] = self.random.uniform(0.1, 0.9, (self.blocks, 2))
            self.at[:, 2] = WIDTH / 2
            apart = np.linalg.norm(self.at[:, None, :2] - self.at[None, :, :2], axis=-1)
            if (apart + np.eye(self.blocks) > 2 * WIDTH).all():
                return self.observe()

    def step(self, action: tuple[Any, ...]) -> pds.State:
        """``("move-to", block, pose)``."""
        _, name, pose = action
        number = int(name[1:])
        if self.random.uniform() >= self.lost:
            self.at[number] = pose
            self.at[number, :2] += self.random.normal(0.0, self.noise, 2) if self.noise else 0.0
            self._fall()
        return self.observe()

    def _fall(self) -> None:
        """Every block rests on what is below it, the lowest first."""
        order = np.argsort(self.at[:, 2], kind="stable")
        for place, i in enumerate(order):
            below = [
                self.at[j, 2] + WIDTH
                for j in order[:place]
                if (np.abs(self.at[i, :2] - self.at[j, :2]) < WIDTH * 0.6).all()
            ]
            self.at[i, 2] = max([WIDTH / 2, *below])

    def observe(self) -> pds.State:
        """The places of all blocks."""
        return pds.State(DOMAIN, {"block": [f"b{i}" for i in range(self.blocks)]}, {"at": self.at.copy()})

    def holds(self, relation: str, a: str, b: str) -> bool:
        """Whether two blocks stand in a relation, in truth."""
        off = self.at[int(a[1:])] - self.at[int(b[1:])] - OFFSETS[relation]
        room = (0.04, 0.04, 0.02) if relation == "left-of" else (0.024, 0.024, 0.01)
        return bool((np.abs(off) < room).all())

    @property
    def success(self) -> bool:
        """Whether every relation that the goal names holds."""
        atoms = [
            part.split()
            for part in self.goal.replace("(and", " ").replace("(", " ").split(")")
            if part.strip()
        ]
        return all(self.holds(*atom) for atom in atoms)


def demonstrations(count: int, seed: int = 0, blocks: int = 4) -> list[pds.Episode]:
    """The oracle puts one block somewhere, and another one in relation to it."""
    random = np.random.default_rng(seed)
    episodes = []
    for number in range(count):
        relation = ("left-of", "on")[number % 2]
        a, b = random.choice(blocks, 2, replace=False)
        world = Tabletop(blocks, f"({relation} b{a} b{b})", noise=0.005)
        states = [world.reset(seed * 1_000_003 + number)]
        success, actions = [world.success], []
        place = (*random.uniform(0.3, 0.7, 2), WIDTH / 2)
        for block, pose in ((b, place), (a, None)):
            target = tuple(world.at[b] + OFFSETS[relation]) if pose is None else pose
            actions.append(("move-to", f"b{block}", tuple(float(x) for x in target)))
            states.append(world.step(actions[-1]))
            success.append(world.success)
        episodes.append(pds.Episode(states, actions, world.goal, [int(s) for s in success]))
    return episodes


def solved(
    model: pds.Model, goal: str, seeds: Sequence[int], blocks: int = 5, **options: Any
) -> list[tuple[bool, pds.Result]]:
    """Plan from each seed's world, carry the plan out without noise: whether it succeeded, and the result."""
    found = []
    for seed in seeds:
        world = Tabletop(blocks, goal)
        result = pds.plan(model, world.reset(seed), goal, **options)
        for action in result.plan or ():
            world.step(action)
        found.append((world.success, result))
    return found


@lru_cache(maxsize=1)
def learned() -> pds.Model:
    """A model that learned both relations from 100 demonstrations; shared, and not to be changed."""
    model = new_model()
    pds.fit(model, demonstrations(100), steps=400, learning_rate=0.01)
    return model
