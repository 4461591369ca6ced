"""Keys, locks and what fits what."""
# ruff: noqa: D102, RUF012, PLW0108  (methods are explained in `core.Task`)

from __future__ import annotations

import numpy as np
import torch

from sketch_tasks.core import Ground, Rng, Task, Values, task, wrote


class Corridor(Task):
    """A row of places with doors; a robot at one of them, with keys in its pocket or lying about."""

    shapes = 4
    sizes, larger = (3, 4), (6,)
    length = 8
    types = """
    (:types robot key door - object spot - float32 shape - int64[choices=4])
    (:predicates (at [return_type=spot] ?r - robot) (lies [return_type=spot] ?k - key) (held ?k - key)
      (cut [return_type=shape] ?k - key) (place-of [return_type=spot] ?d - door)
      (lock [return_type=shape] ?d - door) (open ?d - door))
    """
    moves = """
    (:action right :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
    (:action left :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
    """
    moves_exact = {"right": lambda a: a + 1, "left": lambda a: a - 1}

    def fits(self, cut: int, lock: int) -> bool:
        raise NotImplementedError

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        keys = min(size, 4)
        return {"robot": 1, "key": keys, "door": size}, {
            "at": rng.integers(size, size=1).astype(np.float32),
            "lies": rng.integers(size, size=keys).astype(np.float32),
            "held": rng.random(keys) < 0.2,
            "cut": rng.integers(self.shapes, size=keys),
            "place-of": rng.permutation(size).astype(np.float32),
            "lock": rng.integers(self.shapes, size=size),
            "open": rng.random(size) < 0.1,
        }

    def actions(self, v: Values) -> list[Ground]:
        grabs = [("grab", 0, k) for k in range(len(v["cut"]))]
        opens = [("unlock", 0, k, d) for k in range(len(v["cut"])) for d in range(len(v["lock"]))]
        return [("left", 0), ("right", 0), *grabs, *opens]

    def choose(self, rng: Rng, v: Values) -> Ground:
        at = v["at"][0]
        if rng.random() < 0.35:
            return ("left" if at > len(v["lock"]) / 2 - rng.random() else "right", 0)
        here = [
            a for a in self.actions(v) if a[0] == "grab" and v["lies"][a[2]] == at and not v["held"][a[2]]
        ]
        here += [
            a for a in self.actions(v) if a[0] == "unlock" and v["place-of"][a[3]] == at and v["held"][a[2]]
        ]
        if here and rng.random() < 0.8:
            return here[rng.integers(len(here))]
        return super().choose(rng, v)

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, at = action[0], v["at"][0]
        if name in ("left", "right"):
            return wrote(v, ("at", 0, at + (1 if name == "right" else -1)))
        k = action[2]
        if name == "grab":
            return None if v["lies"][k] != at or v["held"][k] else wrote(v, ("held", k, True))
        d = action[3]
        if not v["held"][k] or v["place-of"][d] != at or not self.fits(int(v["cut"][k]), int(v["lock"][d])):
            return None
        return wrote(v, ("open", d, True))


SOME_OPEN = {
    "(exists (?d - door) (open ?d))": lambda v: bool(v["open"].any()),
    "(exists (?k - key) (held ?k))": lambda v: bool(v["held"].any()),
}


