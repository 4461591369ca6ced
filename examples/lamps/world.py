"""The lamps' world: a robot on an unbounded grid, and lamps that it switches where it stands."""

from __future__ import annotations

import random
from typing import Any

import pdsketch as pds

MOVES = {"east": (1, 0), "west": (-1, 0), "north": (0, 1), "south": (0, -1)}
HUES = {"red": 0, "green": 1, "blue": 2}


class Lamps:
    """One world with lamps at random places. It takes the sketch's own actions."""

    def __init__(self, domain: Any, lamps: int, seed: int) -> None:
        rng = random.Random(seed)
        cells = rng.sample([(x, y) for x in range(5) for y in range(5)], lamps)
        self.domain = domain
        self.robot = (rng.randrange(5), rng.randrange(5))
        self.lamps = [{"at": cell, "hue": rng.randrange(3), "lit": rng.random() < 0.3} for cell in cells]

    def step(self, action: tuple[str, ...]) -> None:
        """Carry out an action of the sketch."""
        if action[0] == "switch":
            for lamp in self.lamps:
                if lamp["at"] == self.robot:
                    lamp["lit"] = not lamp["lit"]
        else:
            dx, dy = MOVES[action[0]]
            self.robot = (self.robot[0] + dx, self.robot[1] + dy)

    def observe(self) -> Any:
        """The state of the world, as the sketch sees it."""
        return pds.State(
            self.domain,
            objects={"robot": ["rob"], "lamp": [f"lamp#{i}" for i in range(len(self.lamps))]},
            values={
                "robot-at": [self.robot],
                "lamp-at": [lamp["at"] for lamp in self.lamps],
                "lamp-hue": [lamp["hue"] for lamp in self.lamps],
                "lit": [lamp["lit"] for lamp in self.lamps],
            },
        )

    def satisfies(self, goal: str) -> bool:
        """The goal's truth in this world itself: with exact functions in the sketch's blanks."""
        exact = {
            "derived::red::f": lambda hue: hue[..., HUES["red"]],
            "derived::blue::f": lambda hue: hue[..., HUES["blue"]],
            "derived::in-reach::f": lambda a, b: ((a - b).abs().amax(-1) < 0.5).float(),
        }
        return bool(pds.Model(self.domain, modules=exact).holds(self.observe(), goal, crisp=True))


def demonstration(domain: Any, seed: int, steps: int = 12) -> Any:
    """A walk from lamp to lamp that switches some, judged for the goal that a red (or blue) lamp is lit."""
    rng = random.Random(seed)
    world = Lamps(domain, lamps=3, seed=seed)
    hue = rng.choice(["red", "blue"])
    states, actions, success = [world.observe()], [], [_some_lit(world, hue)]
    target = rng.choice(world.lamps)
    for _ in range(steps):
        action = (_towards(world, target["at"], rng), "rob")
        if action[0] == "switch":
            target = rng.choice(world.lamps)
        world.step(action)
        states.append(world.observe())
        actions.append(action)
        success.append(_some_lit(world, hue))
    return pds.Episode(states, actions, f"(exists (?l - lamp) (and ({hue} ?l) (lit ?l)))", success)


def _towards(world: Lamps, place: tuple[int, int], rng: random.Random) -> str:
    if rng.random() < 0.2:
        return rng.choice([*MOVES, "switch"])
    for name, (dx, dy) in MOVES.items():
        if (place[0] - world.robot[0]) * dx > 0 or (place[1] - world.robot[1]) * dy > 0:
            return name
    return "switch"


def _some_lit(world: Lamps, hue: str) -> int:
    return int(any(lamp["lit"] and lamp["hue"] == HUES[hue] for lamp in world.lamps))
