"""All, some, exactly one, at least k, more than: goals and gates over sets of things."""
# ruff: noqa: D102, RUF012, PLW0108, PLC3002, B023  (methods are explained in `core.Task`)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from sketch_tasks.core import (
    DIRECTIONS,
    Ground,
    Rng,
    Task,
    Values,
    among,
    cells,
    moved,
    same_place,
    task,
    wrote,
)


def holding(condition: Callable[..., Any], least: int) -> Callable[..., Any]:
    """Exact: at least so many elements of a set meet a condition."""

    def counted(given: Any) -> Any:
        values, there = given
        return (condition(values) & there).sum(-1) >= least

    return counted


def invert(on: Any) -> Any:
    """Exact: the other truth."""
    return ~on


class Panel(Task):
    """Switches of several kinds, which can be flipped, and a machine that looks at all of them."""

    sizes, larger = (3, 4, 5), (7, 9)
    episodes = 200

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"lever": size, "machine": 1}, {
            "up": rng.random(size) < rng.choice([0.2, 0.5]),
            "hue": rng.integers(3, size=size),
            "running": np.array([rng.random() < 0.3]),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("start", 0), ("stop", 0), *[("flip", lever) for lever in range(len(v["up"]))]]

    def choose(self, rng: Rng, v: Values) -> Ground:
        if rng.random() < 0.4:
            return ("start", 0) if not v["running"][0] or rng.random() < 0.3 else ("stop", 0)
        return super().choose(rng, v)

    def enough(self, v: Values) -> bool:
        raise NotImplementedError

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "flip":
            return wrote(v, ("up", action[1], not v["up"][action[1]]))
        if action[0] == "stop":
            return wrote(v, ("running", 0, False))
        return wrote(v, ("running", 0, True)) if self.enough(v) else self.failed(v)

    def failed(self, v: Values) -> Values | None:
        return v


PANEL = """
    (:types lever machine - object colour - int64[choices=3])
    (:predicates (up ?l - lever) (hue [return_type=colour] ?l - lever) (running ?m - machine))
    (:action flip :parameters (?l - lever) :effect (assign (up ?l) (??f (up ?l))))
    (:action stop :parameters (?m - machine) :effect (assign (running ?m) (??f (running ?m))))
"""
PANEL_EXACT = {"flip": invert, "stop": lambda running: torch.zeros_like(running)}
RUNS = {"(exists (?m - machine) (running ?m))": lambda v: bool(v["running"].any())}


@task
class AtLeastTwo(Panel):
    """The machine starts where at least two levers are up; nothing happens elsewhere."""

    half = "choose"
    sketch = f"""{PANEL}
    (:action start :parameters (?m - machine) :effect (when (??enough (up ??)) (running ?m)))
    """
    goals = RUNS
    exact = {**PANEL_EXACT, "start": holding(lambda up: up, 2)}

    def enough(self, v: Values) -> bool:
        return v["up"].sum() >= 2


@task
class MoreUpThanDown(Panel):
    """The machine starts where more levers are up than down: two counts are compared."""

    half = "choose"
    sketch = f"""{PANEL}
    (:derived (most ?m - machine) (??f (up ??)))
    (:action start :parameters (?m - machine) :effect (when (most ?m) (running ?m)))
    """
    goals = {**RUNS, "(exists (?m - machine) (most ?m))": lambda v: bool(v["up"].mean() > 0.5)}
    exact = {
        **PANEL_EXACT,
        "most": lambda given: (given[0] & given[1]).sum(-1) > (~given[0] & given[1]).sum(-1),
    }

    def enough(self, v: Values) -> bool:
        return bool(v["up"].mean() > 0.5)


@task
class Quorum(Panel):
    """At least three levers that are not green must be up, or the start is refused: a set of pairs."""

    half = "check"
    episodes = 300
    sketch = f"""{PANEL}
    (:action start :parameters (?m - machine)
      :precondition (??enough (foreach (?l - lever) (when (up ?l) (hue ?l)))) :effect (running ?m))
    """
    goals = RUNS
    exact = {**PANEL_EXACT, "start": holding(lambda hue: hue != 1, 3)}

    def enough(self, v: Values) -> bool:
        return (v["up"] & (v["hue"] != 1)).sum() >= 3

    def failed(self, v: Values) -> None:
        return None