@task
class KeysFit(Corridor):
    """A key opens the doors whose lock has its own shape; refusals tell."""

    half = "choose"
    episodes = 250
    sketch = f"""{Corridor.types}
    (:derived (here ?r - robot ?d - door) (??f (at ?r) (place-of ?d)))
    (:derived (fits ?k - key ?d - door) (??f (cut ?k) (lock ?d)))
    {Corridor.moves}
    (:action grab :parameters (?r - robot ?k - key)
      :precondition (and (??lies (at ?r) (lies ?k)) (not (held ?k))) :effect (held ?k))
    (:action unlock :parameters (?r - robot ?k - key ?d - door)
      :precondition (and (held ?k) (here ?r ?d) (fits ?k ?d)) :effect (assign (open ?d) (??f (open ?d))))
    """
    goals = SOME_OPEN
    unseen = {
        "(exists (?k - key ?d - door) (and (held ?k) (fits ?k ?d) (not (open ?d))))": lambda v: bool(
            (v["held"][:, None] & (v["cut"][:, None] == v["lock"]) & ~v["open"]).any()
        )
    }
    exact = {
        **Corridor.moves_exact,
        "here": lambda a, b: (a - b).abs() < 0.5,
        "fits": lambda a, b: a == b,
        "grab::lies": lambda a, b: (a - b).abs() < 0.5,
        "unlock": lambda open_: torch.ones_like(open_),
    }

    def fits(self, cut: int, lock: int) -> bool:
        return cut == lock


TABLE = torch.tensor([[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 1, 0]]).bool()


@task
class KeysByTable(Corridor):
    """Which key opens which lock is a table without a rule; a wrong key does nothing, and is not refused."""

    half = "check"
    episodes = 300
    sketch = f"""{Corridor.types}
    (:derived (here ?r - robot ?d - door) (??f (at ?r) (place-of ?d)))
    {Corridor.moves}
    (:action grab :parameters (?r - robot ?k - key)
      :effect (when (and (??lies (at ?r) (lies ?k)) (not (held ?k))) (held ?k)))
    (:action unlock :parameters (?r - robot ?k - key ?d - door)
      :effect (when (and (held ?k) (here ?r ?d) (??fits (cut ?k) (lock ?d))) (open ?d)))
    """
    goals = SOME_OPEN
    unseen = {"(forall (?k - key) (held ?k))": lambda v: bool(v["held"].all())}
    exact = {
        **Corridor.moves_exact,
        "here": lambda a, b: (a - b).abs() < 0.5,
        "grab::lies": lambda a, b: (a - b).abs() < 0.5,
        "unlock::fits": lambda a, b: TABLE.to(a.device)[a, b],
    }

    def fits(self, cut: int, lock: int) -> bool:
        return bool(TABLE[cut, lock])

    def simulate(self, v: Values, action: Ground) -> Values:
        return super().simulate(v, action) or v


