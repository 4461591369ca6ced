"""Preconditions: rare refusals, none at all, inputs that no try had, and gates made of several blanks."""
# ruff: noqa: D102, RUF012, PLW0108  (methods are explained in `core.Task`)

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sketch_tasks.core import (
    Ground,
    Rng,
    Task,
    Values,
    among,
    at_offset,
    cells,
    floats,
    moved,
    task,
    wrote,
)


@task
class RareRefusals(Task):
    """Two refusals in some 120 tries, at the ends of a rail; everything between was fine."""

    half = "choose"
    episodes, length = 118, 1
    sizes, larger = (1,), (4,)
    sketch = """
    (:types part - object spot - vector[float32, 2])
    (:predicates (at [return_type=spot] ?p - part) (held ?p - part))
    (:action grasp :parameters (?p - part) :precondition (??can (at ?p)) :effect (held ?p))
    (:action release :parameters (?p - part) :effect (not (held ?p)))
    """
    goals = {"(exists (?p - part) (held ?p))": lambda v: bool(v["held"].any())}
    unseen = {
        "(exists (?p ?q - part) (and (not (= ?p ?q)) (held ?p) (held ?q)))": lambda v: bool(
            v["held"].sum() > 1
        )
    }
    exact = {"grasp": lambda at: (at[..., 0] > 0.06) & (at[..., 0] < 3.44)}

    ends: tuple[float, ...] = ()

    def data(self, seed: int) -> list[Any]:
        """The first two episodes alone have a part at an end of the rail."""
        self.ends = (0.02, 3.48)
        return super().data(seed)

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        at = np.stack([rng.uniform(0.1, 3.4, size), rng.uniform(0.62, 1.12, size)], -1).astype(np.float32)
        if size == 1 and self.ends:
            at[0, 0], *rest = self.ends
            self.ends = tuple(rest)
        elif size > 1 and rng.random() < 0.5:
            at[rng.integers(size), 0] = rng.choice([0.02, 3.48])
        return {"part": size}, {"at": at, "held": np.zeros(size, dtype=bool)}

    def actions(self, v: Values) -> list[Ground]:
        return [("grasp", p) for p in range(len(v["held"]))] + [
            ("release", p) for p in np.flatnonzero(v["held"])
        ]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, p = action
        if name == "grasp" and not 0.06 < v["at"][p, 0] < 3.44:
            return None
        return wrote(v, ("held", p, name == "grasp"))


@task
class ReachAndGrip(Task):
    """A grip needs three things at once, each a blank of its own: near, a free hand, and not too heavy."""

    half = "check"
    episodes = 250
    sizes, larger = (3,), (5,)
    sketch = """
    (:types arm thing - object place - vector[float32, 2] mass - float32 state - int64[choices=3])
    (:predicates (hand [return_type=place] ?a - arm) (grip [return_type=state] ?a - arm)
      (where [return_type=place] ?t - thing) (weighs [return_type=mass] ?t - thing) (held ?t - thing))
    (:derived (near ?a - arm ?t - thing) (??f (hand ?a) (where ?t)))
    (:action go :parameters (?a - arm ?t - thing) :effect (assign (hand ?a) (??to (where ?t))))
    (:action grip-it :parameters (?a - arm ?t - thing)
      :precondition (and (near ?a ?t) (??free (grip ?a)) (??light (weighs ?t)))
      :effect (and (held ?t) (assign (grip ?a) (??closed (grip ?a)))))
    (:action open :parameters (?a - arm) :effect (and
      (assign (grip ?a) (??opened (grip ?a)))
      (forall (?t - thing) (when (held ?t) (not (held ?t))))))
    """
    goals = {
        "(exists (?t - thing) (held ?t))": lambda v: bool(v["held"].any()),
        "(exists (?a - arm ?t - thing) (and (near ?a ?t) (not (held ?t))))": lambda v: bool(
            (_near(v) & ~v["held"]).any()
        ),
    }
    unseen = {"(held thing0)": lambda v: bool(v["held"][0])}
    exact = {
        "near": lambda a, b: (a - b).norm(dim=-1) < 1.2,
        "go": lambda where: where,
        "grip-it::free": lambda grip: grip == 0,
        "grip-it::light": lambda mass: mass < 5,
        "grip-it::closed": lambda grip: torch.full_like(grip, 2),
        "open": lambda grip: torch.zeros_like(grip),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"arm": 1, "thing": size}, {
            "hand": rng.integers(0, size, (1, 2)).astype(np.float32),
            "grip": rng.integers(3, size=1),
            "where": rng.integers(0, size, (size, 2)).astype(np.float32),
            "weighs": rng.integers(1, 9, size).astype(np.float32),
            "held": np.zeros(size, dtype=bool),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("open", 0)] + [(name, 0, t) for name in ("go", "grip-it") for t in range(len(v["held"]))]

    def choose(self, rng: Rng, v: Values) -> Ground:
        near = np.flatnonzero(_near(v))
        if len(near) and rng.random() < 0.5:
            return ("grip-it", 0, int(rng.choice(near)))
        return ("open", 0) if rng.random() < 0.3 else super().choose(rng, v)

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "open":
            return wrote(v, ("grip", 0, 0), ("held", slice(None), False))
        name, _, t = action
        if name == "go":
            return wrote(v, ("hand", 0, v["where"][t]))
        if not _near(v)[t] or v["grip"][0] != 0 or v["weighs"][t] >= 5:
            return None
        return wrote(v, ("held", t, True), ("grip", 0, 2))


