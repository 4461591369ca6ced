"""Charge, fuel, heat, water: numbers that run down, fill up and must suffice; things in containers."""
# ruff: noqa: D102, RUF012  (methods are explained in `core.Task`)

from __future__ import annotations

import numpy as np
import torch

from sketch_tasks.core import Ground, Rng, Task, Values, task, wrote


@task
class Charge(Task):
    """Each step costs one unit of charge, an empty robot stays where it is, and stations fill it up."""

    half = "choose"
    sizes, larger = (5,), (9,)
    length = 8
    sketch = """
    (:types robot station flag - object spot - float32 charge - int64[choices=7])
    (:predicates (at [return_type=spot] ?r - robot) (battery [return_type=charge] ?r - robot)
      (stands [return_type=spot] ?s - station) (planted [return_type=spot] ?f - flag))
    (:derived (reached ?r - robot ?f - flag) (??f (at ?r) (planted ?f)))
    (:derived (alive ?r - robot) (??f (battery ?r)))
    (:derived (docked ?r - robot) (exists (?s - station) (??f (at ?r) (stands ?s))))
    (:action right :parameters (?r - robot) :effect (when (alive ?r)
      (and (assign (at ?r) (??to (at ?r))) (assign (battery ?r) (??left (battery ?r))))))
    (:action left :parameters (?r - robot) :effect (when (alive ?r)
      (and (assign (at ?r) (??to (at ?r))) (assign (battery ?r) (??left (battery ?r))))))
    (:action load :parameters (?r - robot) :effect
      (when (docked ?r) (assign (battery ?r) (??f (battery ?r)))))
    """
    goals = {
        "(exists (?r - robot ?f - flag) (reached ?r ?f))": lambda v: bool((v["at"] == v["planted"]).any()),
        "(exists (?r - robot) (and (docked ?r) (not (alive ?r))))": lambda v: bool(
            (v["at"] == v["stands"]).any() and v["battery"][0] == 0
        ),
    }
    unseen = {"(exists (?r - robot) (= (battery ?r) 6))": lambda v: bool(v["battery"][0] == 6)}
    exact = {
        "reached": lambda a, b: (a - b).abs() < 0.5,
        "docked": lambda a, b: (a - b).abs() < 0.5,
        "alive": lambda battery: battery > 0,
        "right::to": lambda a: a + 1,
        "left::to": lambda a: a - 1,
        "right::left": lambda battery: (battery - 1).clamp(min=0),
        "left::left": lambda battery: (battery - 1).clamp(min=0),
        "load": lambda battery: torch.full_like(battery, 6),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"robot": 1, "station": 2, "flag": 1}, {
            "at": rng.integers(size, size=1).astype(np.float32),
            "battery": rng.integers(5, size=1),
            "stands": rng.choice(size, 2, replace=False).astype(np.float32),
            "planted": rng.integers(size, size=1).astype(np.float32),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("left", 0), ("right", 0), ("load", 0)]

    def choose(self, rng: Rng, v: Values) -> Ground:
        if rng.random() < 0.4:
            return super().choose(rng, v)
        off = v["stands"][rng.integers(2)] - v["at"][0]
        return ("load", 0) if off == 0 else ("right" if off > 0 else "left", 0)

    def simulate(self, v: Values, action: Ground) -> Values:
        if action[0] == "load":
            return wrote(v, ("battery", 0, 6)) if (v["at"][0] == v["stands"]).any() else v
        if v["battery"][0] == 0:
            return v
        to = v["at"][0] + (1 if action[0] == "right" else -1)
        return wrote(v, ("at", 0, to), ("battery", 0, v["battery"][0] - 1))


