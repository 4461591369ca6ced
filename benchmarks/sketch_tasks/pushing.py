"""Things that move because something else moves: pushed, pulled, carried along."""
# ruff: noqa: D102, RUF012, PLW0108  (methods are explained in `core.Task`)

from __future__ import annotations

import numpy as np
import torch

from sketch_tasks.core import (
    DIRECTIONS,
    Ground,
    Rng,
    Task,
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
from sketch_tasks.walls import NAMES, TURNED, TURNS

TYPES = """
    (:types robot wall box pad - object place - vector[float32, 2, tolerance=0.1] direction -
      int64[choices=4])
"""
OBSERVED = """(at [return_type=place] ?r - robot) (where [return_type=place] ?w - wall)
      (place-of [return_type=place] ?b - box) (spot [return_type=place] ?p - pad)"""
ON_PAD = "(exists (?b - box ?p - pad) (on ?b ?p))"
ALL_ON_PADS = "(forall (?b - box) (exists (?p - pad) (on ?b ?p)))"


def on_pad(v: Values) -> bool:
    """Some box is on a pad."""
    return any(among(box, v["spot"]).any() for box in v["place-of"])


def all_on_pads(v: Values) -> bool:
    """Each box is on a pad."""
    return all(among(box, v["spot"]).any() for box in v["place-of"])


class Store(Task):
    """A walled room with boxes that the robot pushes, one at a time, where nothing stands behind them."""

    sizes, larger = (0, 1), (2, 3)
    length = 8
    goals = {ON_PAD: on_pad}
    unseen = {ALL_ON_PADS: all_on_pads}

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        width, height = 4 + size, 3 + size + int(rng.integers(2))
        boxes = 2 + size // 2
        found = cells(rng, width, height, 1 + 2 * boxes)
        walls = border(width, height)
        more = {"heading": rng.integers(4, size=1)} if "heading" in self.sketch else {}
        return {"robot": 1, "wall": len(walls), "box": boxes, "pad": boxes}, {
            "at": found[:1],
            "where": walls,
            "place-of": found[1 : 1 + boxes],
            "spot": found[1 + boxes :],
            **more,
        }

    def push(self, v: Values, direction: int) -> Values:
        step = DIRECTIONS[direction]
        to = v["at"][0] + step
        box = np.flatnonzero(among(to, v["place-of"]))
        if among(to, v["where"]).any():
            return v
        if not len(box):
            return wrote(v, ("at", 0, to))
        beyond = to + step
        if among(beyond, v["where"]).any() or among(beyond, v["place-of"]).any():
            return v
        return wrote(v, ("at", 0, to), ("place-of", box[0], beyond))

    def toward(self, rng: Rng, v: Values) -> int:
        """A direction that leads nearer to some box."""
        off = v["place-of"][rng.integers(len(v["place-of"]))] - v["at"][0]
        good = np.flatnonzero(DIRECTIONS @ off > 0.5)
        return int(rng.choice(good)) if len(good) else int(rng.integers(4))


@task
class PushRow(Store):
    """Pushing to the east: what is right ahead, and what stands behind that."""

    half = "choose"
    episodes, length = 400, 3
    depth = 8
    sketch = f"""{TYPES} (:predicates {OBSERVED})
    (:derived (on ?b - box ?p - pad) (??f (place-of ?b) (spot ?p)))
    (:derived (next ?r - robot ?b - box) (??f (at ?r) (place-of ?b)))
    (:derived (free-behind ?r - robot)
      (not (or (exists (?w - wall) (??wall (at ?r) (where ?w)))
               (exists (?b - box) (??box (at ?r) (place-of ?b))))))
    (:derived (can-go ?r - robot)
      (and (not (exists (?w - wall) (??blocked (at ?r) (where ?w))))
           (or (not (exists (?b - box) (next ?r ?b))) (free-behind ?r))))
    (:action east :parameters (?r - robot) :effect (and
      (at::cond-assign ?r (can-go ?r) (??to (at ?r)))
      (forall (?b - box) (when (and (next ?r ?b) (can-go ?r))
        (assign (place-of ?b) (??pushed (place-of ?b)))))))
    """
    exact = {
        "on": same_place,
        "next": at_offset(1, 0),
        "free-behind::wall": at_offset(2, 0),
        "free-behind::box": at_offset(2, 0),
        "can-go": at_offset(1, 0),
        "east::to": moved(1, 0),
        "east::pushed": moved(1, 0),
    }
    unseen = {}

    def actions(self, v: Values) -> list[Ground]:
        return [("east", 0)]

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        counts, values = super().scene(rng, size)
        if rng.random() < 0.6:  # so that pushing happens often
            to = values["at"][0] + DIRECTIONS[0]
            if not among(to, values["where"]).any() and not among(to, values["place-of"]).any():
                values = wrote(values, ("place-of", 0, to))
        return counts, values

    def simulate(self, v: Values, action: Ground) -> Values:
        return self.push(v, 0)


@task
class PushByDirection(Store):
    """The same in all directions, by the robot's heading."""

    half = "check"
    episodes, length = 200, 10
    sketch = f"""{TYPES} (:predicates {OBSERVED} (heading [return_type=direction] ?r - robot))
    (:derived (on ?b - box ?p - pad) (??f (place-of ?b) (spot ?p)))
    (:derived (next ?r - robot ?b - box) (??f (at ?r) (heading ?r) (place-of ?b)))
    (:derived (free-behind ?r - robot)
      (not (or (exists (?w - wall) (??wall (at ?r) (heading ?r) (where ?w)))
               (exists (?b - box) (??box (at ?r) (heading ?r) (place-of ?b))))))
    (:derived (can-go ?r - robot)
      (and (not (exists (?w - wall) (??blocked (at ?r) (heading ?r) (where ?w))))
           (or (not (exists (?b - box) (next ?r ?b))) (free-behind ?r))))
    {TURNS}
    (:action forward :parameters (?r - robot) :effect (and
      (at::cond-assign ?r (can-go ?r) (??to (at ?r) (heading ?r)))
      (forall (?b - box) (when (and (next ?r ?b) (can-go ?r))
        (assign (place-of ?b) (??pushed (place-of ?b) (heading ?r)))))))
    """
    exact = {
        "on": same_place,
        "next": lambda at, heading, box: same_place(ahead(at, heading), box),
        "free-behind::wall": lambda at, heading, wall: same_place(ahead(ahead(at, heading), heading), wall),
        "free-behind::box": lambda at, heading, box: same_place(ahead(ahead(at, heading), heading), box),
        "can-go": lambda at, heading, wall: same_place(ahead(at, heading), wall),
        "forward::to": ahead,
        "forward::pushed": ahead,
        **TURNED,
    }

    def actions(self, v: Values) -> list[Ground]:
        return [("left", 0), ("right", 0), ("forward", 0)]

    def choose(self, rng: Rng, v: Values) -> Ground:
        if rng.random() < 0.4:
            return super().choose(rng, v)
        wanted, heading = self.toward(rng, v), int(v["heading"][0])
        return ("forward" if wanted == heading else "left" if (wanted - heading) % 4 < 3 else "right", 0)

    def simulate(self, v: Values, action: Ground) -> Values:
        heading = int(v["heading"][0])
        if action[0] == "forward":
            return self.push(v, heading)
        return wrote(v, ("heading", 0, (heading + (1 if action[0] == "left" else 3)) % 4))


@task
class PullSledge(Task):
    """Whoever walks away from a sledge that is tied to them pulls it along; tying takes being next to it."""

    half = "check"
    sizes, larger = (3, 4), (7,)
    length = 8
    sketch = """
    (:types robot sledge pad - object place - vector[float32, 2, tolerance=0.1])
    (:predicates (at [return_type=place] ?r - robot) (place-of [return_type=place] ?s - sledge)
      (tied ?s - sledge) (spot [return_type=place] ?p - pad))
    (:derived (on ?s - sledge ?p - pad) (??f (place-of ?s) (spot ?p)))
    (:action tie :parameters (?r - robot ?s - sledge) :precondition (??close (at ?r) (place-of ?s))
      :effect (assign (tied ?s) (??f (tied ?s))))
    """ + "".join(
        f"""(:action {name} :parameters (?r - robot) :effect (and (at::assign ?r (??to (at ?r)))
          (forall (?s - sledge) (when (tied ?s) (assign (place-of ?s) (??pulled (at ?r)))))))
        """
        for name in NAMES
    )
    goals = {
        "(exists (?s - sledge ?p - pad) (on ?s ?p))": lambda v: on_pad(v),
        "(exists (?s - sledge) (tied ?s))": lambda v: bool(v["tied"].any()),
    }
    exact = {
        "on": same_place,
        "tie::close": lambda a, b: (a - b).abs().sum(-1) < 1.5,
        "tie::f": lambda tied: ~tied,
        **{f"{n}::to": moved(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
        **{f"{n}::pulled": lambda at: at for n in NAMES},
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        found = cells(rng, size, size, 1 + 2 + 2)
        return {"robot": 1, "sledge": 2, "pad": 2}, {
            "at": found[:1],
            "place-of": found[1:3],
            "tied": np.zeros(2, dtype=bool),
            "spot": found[3:],
        }

    def actions(self, v: Values) -> list[Ground]:
        return [(name, 0) for name in NAMES] + [("tie", 0, s) for s in range(len(v["tied"]))]

    def choose(self, rng: Rng, v: Values) -> Ground:
        if rng.random() < 0.3:
            return ("tie", 0, int(rng.integers(len(v["tied"]))))
        off = v["place-of"][rng.integers(len(v["tied"]))] - v["at"][0]
        good = np.flatnonzero(DIRECTIONS @ off > 0.5)
        return (
            NAMES[int(rng.choice(good))] if len(good) and rng.random() < 0.7 else NAMES[rng.integers(4)],
            0,
        )

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "tie":
            s = action[2]
            if np.abs(v["place-of"][s] - v["at"][0]).sum() > 1.5:
                return None
            return wrote(v, ("tied", s, not v["tied"][s]))
        to = v["at"][0] + DIRECTIONS[NAMES.index(action[0])]
        return wrote(v, ("at", 0, to), ("place-of", v["tied"], v["at"][0]))


@task
class Conveyor(Task):
    """A belt moves all that lies on it by one; a robot arm lifts things over to where it stands."""

    half = "check"
    sizes, larger = (3, 4), (7,)
    sketch = """
    (:types part belt - object place - vector[float32, 2, tolerance=0.1])
    (:predicates (where [return_type=place] ?p - part) (row [return_type=float32] ?b - belt)
      (running ?b - belt) (fixed ?p - part))
    (:derived (carried ?p - part ?b - belt) (??f (where ?p) (row ?b)))
    (:derived (arrived ?p - part) (??f (where ?p)))
    (:action advance :parameters ()
      :effect (forall (?p - part) (when (exists (?b - belt) (and (running ?b) (carried ?p ?b)))
        (assign (where ?p) (??f (where ?p))))))
    (:action toggle :parameters (?b - belt) :effect (assign (running ?b) (??f (running ?b))))
    (:action lift :parameters (?p - part) :precondition (??loose (fixed ?p))
      :effect (assign (where ?p) (??f (where ?p))))
    """
    goals = {"(exists (?p - part) (arrived ?p))": lambda v: bool((v["where"][:, 0] > 3.5).any())}
    unseen = {
        "(exists (?p - part ?b - belt) (and (carried ?p ?b) (not (running ?b))))": lambda v: bool(
            (_carried(v) & ~v["running"]).any()
        ),
    }
    exact = {
        "carried": lambda where, row: (where[..., 1] - row).abs() < 0.5,
        "arrived": lambda where: where[..., 0] > 3.5,
        "advance": moved(1, 0),
        "toggle": lambda running: ~running,
        "lift::loose": lambda fixed: ~fixed,
        "lift::f": moved(0, 1),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"part": size, "belt": size // 2 + 1}, {
            "where": np.stack([rng.integers(0, 3, size), rng.integers(0, size, size)], -1).astype(np.float32),
            "row": rng.permutation(size)[: size // 2 + 1].astype(np.float32),
            "running": rng.random(size // 2 + 1) < 0.5,
            "fixed": rng.random(size) < 0.3,
        }

    def actions(self, v: Values) -> list[Ground]:
        lifts = [("lift", p) for p in range(len(v["fixed"]))]
        return [("advance",), *[("toggle", b) for b in range(len(v["row"]))], *lifts]

    def choose(self, rng: Rng, v: Values) -> Ground:
        return ("advance",) if rng.random() < 0.4 else super().choose(rng, v)

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "toggle":
            return wrote(v, ("running", action[1], not v["running"][action[1]]))
        if action[0] == "lift":
            return (
                None
                if v["fixed"][action[1]]
                else wrote(v, ("where", (action[1], 1), v["where"][action[1], 1] + 1))
            )
        moves = (_carried(v) & v["running"]).any(1)
        return wrote(v, ("where", moves, v["where"][moves] + DIRECTIONS[0]))


def _carried(v: Values) -> np.ndarray:
    return np.abs(v["where"][:, None, 1] - v["row"]) < 0.5


@task
class Balance(Task):
    """A scale tips to the side with the heavier bowl; weights are moved one at a time."""

    half = "choose"
    sizes, larger = (2, 3), (5,)
    sketch = """
    (:types weight scale - object side - int64[choices=3])
    (:predicates (mass [return_type=float32] ?w - weight) (lies [return_type=side] ?w - weight)
      (left-mass [return_type=float32] ?s - scale) (right-mass [return_type=float32] ?s - scale)
      (shown ?s - scale))
    (:derived (tips-left ?s - scale) (??f (left-mass ?s) (right-mass ?s)))
    (:derived (off ?w - weight) (??f (lies ?w)))
    (:action to-left :parameters (?w - weight ?s - scale) :precondition (off ?w)
      :effect (and (assign (lies ?w) (??side (lies ?w)))
                   (assign (left-mass ?s) (??sum (left-mass ?s) (mass ?w)))))
    (:action to-right :parameters (?w - weight ?s - scale) :precondition (off ?w)
      :effect (and (assign (lies ?w) (??side (lies ?w)))
                   (assign (right-mass ?s) (??sum (right-mass ?s) (mass ?w)))))
    (:action read :parameters (?s - scale)
      :effect (assign (shown ?s) (??f (left-mass ?s) (right-mass ?s))))
    """
    goals = {
        "(exists (?s - scale) (tips-left ?s))": lambda v: bool(
            (v["left-mass"] > v["right-mass"] + 0.1).any()
        ),
        "(forall (?w - weight) (not (off ?w)))": lambda v: bool((v["lies"] > 0).all()),
    }
    unseen = {
        "(and (forall (?w - weight) (not (off ?w))) (exists (?s - scale) (shown ?s)))": lambda v: bool(
            (v["lies"] > 0).all() and v["shown"].any()
        ),
    }
    labels = 2
    exact = {
        "tips-left": lambda a, b: a > b + 0.1,
        "off": lambda side: side == 0,
        "to-left::side": lambda side: torch.full_like(side, 1),
        "to-right::side": lambda side: torch.full_like(side, 2),
        "to-left::sum": lambda a, b: a + b,
        "to-right::sum": lambda a, b: a + b,
        "read": lambda a, b: a > b + 0.1,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"weight": size, "scale": 1}, {
            "mass": rng.integers(1, 6, size).astype(np.float32),
            "lies": np.zeros(size, dtype=np.int64),
            "left-mass": rng.integers(0, 4, 1).astype(np.float32),
            "right-mass": rng.integers(0, 4, 1).astype(np.float32),
            "shown": np.zeros(1, dtype=bool),
        }

    def actions(self, v: Values) -> list[Ground]:
        moves = [(name, w, 0) for name in ("to-left", "to-right") for w in range(len(v["mass"]))]
        return [("read", 0), *moves]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "read":
            return wrote(v, ("shown", 0, v["left-mass"][0] > v["right-mass"][0] + 0.1))
        name, w, _ = action
        if v["lies"][w]:
            return None
        bowl = "left-mass" if name == "to-left" else "right-mass"
        return wrote(v, ("lies", w, 1 if name == "to-left" else 2), (bowl, 0, v[bowl][0] + v["mass"][w]))
