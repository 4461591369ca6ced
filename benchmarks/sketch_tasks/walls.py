"""Robots on grids whose walls, gates and ice change what a move does."""
# ruff: noqa: D102, RUF012, PLW0108  (methods are explained in `core.Task`)

from __future__ import annotations

import numpy as np
import torch

from sketch_tasks.core import (
    DIRECTIONS,
    Ground,
    Rng,
    Task,
    Truth,
    Values,
    ahead,
    among,
    at_offset,
    border,
    cells,
    moved,
    same_place,
    task,
    wrote,
)

NAMES = ("east", "north", "west", "south")
TURNS = """
    (:action left :parameters (?r - robot) :effect (heading::assign ?r (??f (heading ?r))))
    (:action right :parameters (?r - robot) :effect (heading::assign ?r (??f (heading ?r))))
"""
TURNED = {"left": lambda heading: (heading + 1) % 4, "right": lambda heading: (heading + 3) % 4}


class Room(Task):
    """A robot in a walled room, whose walls it cannot enter; a flag stands somewhere."""

    inner = 0
    sizes = (0, 1)
    larger = (4, 6)

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        width, height = 3 + size + int(rng.integers(2)), 2 + size + int(rng.integers(2))
        inside = cells(rng, width, height, self.inner * (width * height) // 10)
        walls = np.concatenate([border(width, height), inside])
        at = cells(rng, width, height, 2, apart=inside)
        more = {"heading": rng.integers(4, size=1)} if "heading" in self.sketch else {}
        return {"robot": 1, "wall": len(walls), "flag": 1}, {
            "at": at[:1],
            "where": walls,
            "spot": at[1:],
            **more,
        }

    def move(self, v: Values, direction: int) -> Values:
        to = v["at"][0] + DIRECTIONS[direction]
        return v if among(to, v["where"]).any() else wrote(v, ("at", 0, to))

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] in ("left", "right"):
            return wrote(v, ("heading", 0, (v["heading"][0] + (1 if action[0] == "left" else 3)) % 4))
        return self.move(v, int(v["heading"][0]) if action[0] == "forward" else NAMES.index(action[0]))

    def actions(self, v: Values) -> list[Ground]:
        return [("left", 0), ("right", 0), ("forward", 0)] if "heading" in v else [(n, 0) for n in NAMES]


AT_FLAG = "(exists (?r - robot ?f - flag) (reached ?r ?f))"
TYPES = """
    (:types robot wall flag - object place - vector[float32, 2, tolerance=0.1] direction - int64[choices=4])
"""
OBSERVED = """(at [return_type=place] ?r - robot) (where [return_type=place] ?w - wall)
      (spot [return_type=place] ?f - flag)"""


def at_flag(v: Values) -> bool:
    """The robot stands on the flag."""
    return bool(among(v["at"][0], v["spot"]).any())


def touching(direction: int) -> Truth:
    """A wall is next to the robot."""
    return lambda v: bool(among(v["at"][0] + DIRECTIONS[direction], v["where"]).any())


@task
class WallBlocks(Room):
    """One action, and a border that blocks it: the smallest gate under a quantifier."""

    half = "choose"
    episodes, length, larger = 300, 1, (3, 5)
    sketch = f"""{TYPES} (:predicates {OBSERVED})
    (:derived (touching ?r - robot) (exists (?w - wall) (??f (at ?r) (where ?w))))
    (:action east :parameters (?r - robot)
      :effect (at::cond-assign ?r (not (exists (?w - wall) (??blocks (at ?r) (where ?w)))) (??to (at ?r))))
    """
    goals = {"(exists (?r - robot) (touching ?r))": touching(0)}
    exact = {"touching": at_offset(1, 0), "east::blocks": at_offset(1, 0), "east::to": moved(1, 0)}

    def actions(self, v: Values) -> list[Ground]:
        return [("east", 0)]


@task
class ScatteredWalls(Room):
    """The same towards the south, with walls inside of the room as well, and no goal that speaks of walls."""

    half = "check"
    inner = 2
    episodes, length, larger = 600, 1, (4, 6)
    sketch = f"""{TYPES} (:predicates {OBSERVED})
    (:derived (below ?r - robot ?f - flag) (??f (at ?r) (spot ?f)))
    (:action south :parameters (?r - robot)
      :effect (at::cond-assign ?r (not (exists (?w - wall) (??blocks (at ?r) (where ?w)))) (??to (at ?r))))
    """
    goals = {"(exists (?r - robot ?f - flag) (below ?r ?f))": lambda v: v["at"][0, 1] < v["spot"][0, 1] - 0.5}
    exact = {
        "below": lambda at, spot: at[..., 1] < spot[..., 1] - 0.5,
        "south::blocks": at_offset(0, -1),
        "south::to": moved(0, -1),
    }

    def actions(self, v: Values) -> list[Ground]:
        return [("south", 0)]