@task
class FuelByLoad(Task):
    """A truck needs more fuel with a load: a float that falls by another; too little fuel is refused."""

    half = "check"
    sizes, larger = (4,), (8,)
    length = 8
    sketch = """
    (:types truck crate - object spot - float32 litre - float32 load - int64[choices=4])
    (:predicates (at [return_type=spot] ?t - truck) (fuel [return_type=litre] ?t - truck)
      (carries [return_type=load] ?t - truck) (lies [return_type=spot] ?c - crate) (aboard ?c - crate))
    (:derived (here ?t - truck ?c - crate) (??f (at ?t) (lies ?c)))
    (:derived (low ?t - truck) (??f (fuel ?t)))
    (:action drive :parameters (?t - truck) :precondition (??enough (fuel ?t) (carries ?t))
      :effect (and (assign (at ?t) (??to (at ?t))) (assign (fuel ?t) (??left (fuel ?t) (carries ?t)))))
    (:action back :parameters (?t - truck) :precondition (??enough (fuel ?t) (carries ?t))
      :effect (and (assign (at ?t) (??to (at ?t))) (assign (fuel ?t) (??left (fuel ?t) (carries ?t)))))
    (:action load :parameters (?t - truck ?c - crate)
      :precondition (and (here ?t ?c) (not (aboard ?c)) (??room (carries ?t)))
      :effect (and (aboard ?c) (assign (carries ?t) (??more (carries ?t)))))
    (:action fill :parameters (?t - truck) :effect (assign (fuel ?t) (??f (fuel ?t))))
    """
    goals = {
        "(exists (?c - crate) (aboard ?c))": lambda v: bool(v["aboard"].any()),
        "(exists (?t - truck) (low ?t))": lambda v: bool(v["fuel"][0] < 3.5),
        "(exists (?t - truck ?c - crate) (and (here ?t ?c) (not (aboard ?c))))": lambda v: bool(
            ((v["lies"] == v["at"][0]) & ~v["aboard"]).any()
        ),
    }
    unseen = {
        "(exists (?a ?b - crate) (and (not (= ?a ?b)) (aboard ?a) (aboard ?b)))": lambda v: bool(
            v["aboard"].sum() > 1
        )
    }
    exact = {
        "here": lambda a, b: (a - b).abs() < 0.5,
        "low": lambda fuel: fuel < 3.5,
        "enough": lambda fuel, load: fuel > load + 0.5,
        **{f"{name}::enough": lambda fuel, load: fuel > load + 0.5 for name in ("drive", "back")},
        **{f"{name}::left": lambda fuel, load: fuel - load - 1 for name in ("drive", "back")},
        "drive::to": lambda a: a + 1,
        "back::to": lambda a: a - 1,
        "load::room": lambda load: load < 3,
        "load::more": lambda load: (load + 1).clamp(max=3),
        "fill": lambda fuel: fuel + 5,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"truck": 1, "crate": size}, {
            "at": rng.integers(size, size=1).astype(np.float32),
            "fuel": rng.integers(8, size=1).astype(np.float32),
            "carries": np.zeros(1, dtype=np.int64),
            "lies": rng.integers(size, size=size).astype(np.float32),
            "aboard": np.zeros(size, dtype=bool),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("drive", 0), ("back", 0), ("fill", 0), *[("load", 0, c) for c in range(len(v["lies"]))]]

    def choose(self, rng: Rng, v: Values) -> Ground:
        here = np.flatnonzero((v["lies"] == v["at"][0]) & ~v["aboard"])
        if len(here) and rng.random() < 0.6:
            return ("load", 0, int(here[0]))
        if rng.random() < 0.5:
            return ("drive" if v["at"][0] < len(v["lies"]) / 2 else "back", 0)
        return super().choose(rng, v)

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, load = action[0], v["carries"][0]
        if name == "fill":
            return wrote(v, ("fuel", 0, v["fuel"][0] + 5))
        if name == "load":
            c = action[2]
            if v["lies"][c] != v["at"][0] or v["aboard"][c] or load >= 3:
                return None
            return wrote(v, ("aboard", c, True), ("carries", 0, load + 1))
        if v["fuel"][0] < load + 1:
            return None
        to = v["at"][0] + (1 if name == "drive" else -1)
        return wrote(v, ("at", 0, to), ("fuel", 0, v["fuel"][0] - load - 1))