@task
class CombinationLock(Task):
    """Dials are turned one by one; the safe opens where the three of them show its own number."""

    half = "choose"
    sizes, larger = (1, 2), (3,)
    length = 8
    depth = 60
    sketch = """
    (:types safe - object code - vector[int64, 3, choices=4])
    (:predicates (dials [return_type=code] ?s - safe) (number [return_type=code] ?s - safe) (open ?s - safe))
    (:derived (matches ?s - safe) (??f (dials ?s) (number ?s)))
    (:action first :parameters (?s - safe) :effect (assign (dials ?s) (??f (dials ?s))))
    (:action second :parameters (?s - safe) :effect (assign (dials ?s) (??f (dials ?s))))
    (:action third :parameters (?s - safe) :effect (assign (dials ?s) (??f (dials ?s))))
    (:action pull :parameters (?s - safe) :effect (when (matches ?s) (assign (open ?s) (??f (open ?s)))))
    """
    goals = {
        "(exists (?s - safe) (open ?s))": lambda v: bool(v["open"].any()),
        "(exists (?s - safe) (matches ?s))": lambda v: bool((v["dials"] == v["number"]).all(1).any()),
    }
    exact = {
        "matches": lambda a, b: (a == b).all(-1),
        **{
            name: lambda dials, at=at: (dials + torch.nn.functional.one_hot(torch.tensor(at), 3)) % 4
            for at, name in enumerate(("first", "second", "third"))
        },
        "pull": lambda open_: torch.ones_like(open_),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        number = rng.integers(4, size=(size, 3))
        near = (number - rng.integers(2, size=(size, 3)) * rng.integers(2, size=(size, 1))) % 4
        return {"safe": size}, {"dials": near, "number": number, "open": np.zeros(size, dtype=bool)}

    def actions(self, v: Values) -> list[Ground]:
        return [(n, s) for n in ("first", "second", "third", "pull") for s in range(len(v["open"]))]

    def simulate(self, v: Values, action: Ground) -> Values:
        name, s = action
        if name == "pull":
            return wrote(v, ("open", s, True)) if (v["dials"][s] == v["number"][s]).all() else v
        at = ("first", "second", "third").index(name)
        return wrote(v, ("dials", (s, at), (v["dials"][s, at] + 1) % 4))


@task
class PlugsAndSockets(Task):
    """A plug fits sockets of its own kind, or any with an adapter; what is plugged in works given power."""

    half = "check"
    sizes, larger = (2, 3), (5,)
    sketch = """
    (:types device socket - object kind - int64[choices=5])
    (:predicates (plug [return_type=kind] ?d - device) (hole [return_type=kind] ?s - socket)
      (power [return_type=float32] ?s - socket) (in ?d - device ?s - socket) (works ?d - device)
      (needs [return_type=float32] ?d - device) (have-adapter))
    (:derived (same ?d - device ?s - socket) (??f (plug ?d) (hole ?s)))
    (:derived (universal ?s - socket) (??f (hole ?s)))
    (:action take-adapter :parameters () :effect (have-adapter))
    (:action insert :parameters (?d - device ?s - socket)
      :precondition (or (same ?d ?s) (universal ?s) (have-adapter)) :effect (in ?d ?s))
    (:action switch-on :parameters (?d - device ?s - socket)
      :effect (when (and (in ?d ?s) (??strong (power ?s) (needs ?d))) (works ?d)))
    """
    goals = {
        "(exists (?d - device) (works ?d))": lambda v: bool(v["works"].any()),
        "(exists (?s - socket) (forall (?d - device) (same ?d ?s)))": lambda v: bool(
            (v["plug"][:, None] == v["hole"]).all(0).any()
        ),
    }
    unseen = {
        "(exists (?d - device ?s - socket) (and (in ?d ?s) (not (same ?d ?s))))": lambda v: bool(
            (v["in"] & (v["plug"][:, None] != v["hole"])).any()
        ),
        "(exists (?d - device ?s - socket) (and (in ?d ?s) (universal ?s)))": lambda v: bool(
            (v["in"] & (v["hole"] == 4)).any()
        ),
    }
    exact = {
        "same": lambda a, b: a == b,
        "universal": lambda hole: hole == 4,
        "switch-on": lambda power, needs: power > needs,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"device": size, "socket": size + 1}, {
            "plug": rng.integers(4, size=size),
            "hole": rng.integers(5, size=size + 1),
            "power": rng.uniform(1, 9, size + 1).astype(np.float32),
            "in": np.zeros((size, size + 1), dtype=bool),
            "works": np.zeros(size, dtype=bool),
            "needs": rng.uniform(1, 6, size).astype(np.float32),
            "have-adapter": np.array(rng.random() < 0.2),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("take-adapter",)] + [
            (n, d, s) for n in ("insert", "switch-on") for d, s in np.ndindex(v["in"].shape)
        ]

    def choose(self, rng: Rng, v: Values) -> Ground:
        placed = np.argwhere(v["in"])
        if len(placed) and rng.random() < 0.5:
            d, s = placed[rng.integers(len(placed))]
            return ("switch-on", int(d), int(s))
        action = super().choose(rng, v)
        return action if action[0] != "switch-on" else ("insert", *action[1:])

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "take-adapter":
            return wrote(v, ("have-adapter", (), True))
        name, d, s = action
        if name == "insert":
            fits = v["plug"][d] == v["hole"][s] or v["hole"][s] == 4 or v["have-adapter"]
            return wrote(v, ("in", (d, s), True)) if fits else None
        strong = v["in"][d, s] and v["power"][s] > v["needs"][d]
        return wrote(v, ("works", d, True)) if strong else v