@task
class MoreRedThanGreen(Panel):
    """A derived predicate compares two counts, and goals alone tell it."""

    half = "check"
    episodes = 300
    sketch = f"""{PANEL}
    (:derived (majority ?m - machine) (??f (foreach (?l - lever) (when (up ?l) (hue ?l)))))
    (:action start :parameters (?m - machine) :effect (when (majority ?m) (running ?m)))
    """
    goals = {**RUNS, "(exists (?m - machine) (majority ?m))": lambda v: _majority(v)}
    exact = {
        **PANEL_EXACT,
        "majority": lambda given: ((given[0] == 0) & given[1]).sum(-1) > ((given[0] == 1) & given[1]).sum(-1),
    }

    def enough(self, v: Values) -> bool:
        return _majority(v)


def _majority(v: Values) -> bool:
    return bool((v["up"] & (v["hue"] == 0)).sum() > (v["up"] & (v["hue"] == 1)).sum())


@task
class ExactlyOne(Panel):
    """The machine starts where exactly one red lever is up, written with quantifiers over a blank."""

    half = "choose"
    sketch = f"""{PANEL}
    (:derived (active ?l - lever) (??f (up ?l) (hue ?l)))
    (:action start :parameters (?m - machine)
      :effect (when (exists (?l - lever) (and (active ?l)
          (forall (?k - lever) (implies (active ?k) (= ?k ?l))))) (running ?m)))
    """
    goals = RUNS
    unseen = {"(exists (?l - lever) (active ?l))": lambda v: bool((v["up"] & (v["hue"] == 0)).any())}
    exact = {**PANEL_EXACT, "active": lambda up, hue: up & (hue == 0)}

    def enough(self, v: Values) -> bool:
        return (v["up"] & (v["hue"] == 0)).sum() == 1


@task
class AllLamps(Task):
    """Lamps on a grid; the robot switches those in reach; the goals of training name one colour only."""

    half = "choose"
    sizes, larger = (3,), (5,)
    episodes, length = 150, 12
    names = ("east", "north", "west", "south")
    sketch = """
    (:types robot lamp - object place - vector[float32, 2, tolerance=0.1] colour - int64[choices=3])
    (:predicates (robot-at [return_type=place] ?r - robot) (lamp-at [return_type=place] ?l - lamp)
      (lamp-hue [return_type=colour] ?l - lamp) (lit ?l - lamp))
    (:derived (red ?l - lamp) (??f (lamp-hue ?l)))
    (:derived (blue ?l - lamp) (??f (lamp-hue ?l)))
    (:derived (in-reach ?r - robot ?l - lamp) (??f (robot-at ?r) (lamp-at ?l)))
    (:action switch :parameters (?r - robot)
      :effect (foreach (?l - lamp) (when (in-reach ?r ?l) (assign (lit ?l) (??f (lit ?l))))))
    """ + "".join(
        f"(:action {name} :parameters (?r - robot) :effect (robot-at::assign ?r (??f (robot-at ?r))))\n"
        for name in names
    )
    goals = {
        f"(exists (?l - lamp) (and ({word} ?l) (lit ?l)))": (
            lambda hue: lambda v: bool(((v["lamp-hue"] == hue) & v["lit"]).any())
        )(hue)
        for word, hue in (("red", 0), ("blue", 2))
    }
    unseen = {
        "(forall (?l - lamp) (implies (red ?l) (lit ?l)))": lambda v: bool(
            (v["lit"] | (v["lamp-hue"] != 0)).all()
        ),
        "(exists (?r - robot ?l - lamp) (and (in-reach ?r ?l) (blue ?l) (not (lit ?l))))": lambda v: bool(
            (among(v["robot-at"][0], v["lamp-at"]) & (v["lamp-hue"] == 2) & ~v["lit"]).any()
        ),
    }
    exact = {
        "red": lambda hue: hue == 0,
        "blue": lambda hue: hue == 2,
        "in-reach": same_place,
        "switch": invert,
        **{n: moved(*d) for n, d in zip(names, DIRECTIONS.tolist(), strict=True)},
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"robot": 1, "lamp": size}, {
            "robot-at": cells(rng, size, size, 1),
            "lamp-at": cells(rng, size, size, size),
            "lamp-hue": rng.integers(3, size=size),
            "lit": rng.random(size) < 0.3,
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("switch", 0), *[(name, 0) for name in self.names]]

    def choose(self, rng: Rng, v: Values) -> Ground:
        if among(v["robot-at"][0], v["lamp-at"]).any() and rng.random() < 0.5:
            return ("switch", 0)
        good = np.flatnonzero(
            DIRECTIONS @ (v["lamp-at"][rng.integers(len(v["lit"]))] - v["robot-at"][0]) > 0.5
        )
        return (self.names[int(rng.choice(good))], 0) if len(good) else super().choose(rng, v)

    def simulate(self, v: Values, action: Ground) -> Values:
        if action[0] == "switch":
            here = among(v["robot-at"][0], v["lamp-at"])
            return wrote(v, ("lit", here, ~v["lit"][here]))
        return wrote(v, ("robot-at", 0, v["robot-at"][0] + DIRECTIONS[self.names.index(action[0])]))