@task
class Oven(Task):
    """While an oven is on it warms, else it cools; dough in it bakes when hot and burns when very hot."""

    half = "choose"
    sizes, larger = (2,), (4,)
    length = 10
    sketch = """
    (:types oven dough - object degree - float32 stage - int64[choices=3])
    (:predicates (heat [return_type=degree] ?o - oven) (on ?o - oven)
      (stage-of [return_type=stage] ?d - dough)
      (in ?d - dough ?o - oven))
    (:derived (hot ?o - oven) (??f (heat ?o)))
    (:derived (baked ?d - dough) (??f (stage-of ?d)))
    (:derived (burnt ?d - dough) (??f (stage-of ?d)))
    (:action wait :parameters () :effect (and
      (forall (?o - oven) (and (when (on ?o) (assign (heat ?o) (??warm (heat ?o))))
                               (when (not (on ?o)) (assign (heat ?o) (??cool (heat ?o))))))
      (forall (?d - dough) (when (exists (?o - oven) (and (in ?d ?o) (hot ?o)))
        (assign (stage-of ?d) (??bake (stage-of ?d)))))))
    (:action switch :parameters (?o - oven) :effect (assign (on ?o) (??f (on ?o))))
    (:action put :parameters (?d - dough ?o - oven) :effect (in ?d ?o))
    (:action take :parameters (?d - dough ?o - oven) :effect (not (in ?d ?o)))
    """
    goals = {
        "(exists (?d - dough) (baked ?d))": lambda v: bool((v["stage-of"] == 1).any()),
        "(exists (?d - dough) (burnt ?d))": lambda v: bool((v["stage-of"] == 2).any()),
        "(exists (?o - oven) (hot ?o))": lambda v: bool((v["heat"] > 65).any()),
    }
    unseen = {
        "(exists (?d - dough ?o - oven) (and (baked ?d) (not (in ?d ?o)) (hot ?o)))": lambda v: bool(
            ((v["stage-of"] == 1)[:, None] & ~v["in"] & (v["heat"] > 65)).any()
        )
    }
    exact = {
        "hot": lambda heat: heat > 65,
        "baked": lambda stage: stage == 1,
        "burnt": lambda stage: stage == 2,
        "wait::warm": lambda heat: heat + 20,
        "wait::cool": lambda heat: heat - 10,
        "wait::bake": lambda stage: (stage + 1).clamp(max=2),
        "switch": lambda on: ~on,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"oven": size - 1, "dough": size}, {
            "heat": 10.0 * rng.integers(1, 10, size - 1).astype(np.float32),
            "on": rng.random(size - 1) < 0.5,
            "stage-of": rng.integers(2, size=size),
            "in": rng.random((size, size - 1)) < 0.3,
        }

    def actions(self, v: Values) -> list[Ground]:
        doughs, ovens = v["in"].shape
        pairs = [(n, d, o) for n in ("put", "take") for d in range(doughs) for o in range(ovens)]
        return [("wait",), *[("switch", o) for o in range(ovens)], *pairs]

    def choose(self, rng: Rng, v: Values) -> Ground:
        return ("wait",) if rng.random() < 0.5 else super().choose(rng, v)

    def simulate(self, v: Values, action: Ground) -> Values:
        if action[0] == "switch":
            return wrote(v, ("on", action[1], not v["on"][action[1]]))
        if action[0] in ("put", "take"):
            return wrote(v, ("in", action[1:], action[0] == "put"))
        bakes = (v["in"] & (v["heat"] > 65)).any(1)
        heat = v["heat"] + np.where(v["on"], 20, -10).astype(np.float32)
        return {
            **v,
            "heat": heat,
            "stage-of": np.where(bakes, np.minimum(v["stage-of"] + 1, 2), v["stage-of"]),
        }


@task
class Pouring(Task):
    """Pouring one jug into another until the one is empty or the other full: tables of two ints."""

    half = "check"
    sizes, larger = (2, 3), (4,)
    episodes = 300
    sketch = """
    (:types jug - object level - int64[choices=5])
    (:predicates (holds [return_type=level] ?j - jug) (sealed ?j - jug))
    (:derived (full ?j - jug) (??f (holds ?j)))
    (:derived (empty ?j - jug) (??f (holds ?j)))
    (:action pour :parameters (?a ?b - jug)
      :precondition (and (not (= ?a ?b)) (not (sealed ?b)) (??has (holds ?a)))
      :effect (and (assign (holds ?a) (??rest (holds ?a) (holds ?b)))
        (assign (holds ?b) (??sum (holds ?a) (holds ?b)))))
    (:action tap :parameters (?a - jug) :precondition (not (sealed ?a))
      :effect (assign (holds ?a) (??f (holds ?a))))
    """
    goals = {
        "(exists (?j - jug) (full ?j))": lambda v: bool((v["holds"] == 4).any()),
        "(exists (?j - jug) (empty ?j))": lambda v: bool((v["holds"] == 0).any()),
    }
    unseen = {
        "(exists (?j ?k - jug) (and (full ?j) (empty ?k)))": lambda v: bool(
            (v["holds"] == 4).any() and (v["holds"] == 0).any()
        ),
        "(exists (?j - jug) (and (not (sealed ?j)) (= (holds ?j) 3)))": lambda v: bool(
            ((v["holds"] == 3) & ~v["sealed"]).any()
        ),
    }
    exact = {
        "full": lambda a: a == 4,
        "empty": lambda a: a == 0,
        "pour::has": lambda a: a > 0,
        "pour::rest": lambda a, b: (a + b - 4).clamp(min=0),
        "pour::sum": lambda a, b: (a + b).clamp(max=4),
        "tap": lambda a: (a + 2).clamp(max=4),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"jug": size}, {"holds": rng.integers(4, size=size), "sealed": rng.random(size) < 0.2}

    def actions(self, v: Values) -> list[Ground]:
        count = len(v["holds"])
        pours = [("pour", a, b) for a in range(count) for b in range(count) if a != b]
        return pours + [("tap", a) for a in range(count)]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, a, *rest = action
        holds = v["holds"]
        if name == "tap":
            return None if v["sealed"][a] else wrote(v, ("holds", a, min(4, holds[a] + 2)))
        b = rest[0]
        if v["sealed"][b] or holds[a] == 0:
            return None
        both = holds[a] + holds[b]
        return wrote(v, ("holds", a, max(0, both - 4)), ("holds", b, min(4, both)))