@task
class WallsFour(Room):
    """Four moves, each with blanks of its own for what blocks it and where it leads."""

    half = "choose"
    inner = 1
    sketch = f"""{TYPES} (:predicates {OBSERVED})
    (:derived (reached ?r - robot ?f - flag) (??f (at ?r) (spot ?f)))
    """ + "".join(
        f"""(:action {name} :parameters (?r - robot)
      :effect (at::cond-assign ?r (not (exists (?w - wall) (??blocks (at ?r) (where ?w)))) (??to (at ?r))))
        """
        for name in NAMES
    )
    goals = {AT_FLAG: at_flag}
    exact = {
        "reached": same_place,
        **{f"{n}::blocks": at_offset(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
        **{f"{n}::to": moved(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
    }


@task
class WallsByDirection(Room):
    """One move, whose direction is an int that two other actions turn."""

    half = "check"
    inner = 1
    length = 8
    sketch = f"""{TYPES} (:predicates {OBSERVED} (heading [return_type=direction] ?r - robot))
    (:derived (reached ?r - robot ?f - flag) (??f (at ?r) (spot ?f)))
    {TURNS}
    (:action forward :parameters (?r - robot)
      :effect (at::cond-assign ?r
        (not (exists (?w - wall) (??blocks (at ?r) (heading ?r) (where ?w)))) (??to (at ?r) (heading ?r))))
    """
    goals = {AT_FLAG: at_flag}
    exact = {
        "reached": same_place,
        "forward::blocks": lambda at, heading, where: same_place(ahead(at, heading), where),
        "forward::to": ahead,
        **TURNED,
    }


@task
class OneWayGates(Room):
    """Gates stand in the room, and each lets through only those who come in its own direction."""

    half = "choose"
    length = 8
    sizes, larger = (1, 2), (4, 5)
    sketch = f"""
    (:types robot gate flag - object place - vector[float32, 2, tolerance=0.1] direction - int64[choices=4])
    (:predicates (at [return_type=place] ?r - robot) (heading [return_type=direction] ?r - robot)
      (where [return_type=place] ?g - gate) (way [return_type=direction] ?g - gate)
      (spot [return_type=place] ?f - flag))
    (:derived (reached ?r - robot ?f - flag) (??f (at ?r) (spot ?f)))
    {TURNS}
    (:action forward :parameters (?r - robot)
      :effect (at::cond-assign ?r
        (not (exists (?g - gate) (and (??faces (at ?r) (heading ?r) (where ?g))
                                      (not (??fits (heading ?r) (way ?g))))))
        (??to (at ?r) (heading ?r))))
    """
    goals = {AT_FLAG: at_flag}
    exact = {
        "reached": same_place,
        "forward::faces": lambda at, heading, where: same_place(ahead(at, heading), where),
        "forward::fits": lambda heading, way: heading == way,
        "forward::to": ahead,
        **TURNED,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        side = 2 + size
        found = cells(rng, side, side, 2 + side * side // 3)
        return {"robot": 1, "gate": len(found) - 2, "flag": 1}, {
            "at": found[:1],
            "heading": rng.integers(4, size=1),
            "where": found[2:],
            "way": rng.integers(4, size=len(found) - 2),
            "spot": found[1:2],
        }

    def move(self, v: Values, direction: int) -> Values:
        to = v["at"][0] + DIRECTIONS[direction]
        stops = among(to, v["where"]) & (v["way"] != direction)
        return v if stops.any() else wrote(v, ("at", 0, to))


@task
class Ice(Task):
    """Who starts from ice goes two cells at once."""

    half = "check"
    larger = (3,)
    sketch = """
    (:types robot patch flag - object place - vector[float32, 2, tolerance=0.1])
    (:predicates (at [return_type=place] ?r - robot) (where [return_type=place] ?p - patch)
      (spot [return_type=place] ?f - flag))
    (:derived (reached ?r - robot ?f - flag) (??f (at ?r) (spot ?f)))
    (:derived (on-ice ?r - robot) (exists (?p - patch) (??under (at ?r) (where ?p))))
    """ + "".join(
        f"""(:action {name} :parameters (?r - robot) :effect (and
          (when (on-ice ?r) (assign (at ?r) (??slide (at ?r))))
          (when (not (on-ice ?r)) (assign (at ?r) (??walk (at ?r))))))
        """
        for name in NAMES
    )
    goals = {AT_FLAG: at_flag}
    unseen = {
        "(exists (?r - robot) (on-ice ?r))": lambda v: bool(among(v["at"][0], v["where"]).any()),
    }
    exact = {
        "reached": same_place,
        "on-ice": same_place,
        **{f"{n}::walk": moved(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
        **{f"{n}::slide": moved(*d) for n, d in zip(NAMES, (2 * DIRECTIONS).tolist(), strict=True)},
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        side = 3 + size
        at, patches = cells(rng, side, side, 2), cells(rng, side, side, side * side // 3)
        return {"robot": 1, "patch": len(patches), "flag": 1}, {
            "at": at[:1],
            "where": patches,
            "spot": at[1:],
        }

    def actions(self, v: Values) -> list[Ground]:
        return [(name, 0) for name in NAMES]

    def simulate(self, v: Values, action: Ground) -> Values:
        far = 2 if among(v["at"][0], v["where"]).any() else 1
        return wrote(v, ("at", 0, v["at"][0] + far * DIRECTIONS[NAMES.index(action[0])]))


@task
class Portals(Task):
    """Stepping forward on a portal leads to the portal of the same colour; a row of numbered cells."""

    half = "choose"
    sizes, larger, length = (6, 8), (14,), 8
    sketch = """
    (:types robot portal flag - object spot - float32 colour - int64[choices=4])
    (:predicates (at [return_type=spot] ?r - robot) (door [return_type=spot] ?p - portal)
      (hue [return_type=colour] ?p - portal) (goal [return_type=spot] ?f - flag))
    (:derived (reached ?r - robot ?f - flag) (??f (at ?r) (goal ?f)))
    (:derived (stands ?r - robot ?p - portal) (??f (at ?r) (door ?p)))
    (:action walk :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
    (:action back :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
    (:action jump :parameters (?r - robot ?p ?q - portal)
      :precondition (and (stands ?r ?p) (??joined (hue ?p) (hue ?q)))
      :effect (assign (at ?r) (??to (door ?q))))
    """
    goals = {AT_FLAG: lambda v: bool(abs(v["at"][0] - v["goal"][0]) < 0.5)}
    exact = {
        "reached": lambda a, b: (a - b).abs() < 0.5,
        "stands": lambda a, b: (a - b).abs() < 0.5,
        "walk": lambda a: a + 1,
        "back": lambda a: a - 1,
        "jump::joined": lambda a, b: a == b,
        "jump::to": lambda a: a,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        spots = rng.permutation(size).astype(np.float32)
        hues = np.repeat(rng.permutation(4), 2)[: 2 * (size // 4)]
        return {"robot": 1, "portal": len(hues), "flag": 1}, {
            "at": rng.integers(size, size=1).astype(np.float32),
            "door": spots[: len(hues)],
            "hue": hues,
            "goal": rng.integers(size, size=1).astype(np.float32),
        }

    def actions(self, v: Values) -> list[Ground]:
        count = len(v["door"])
        jumps = [("jump", 0, p, q) for p in range(count) for q in range(count) if p != q]
        return [("walk", 0), ("back", 0), *jumps]

    def choose(self, rng: Rng, v: Values) -> Ground:
        if rng.random() < 0.4:
            return ("walk" if v["at"][0] < v["door"].mean() else "back", 0)
        here = np.flatnonzero(np.abs(v["door"] - v["at"][0]) < 0.5)
        if len(here) and rng.random() < 0.8:
            p, q = int(here[0]), int(rng.integers(len(v["door"])))
            alike = np.flatnonzero(v["hue"] == v["hue"][p])
            q = int(rng.choice(alike)) if rng.random() < 0.5 else q
            return ("jump", 0, p, q) if p != q else ("walk", 0)
        return super().choose(rng, v)

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] != "jump":
            return wrote(v, ("at", 0, v["at"][0] + (1 if action[0] == "walk" else -1)))
        _, _, p, q = action
        if abs(v["at"][0] - v["door"][p]) > 0.5 or v["hue"][p] != v["hue"][q]:
            return None
        return wrote(v, ("at", 0, v["door"][q]))


def _far_enough(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a - b).norm(dim=-1) < 1.6


@task
class Springs(Task):
    """Who leaves a spring goes further, and another way, than who does not."""

    half = "choose"
    larger = (3,)
    hops, leaps = DIRECTIONS, np.array([(2, 0), (1, 2), (-2, 0), (-1, -2)], dtype=np.float32)
    sketch = """
    (:types frog spring lily - object place - vector[float32, 2, tolerance=0.1])
    (:predicates (at [return_type=place] ?f - frog) (where [return_type=place] ?s - spring)
      (spot [return_type=place] ?l - lily))
    (:derived (home ?f - frog ?l - lily) (??f (at ?f) (spot ?l)))
    (:derived (sprung ?f - frog) (exists (?s - spring) (??on (at ?f) (where ?s))))
    """ + "".join(
        f"""(:action {name} :parameters (?f - frog) :effect (and
          (when (sprung ?f) (assign (at ?f) (??leap (at ?f))))
          (when (not (sprung ?f)) (assign (at ?f) (??hop (at ?f))))))
        """
        for name in NAMES
    )
    goals = {
        "(exists (?f - frog ?l - lily) (home ?f ?l))": lambda v: bool(among(v["at"][0], v["spot"]).any())
    }
    unseen = {"(exists (?f - frog) (sprung ?f))": lambda v: bool(among(v["at"][0], v["where"]).any())}
    exact = {
        "home": same_place,
        "sprung": same_place,
        **{f"{n}::hop": moved(*d) for n, d in zip(NAMES, hops.tolist(), strict=True)},
        **{f"{n}::leap": moved(*d) for n, d in zip(NAMES, leaps.tolist(), strict=True)},
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        side = 3 + size
        at, springs = cells(rng, side, side, 2), cells(rng, side, side, side * side // 3)
        return {"frog": 1, "spring": len(springs), "lily": 1}, {
            "at": at[:1],
            "where": springs,
            "spot": at[1:],
        }

    def actions(self, v: Values) -> list[Ground]:
        return [(name, 0) for name in NAMES]

    def simulate(self, v: Values, action: Ground) -> Values:
        steps = self.leaps if among(v["at"][0], v["where"]).any() else self.hops
        return wrote(v, ("at", 0, v["at"][0] + steps[NAMES.index(action[0])]))


@task
class Fog(Task):
    """A lantern shows what is within a distance; things that were shown stay known."""

    half = "check"
    sizes, larger = (3, 4), (7,)
    sketch = """
    (:types robot stone - object place - vector[float32, 2, tolerance=0.1])
    (:predicates (at [return_type=place] ?r - robot) (where [return_type=place] ?s - stone)
      (known ?s - stone))
    (:derived (near ?r - robot ?s - stone) (??f (at ?r) (where ?s)))
    (:action look :parameters (?r - robot)
      :effect (forall (?s - stone) (when (near ?r ?s) (assign (known ?s) (??shown (known ?s))))))
    """ + "".join(
        f"(:action {name} :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))\n" for name in NAMES
    )
    goals = {"(exists (?s - stone) (known ?s))": lambda v: bool(v["known"].any())}
    unseen = {
        "(forall (?s - stone) (known ?s))": lambda v: bool(v["known"].all()),
        "(exists (?r - robot ?s - stone) (and (near ?r ?s) (not (known ?s))))": lambda v: bool(
            (_shown(v) & ~v["known"]).any()
        ),
    }
    exact = {
        "near": _far_enough,
        "look": lambda known: torch.ones_like(known),
        **{n: moved(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        stones = cells(rng, size, size, size - 1)
        return {"robot": 1, "stone": len(stones)}, {
            "at": cells(rng, size, size, 1),
            "where": stones,
            "known": rng.random(len(stones)) < 0.2,
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("look", 0), *[(name, 0) for name in NAMES]]

    def choose(self, rng: Rng, v: Values) -> Ground:
        return ("look", 0) if rng.random() < 0.4 else super().choose(rng, v)

    def simulate(self, v: Values, action: Ground) -> Values:
        if action[0] == "look":
            return wrote(v, ("known", _shown(v), True))
        return wrote(v, ("at", 0, v["at"][0] + DIRECTIONS[NAMES.index(action[0])]))


def _shown(v: Values) -> np.ndarray:
    return np.linalg.norm(v["where"] - v["at"][0], axis=-1) < 1.6