@task
class TablesServed(Task):
    """Each table needs a full cup of the colour that its guest likes: forall, exists and three blanks."""

    half = "check"
    sizes, larger = (2,), (3,)
    episodes = 300
    depth = 40
    sketch = """
    (:types table cup - object spot - float32 level - int64[choices=4] colour - int64[choices=3])
    (:predicates (stands [return_type=spot] ?t - table) (cup-at [return_type=spot] ?c - cup)
      (filled [return_type=level] ?c - cup) (hue [return_type=colour] ?c - cup)
      (likes [return_type=colour] ?t - table))
    (:derived (on ?c - cup ?t - table) (??f (cup-at ?c) (stands ?t)))
    (:derived (full ?c - cup) (??f (filled ?c)))
    (:derived (liked ?c - cup ?t - table) (??f (hue ?c) (likes ?t)))
    (:derived (served ?t - table) (exists (?c - cup) (and (on ?c ?t) (full ?c) (liked ?c ?t))))
    (:action pour :parameters (?c - cup) :effect (assign (filled ?c) (??f (filled ?c))))
    (:action dye :parameters (?c - cup) :effect (assign (hue ?c) (??f (hue ?c))))
    (:action bring :parameters (?c - cup ?t - table) :effect (assign (cup-at ?c) (??f (stands ?t))))
    """
    goals = {
        "(forall (?t - table) (served ?t))": lambda v: bool(_served(v).all()),
        "(exists (?t - table) (served ?t))": lambda v: bool(_served(v).any()),
        "(exists (?c - cup) (full ?c))": lambda v: bool((v["filled"] == 3).any()),
    }
    unseen = {
        "(exists (?t - table) (forall (?c - cup) (on ?c ?t)))": lambda v: bool(
            (np.abs(v["cup-at"][:, None] - v["stands"]) < 0.5).all(0).any()
        )
    }
    exact = {
        "on": lambda a, b: (a - b).abs() < 0.5,
        "full": lambda level: level == 3,
        "liked": lambda a, b: a == b,
        "pour": lambda level: (level + 1).clamp(max=3),
        "dye": lambda hue: (hue + 1) % 3,
        "bring": lambda spot: spot,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        spots = rng.permutation(3 * size).astype(np.float32)
        near = rng.integers(2 * size, size=size + 1)
        return {"table": size, "cup": size + 1}, {
            "stands": spots[:size],
            "cup-at": spots[near],
            "filled": rng.integers(1, 4, size=size + 1),
            "hue": rng.integers(3, size=size + 1),
            "likes": rng.integers(3, size=size),
        }

    def actions(self, v: Values) -> list[Ground]:
        cups, tables = len(v["hue"]), len(v["likes"])
        brings = [("bring", c, t) for c in range(cups) for t in range(tables)]
        return [*brings, *[(name, c) for name in ("pour", "dye") for c in range(cups)]]

    def simulate(self, v: Values, action: Ground) -> Values:
        name, c, *rest = action
        if name == "bring":
            return wrote(v, ("cup-at", c, v["stands"][rest[0]]))
        if name == "pour":
            return wrote(v, ("filled", c, min(3, v["filled"][c] + 1)))
        return wrote(v, ("hue", c, (v["hue"][c] + 1) % 3))


def _served(v: Values) -> np.ndarray:
    on = np.abs(v["cup-at"][:, None] - v["stands"]) < 0.5
    return (on & (v["filled"] == 3)[:, None] & (v["hue"][:, None] == v["likes"])).any(0)