def _near(v: Values) -> np.ndarray:
    return np.linalg.norm(v["where"] - v["hand"][0], axis=-1) < 1.2


@task
class ExecutionsAlone(Task):
    """A ferry; only what was carried out is known, so what always held is the precondition."""

    half = "choose"
    refusals = "dropped"
    episodes, length = 60, 10
    sizes, larger = (3,), (4,)
    sketch = """
    (:types car place - object)
    (:predicates (at-ferry ?l - place) (at ?c - car ?l - place) (on ?c - car) (empty))
    (:action sail :parameters (?from ?to - place)
      :precondition (??can (at-ferry ?from) (at-ferry ?to) (empty))
      :effect (and (assign (at-ferry ?from) (??leave (at-ferry ?from)))
        (assign (at-ferry ?to) (??come (at-ferry ?to)))))
    (:action board :parameters (?c - car ?l - place)
      :precondition (??can (at ?c ?l) (at-ferry ?l) (empty) (on ?c))
      :effect (and (assign (on ?c) (??on (on ?c))) (assign (empty) (??full (empty)))
        (assign (at ?c ?l) (??gone (at ?c ?l)))))
    (:action debark :parameters (?c - car ?l - place)
      :precondition (??can (at ?c ?l) (at-ferry ?l) (empty) (on ?c))
      :effect (and (assign (on ?c) (??off (on ?c))) (assign (empty) (??free (empty)))
        (assign (at ?c ?l) (??there (at ?c ?l)))))
    """
    goals = {"(at car0 place0)": lambda v: bool(v["at"][0, 0]), "(on car0)": lambda v: bool(v["on"][0])}
    unseen = {
        "(exists (?l - place) (forall (?c - car) (at ?c ?l)))": lambda v: bool(v["at"].all(0).any()),
        "(and (at car0 place1) (at car1 place2))": lambda v: bool(v["at"][0, 1] and v["at"][1, 2]),
    }
    depth = 40
    exact = {
        "sail::can": lambda here, there, empty: here & ~there,
        "sail::leave": lambda at: torch.zeros_like(at),
        "sail::come": lambda at: torch.ones_like(at),
        "board::can": lambda at, ferry, empty, on: at & ferry & empty & ~on,
        "board::on": lambda at: torch.ones_like(at),
        "board::full": lambda at: torch.zeros_like(at),
        "board::gone": lambda at: torch.zeros_like(at),
        "debark::can": lambda at, ferry, empty, on: ~at & ferry & ~empty & on,
        "debark::off": lambda at: torch.zeros_like(at),
        "debark::free": lambda at: torch.ones_like(at),
        "debark::there": lambda at: torch.ones_like(at),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        cars = size - 1
        at = np.zeros((cars, size), dtype=bool)
        at[np.arange(cars), rng.integers(size, size=cars)] = True
        ferry = np.arange(size) == rng.integers(size)
        return {"car": cars, "place": size}, {
            "at-ferry": ferry,
            "at": at,
            "on": np.zeros(cars, dtype=bool),
            "empty": np.array(True),
        }

    def actions(self, v: Values) -> list[Ground]:
        cars, places = v["at"].shape
        sails = [("sail", a, b) for a in range(places) for b in range(places)]
        return sails + [(n, c, p) for n in ("board", "debark") for c, p in np.ndindex(cars, places)]

    def choose(self, rng: Rng, v: Values) -> Ground:
        tried = self.actions(v)
        if rng.random() < 0.5:
            tried = [a for a in tried if a[0] != "sail" and self.simulate(v, a) is not None] or tried
        return tried[rng.integers(len(tried))]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, one, place = action
        if name == "sail":
            if not v["at-ferry"][one] or v["at-ferry"][place]:
                return None
            return wrote(v, ("at-ferry", one, False), ("at-ferry", place, True))
        at, ferry, empty, on = v["at"][one, place], v["at-ferry"][place], v["empty"], v["on"][one]
        if name == "board":
            if not (at and ferry and empty):
                return None
            return wrote(v, ("on", one, True), ("empty", (), False), ("at", (one, place), False))
        if not (ferry and on):
            return None
        return wrote(v, ("on", one, False), ("empty", (), True), ("at", (one, place), True))


@task
class ExecutionsDelivery(Task):
    """The same for a robot that carries parcels between linked rooms; a number says how many it has."""

    half = "check"
    refusals = "dropped"
    episodes, length = 80, 10
    sizes, larger = (3,), (4,)
    depth = 40
    sketch = """
    (:types robot parcel room - object load - int64[choices=4])
    (:predicates (in ?r - robot ?x - room) (linked ?x ?y - room) (lies ?p - parcel ?x - room)
      (carries ?r - robot ?p - parcel) (load-of [return_type=load] ?r - robot) (light ?x - room))
    (:action go :parameters (?r - robot ?x ?y - room)
      :precondition (??can (in ?r ?x) (in ?r ?y) (linked ?x ?y) (light ?y))
      :effect (and (assign (in ?r ?x) (??out (in ?r ?x))) (assign (in ?r ?y) (??into (in ?r ?y)))))
    (:action take :parameters (?r - robot ?p - parcel ?x - room)
      :precondition (??can (in ?r ?x) (lies ?p ?x) (load-of ?r))
      :effect (and (not (lies ?p ?x)) (carries ?r ?p) (assign (load-of ?r) (??more (load-of ?r)))))
    (:action put :parameters (?r - robot ?p - parcel ?x - room)
      :precondition (??can (in ?r ?x) (carries ?r ?p))
      :effect (and (lies ?p ?x) (not (carries ?r ?p)) (assign (load-of ?r) (??less (load-of ?r)))))
    """
    goals = {
        "(lies parcel0 room0)": lambda v: bool(v["lies"][0, 0]),
        "(exists (?r - robot) (in ?r room1))": lambda v: bool(v["in"][:, 1].any()),
    }
    unseen = {
        "(exists (?x - room) (forall (?p - parcel) (lies ?p ?x)))": lambda v: bool(v["lies"].all(0).any()),
        "(exists (?r - robot) (forall (?p - parcel) (carries ?r ?p)))": lambda v: bool(
            v["carries"].all(1).any()
        ),
    }
    exact = {
        "go::can": lambda here, there, linked, light: here & ~there & linked,
        "go::out": lambda at: torch.zeros_like(at),
        "go::into": lambda at: torch.ones_like(at),
        "take::can": lambda here, lies, load: here & lies & (load < 2),
        "take::more": lambda load: (load + 1).clamp(max=3),
        "put::can": lambda here, carries: here & carries,
        "put::less": lambda load: (load - 1).clamp(min=0),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        parcels = 2
        linked = np.zeros((size, size), dtype=bool)
        order = rng.permutation(size)
        linked[order, np.roll(order, 1)] = True
        lies = np.zeros((parcels, size), dtype=bool)
        lies[np.arange(parcels), rng.integers(size, size=parcels)] = True
        return {"robot": 1, "parcel": parcels, "room": size}, {
            "in": (np.arange(size) == rng.integers(size))[None],
            "linked": linked | linked.T,
            "lies": lies,
            "carries": np.zeros((1, parcels), dtype=bool),
            "load-of": np.zeros(1, dtype=np.int64),
            "light": rng.random(size) < 0.5,
        }

    def actions(self, v: Values) -> list[Ground]:
        parcels, rooms = v["lies"].shape
        goes = [("go", 0, x, y) for x in range(rooms) for y in range(rooms)]
        return goes + [(n, 0, p, x) for n in ("take", "put") for p, x in np.ndindex(parcels, rooms)]

    def choose(self, rng: Rng, v: Values) -> Ground:
        tried = self.actions(v)
        if rng.random() < 0.5:
            tried = [a for a in tried if a[0] != "go" and self.simulate(v, a) is not None] or tried
        return tried[rng.integers(len(tried))]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, _, one, x = action
        if name == "go":
            may = v["in"][0, one] and not v["in"][0, x] and v["linked"][one, x]
            return wrote(v, ("in", (0, one), False), ("in", (0, x), True)) if may else None
        load = v["load-of"][0]
        if name == "take":
            if not (v["in"][0, x] and v["lies"][one, x] and load < 2):
                return None
            return wrote(v, ("lies", (one, x), False), ("carries", (0, one), True), ("load-of", 0, load + 1))
        if not (v["in"][0, x] and v["carries"][0, one]):
            return None
        return wrote(v, ("lies", (one, x), True), ("carries", (0, one), False), ("load-of", 0, load - 1))


class Hoist(Task):
    """A lift with a full hand is never tried, and would be refused; a plan need not try it either."""

    more = 0
    episodes, length = 150, 1
    sizes, larger = (1, 2), (3,)
    depth = 12
    goals = {"(exists (?b - box) (up ?b))": lambda v: bool(v["up"].any())}
    unseen = {
        "(forall (?b - box) (up ?b))": lambda v: bool(v["up"].all()),
        "(up box0)": lambda v: bool(v["up"][0]),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        marks = {f"x{i}": rng.random(size) < 0.5 for i in range(self.more)}
        return {"box": size}, {
            "near": rng.random(size) < 0.6,
            "free": np.array(rng.random() < 0.5),
            "up": rng.random(size) < 0.3,
            **marks,
        }

    def actions(self, v: Values) -> list[Ground]:
        count = len(v["up"])
        return [("release",), *[(name, b) for name in ("lift", "approach") for b in range(count)]]

    def choose(self, rng: Rng, v: Values) -> Ground:
        """A lift with a full hand only where it is refused for another reason, too."""
        while True:
            action = super().choose(rng, v)
            if action[0] != "lift" or v["free"] or not v["near"][action[1]]:
                return action

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "release":
            return wrote(v, ("free", (), True))
        if action[0] == "approach":
            return wrote(v, ("near", action[1], True))
        b = action[1]
        return wrote(v, ("up", b, True), ("free", (), False)) if v["near"][b] and v["free"] else None


def _hoist(more: int) -> str:
    declared = " ".join(f"(x{i} ?b - box)" for i in range(more))
    read = " ".join(f"(x{i} ?b)" for i in range(more))
    return f"""
    (:types box)
    (:predicates (near ?b - box) (free) (up ?b - box) {declared})
    (:action lift :parameters (?b - box) :precondition (??pre (near ?b) (free) (up ?b) {read})
      :effect (and (assign (up ?b) (??up (up ?b))) (assign (free) (??busy (free)))))
    (:action approach :parameters (?b - box) :effect (assign (near ?b) (??f (near ?b))))
    (:action release :parameters () :effect (assign (free) (??f (free))))
    """


HOIST = {
    "lift::pre": lambda near, free, up, *more: near & free,
    "lift::up": lambda up: torch.ones_like(up),
    "lift::busy": lambda free: torch.zeros_like(free),
    "approach": lambda near: torch.ones_like(near),
    "release": lambda free: torch.ones_like(free),
}


@task
class NeverTried(Hoist):
    """Three Boolean inputs: plans stay within what was tried."""

    half = "choose"
    sketch, exact = _hoist(0), HOIST


@task
class NeverTriedWide(Hoist):
    """The same with nine inputs, six of which say nothing."""

    half = "check"
    more = 6
    episodes = 500
    sketch, exact = _hoist(6), HOIST


@task
class EitherOrBoth(Task):
    """A rock ahead stops a barge, and so do posts on both sides: b or (l and r), under quantifiers."""

    half = "choose"
    episodes, length = 400, 3
    sizes, larger = (3, 4), (6,)
    sketch = """
    (:types barge rock post - object place - vector[float32, 2, tolerance=0.1])
    (:predicates (at [return_type=place] ?b - barge) (where [return_type=place] ?r - rock)
      (stands [return_type=place] ?p - post))
    (:derived (stuck ?b - barge) (or
      (exists (?r - rock) (??rock (at ?b) (where ?r)))
      (and (exists (?p - post) (??left (at ?b) (stands ?p)))
        (exists (?p - post) (??right (at ?b) (stands ?p))))))
    (:derived (beside ?b - barge ?p - post) (??f (at ?b) (stands ?p)))
    (:action north :parameters (?b - barge) :effect (at::cond-assign ?b (not (stuck ?b)) (??to (at ?b))))
    (:action east :parameters (?b - barge) :effect (at::assign ?b (??to (at ?b))))
    """
    goals = {
        "(exists (?b - barge ?p - post) (beside ?b ?p))": lambda v: bool(among(v["at"][0], v["stands"]).any())
    }
    exact = {
        "stuck::rock": at_offset(0, 1),
        "stuck::left": at_offset(-1, 0),
        "stuck::right": at_offset(1, 0),
        "beside": at_offset(0, 0),
        "north": moved(0, 1),
        "east": moved(1, 0),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        rocks, posts = cells(rng, size, size, size), cells(rng, size, size, size * size // 2)
        return {"barge": 1, "rock": len(rocks), "post": len(posts)}, {
            "at": cells(rng, size, size, 1),
            "where": rocks,
            "stands": posts,
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("north", 0), ("east", 0)]

    def choose(self, rng: Rng, v: Values) -> Ground:
        return ("north" if rng.random() < 0.7 else "east", 0)

    def simulate(self, v: Values, action: Ground) -> Values:
        at = v["at"][0]
        if action[0] == "east":
            return wrote(v, ("at", 0, at + floats([1, 0])))
        sides = (
            among(at + floats([-1, 0]), v["stands"]).any() and among(at + floats([1, 0]), v["stands"]).any()
        )
        stuck = among(at + floats([0, 1]), v["where"]).any() or sides
        return v if stuck else wrote(v, ("at", 0, at + floats([0, 1])))


@task
class Squeeze(Task):
    """A cart cannot pass a gate that is shut or narrow on both sides: three blanks in one refusal."""

    half = "check"
    episodes = 300
    length = 4
    sizes, larger = (3,), (6,)
    sketch = """
    (:types cart gate - object state - int64[choices=4] gap - float32)
    (:predicates (state-of [return_type=state] ?g - gate) (left-gap [return_type=gap] ?g - gate)
      (right-gap [return_type=gap] ?g - gate) (passed ?c - cart ?g - gate))
    (:derived (narrow ?g - gate) (and (??left (left-gap ?g)) (??right (right-gap ?g))))
    (:action pass :parameters (?c - cart ?g - gate)
      :precondition (not (or (??shut (state-of ?g)) (narrow ?g))) :effect (passed ?c ?g))
    (:action crank :parameters (?g - gate) :effect (assign (state-of ?g) (??f (state-of ?g))))
    (:action widen :parameters (?g - gate) :effect (assign (left-gap ?g) (??f (left-gap ?g))))
    """
    goals = {"(exists (?c - cart ?g - gate) (passed ?c ?g))": lambda v: bool(v["passed"].any())}
    unseen = {
        "(exists (?c - cart) (forall (?g - gate) (passed ?c ?g)))": lambda v: bool(v["passed"].all(1).any()),
        "(passed cart0 gate0)": lambda v: bool(v["passed"][0, 0]),
    }
    depth = 15
    exact = {
        "narrow::left": lambda gap: gap < 2,
        "narrow::right": lambda gap: gap < 3,
        "pass": lambda state: state == 1,
        "crank": lambda state: (state + 1) % 4,
        "widen": lambda gap: gap + 1,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"cart": 1, "gate": size}, {
            "state-of": rng.integers(4, size=size),
            "left-gap": rng.integers(1, 7, size).astype(np.float32) / 2 + 0.25,
            "right-gap": rng.integers(1, 10, size).astype(np.float32) / 2 + 0.25,
            "passed": np.zeros((1, size), dtype=bool),
        }

    def actions(self, v: Values) -> list[Ground]:
        gates = range(len(v["state-of"]))
        return [("pass", 0, g) for g in gates] + [(n, g) for n in ("crank", "widen") for g in gates]

    def choose(self, rng: Rng, v: Values) -> Ground:
        return (
            ("pass", 0, int(rng.integers(len(v["state-of"]))))
            if rng.random() < 0.5
            else super().choose(rng, v)
        )

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, g = action[0], action[-1]
        if name == "crank":
            return wrote(v, ("state-of", g, (v["state-of"][g] + 1) % 4))
        if name == "widen":
            return wrote(v, ("left-gap", g, v["left-gap"][g] + 1))
        if v["state-of"][g] == 1 or (v["left-gap"][g] < 2 and v["right-gap"][g] < 3):
            return None
        return wrote(v, ("passed", (0, g), True))