@task
class Boxes(Task):
    """Small things go into open boxes that are large enough and not full; a closed box keeps what it has."""

    half = "choose"
    sizes, larger = (2,), (4,)
    episodes = 250
    length = 8
    sketch = """
    (:types item box - object size - float32 count - int64[choices=4])
    (:predicates (bulk [return_type=size] ?i - item) (room [return_type=size] ?b - box) (open ?b - box)
      (inside ?i - item ?b - box) (number [return_type=count] ?b - box) (packed ?i - item))
    (:derived (fits ?i - item ?b - box) (??f (bulk ?i) (room ?b)))
    (:derived (crammed ?b - box) (??f (number ?b)))
    (:action put :parameters (?i - item ?b - box)
      :precondition (and (not (packed ?i)) (fits ?i ?b) (??may (open ?b) (number ?b)))
      :effect (and (inside ?i ?b) (packed ?i) (assign (number ?b) (??more (number ?b)))))
    (:action take :parameters (?i - item ?b - box)
      :precondition (and (inside ?i ?b) (??may (open ?b)))
      :effect (and (not (inside ?i ?b)) (not (packed ?i)) (assign (number ?b) (??less (number ?b)))))
    (:action lid :parameters (?b - box) :effect (assign (open ?b) (??f (open ?b))))
    """
    goals = {
        "(exists (?i - item) (packed ?i))": lambda v: bool(v["packed"].any()),
        "(exists (?b - box) (crammed ?b))": lambda v: bool((v["number"] >= 2).any()),
    }
    labels = 2
    unseen = {
        "(exists (?i - item ?b - box) (and (inside ?i ?b) (not (open ?b))))": lambda v: bool(
            (v["inside"] & ~v["open"]).any()
        )
    }
    exact = {
        "fits": lambda a, b: a < b,
        "crammed": lambda number: number >= 2,
        "put::may": lambda open_, number: open_ & (number < 2),
        "put::more": lambda number: (number + 1).clamp(max=3),
        "take::may": lambda open_: open_,
        "take::less": lambda number: (number - 1).clamp(min=0),
        "lid": lambda open_: ~open_,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        items = size + 1
        return {"item": items, "box": size}, {
            "bulk": rng.uniform(1, 9, items).astype(np.float32),
            "room": rng.uniform(4, 12, size).astype(np.float32),
            "open": rng.random(size) < 0.7,
            "inside": np.zeros((items, size), dtype=bool),
            "number": np.zeros(size, dtype=np.int64),
            "packed": np.zeros(items, dtype=bool),
        }

    def actions(self, v: Values) -> list[Ground]:
        pairs = [(n, i, b) for n in ("put", "take") for i, b in np.ndindex(v["inside"].shape)]
        return [*pairs, *[("lid", b) for b in range(len(v["open"]))]]

    def choose(self, rng: Rng, v: Values) -> Ground:
        action = super().choose(rng, v)
        placed = np.argwhere(v["inside"])
        if action[0] == "take" and len(placed):
            return ("take", *map(int, placed[rng.integers(len(placed))]))
        return action

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "lid":
            return wrote(v, ("open", action[1], not v["open"][action[1]]))
        name, i, b = action
        number = v["number"][b]
        if name == "put":
            if v["packed"][i] or not v["open"][b] or number >= 2 or v["bulk"][i] >= v["room"][b]:
                return None
            return wrote(v, ("inside", (i, b), True), ("packed", i, True), ("number", b, number + 1))
        if not v["inside"][i, b] or not v["open"][b]:
            return None
        return wrote(v, ("inside", (i, b), False), ("packed", i, False), ("number", b, number - 1))


@task
class TruckLoads(Task):
    """What is in a truck goes where the truck goes, and only cooled trucks keep what is frozen."""

    half = "check"
    sizes, larger = (2, 3), (4,)
    episodes, length = 200, 10
    sketch = """
    (:types truck parcel town - object road - float32 kind - int64[choices=3])
    (:predicates (at [return_type=road] ?t - truck) (lies [return_type=road] ?p - parcel)
      (in ?p - parcel ?t - truck) (cooled ?t - truck) (kind-of [return_type=kind] ?p - parcel)
      (spoilt ?p - parcel) (stands [return_type=road] ?w - town))
    (:derived (beside ?p - parcel ?t - truck) (??f (lies ?p) (at ?t)))
    (:derived (arrived ?p - parcel ?w - town) (??f (lies ?p) (stands ?w)))
    (:derived (frozen ?p - parcel) (??f (kind-of ?p)))
    (:action load :parameters (?p - parcel ?t - truck) :precondition (beside ?p ?t) :effect (in ?p ?t))
    (:action unload :parameters (?p - parcel ?t - truck) :precondition (in ?p ?t) :effect (not (in ?p ?t)))
    (:action drive :parameters (?t - truck) :effect (and (assign (at ?t) (??to (at ?t)))
      (forall (?p - parcel) (when (in ?p ?t) (assign (lies ?p) (??along (lies ?p)))))
      (forall (?p - parcel) (when (and (in ?p ?t) (frozen ?p) (??warm (cooled ?t))) (spoilt ?p)))))
    (:action back :parameters (?t - truck) :effect (and (assign (at ?t) (??to (at ?t)))
      (forall (?p - parcel) (when (in ?p ?t) (assign (lies ?p) (??along (lies ?p)))))))
    """
    goals = {
        "(exists (?p - parcel ?w - town) (arrived ?p ?w))": lambda v: bool(
            (v["lies"][:, None] == v["stands"]).any()
        ),
        "(exists (?p - parcel) (spoilt ?p))": lambda v: bool(v["spoilt"].any()),
        "(exists (?p - parcel ?t - truck) (and (in ?p ?t) (frozen ?p)))": lambda v: bool(
            (v["in"].any(1) & (v["kind-of"] == 1)).any()
        ),
    }
    unseen = {
        "(exists (?p - parcel ?w - town) (and (arrived ?p ?w) (frozen ?p) (not (spoilt ?p))))": lambda v: (
            bool(((v["lies"][:, None] == v["stands"]).any(1) & (v["kind-of"] == 1) & ~v["spoilt"]).any())
        )
    }
    exact = {
        "beside": lambda a, b: (a - b).abs() < 0.5,
        "arrived": lambda a, b: (a - b).abs() < 0.5,
        "frozen": lambda kind: kind == 1,
        "drive::to": lambda a: a + 1,
        "back::to": lambda a: a - 1,
        "drive::along": lambda a: a + 1,
        "back::along": lambda a: a - 1,
        "drive::warm": lambda cooled: ~cooled,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        road = 2 * size
        return {"truck": 2, "parcel": size, "town": 2}, {
            "at": rng.integers(road, size=2).astype(np.float32),
            "lies": rng.integers(road, size=size).astype(np.float32),
            "in": np.zeros((size, 2), dtype=bool),
            "cooled": rng.random(2) < 0.5,
            "kind-of": rng.integers(3, size=size),
            "spoilt": np.zeros(size, dtype=bool),
            "stands": rng.integers(road, size=2).astype(np.float32),
        }

    def actions(self, v: Values) -> list[Ground]:
        pairs = [(n, p, t) for n in ("load", "unload") for p, t in np.ndindex(v["in"].shape)]
        return [*pairs, *[(n, t) for n in ("drive", "back") for t in range(2)]]

    def choose(self, rng: Rng, v: Values) -> Ground:
        tried = self.actions(v)
        if rng.random() < 0.7:
            done = [a for a in tried if self.simulate(v, a) is not None]
            moves, others = [a for a in done if len(a) == 2], [a for a in done if len(a) == 3]
            tried = others if others and rng.random() < 0.5 else moves
        return tried[rng.integers(len(tried))]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name = action[0]
        if name in ("load", "unload"):
            _, p, t = action
            may = v["lies"][p] == v["at"][t] if name == "load" else v["in"][p, t]
            return wrote(v, ("in", (p, t), name == "load")) if may else None
        t = action[1]
        aboard, by = v["in"][:, t], 1 if name == "drive" else -1
        after = wrote(v, ("at", t, v["at"][t] + by), ("lies", aboard, v["lies"][aboard] + by))
        spoils = aboard & (v["kind-of"] == 1) & (name == "drive") & ~v["cooled"][t]
        return wrote(after, ("spoilt", spoils, True))
