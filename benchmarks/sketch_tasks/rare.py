"""Little data, goals and effects that are seldom seen; random walks and demonstrations among items."""
# ruff: noqa: D102, RUF012, PLW0108, PLC3002, B023  (methods are explained in `core.Task`)

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
    border,
    cells,
    same_place,
    task,
    wrote,
)
from sketch_tasks.walls import TURNED, TURNS

COLOURS = {"red": 0, "green": 1, "blue": 2, "grey": 3}
KINDS = {"door": 4, "key": 5, "ball": 6, "box": 7}
WORDS = "\n".join(f"(:derived (is-{word} ?o - item) (??f (code-of ?o)))" for word in {**COLOURS, **KINDS})
WORDS_EXACT = {
    **{f"is-{word}": (lambda c: lambda code: code[..., 1] == c)(c) for word, c in COLOURS.items()},
    **{f"is-{word}": (lambda c: lambda code: code[..., 0] == c)(c) for word, c in KINDS.items()},
}


def item(v: Values, marked: np.ndarray, *words: str) -> bool:
    """Some marked item is all that."""
    codes = v["code-of"]
    for word in words:
        at, code = (1, COLOURS[word]) if word in COLOURS else (0, KINDS[word])
        marked = marked & (codes[:, at] == code)
    return bool(marked.any())


def codes(rng: Rng, count: int, kinds: tuple[str, ...]) -> np.ndarray:
    """Kind, colour and state of items."""
    kind = np.array([KINDS[k] for k in rng.choice(kinds, count)])
    return np.stack([kind, rng.integers(4, size=count), kind == 4], -1).astype(np.int64)


@task
class TwentySteps(Task):
    """Twenty steps in all: how far two moves go, and which side of a line is home."""

    half = "choose"
    episodes, length = 10, 2
    sizes, larger = (6,), (12,)
    sketch = """
    (:types robot - object spot - float32)
    (:predicates (at [return_type=spot] ?r - robot))
    (:derived (home ?r - robot) (??f (at ?r)))
    (:action right :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
    (:action left :parameters (?r - robot) :effect (at::assign ?r (??f (at ?r))))
    """
    goals = {"(exists (?r - robot) (home ?r))": lambda v: bool(v["at"][0] < 3.5)}
    exact = {"home": lambda at: at < 3.5, "right": lambda at: at + 2, "left": lambda at: at - 1}

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"robot": 1}, {"at": rng.integers(1, size + 1, size=1).astype(np.float32)}

    def actions(self, v: Values) -> list[Ground]:
        return [("right", 0), ("left", 0)]

    def simulate(self, v: Values, action: Ground) -> Values:
        return wrote(v, ("at", 0, v["at"][0] + (2 if action[0] == "right" else -1)))


@task
class FortyTries(Task):
    """Forty tries of three actions over Booleans, half of them refused."""

    half = "check"
    episodes, length = 10, 4
    sizes, larger = (3,), (6,)
    sketch = """
    (:types lamp)
    (:predicates (lit ?l - lamp) (wired ?l - lamp) (power))
    (:action light :parameters (?l - lamp) :precondition (??can (wired ?l) (power))
      :effect (assign (lit ?l) (??f (lit ?l))))
    (:action wire :parameters (?l - lamp) :precondition (not (power))
      :effect (assign (wired ?l) (??f (wired ?l))))
    (:action toggle :parameters () :effect (assign (power) (??f (power))))
    """
    goals = {"(exists (?l - lamp) (lit ?l))": lambda v: bool(v["lit"].any())}
    unseen = {
        "(exists (?l - lamp) (and (lit ?l) (not (wired ?l))))": lambda v: bool(
            (v["lit"] & ~v["wired"]).any()
        ),
        "(lit lamp0)": lambda v: bool(v["lit"][0]),
    }
    exact = {
        "light::can": lambda wired, power: wired & power,
        "light::f": lambda lit: torch.ones_like(lit),
        "wire": lambda wired: ~wired,
        "toggle": lambda power: ~power,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        wired = rng.random(size) < 0.4
        return {"lamp": size}, {
            "lit": np.zeros(size, dtype=bool),
            "wired": wired,
            "power": np.array(rng.random() < 0.5),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("toggle",), *[(name, i) for name in ("light", "wire") for i in range(len(v["lit"]))]]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "toggle":
            return wrote(v, ("power", (), not v["power"]))
        name, i = action
        if name == "light":
            return wrote(v, ("lit", i, True)) if v["wired"][i] and v["power"] else None
        return None if v["power"] else wrote(v, ("wired", i, not v["wired"][i]))


@task
class RareWords(Task):
    """Sixteen goals of two words each, seldom true; who is within reach is told by refusals."""

    half = "choose"
    episodes, labels = 300, 3
    sizes, larger = (3,), (5,)
    sketch = f"""
    (:types item - object reach - float32 code - vector[int64, 3, choices=8])
    (:predicates (code-of [return_type=code] ?o - item) (distance [return_type=reach] ?o - item)
      (held ?o - item))
    {WORDS}
    (:action grab :parameters (?o - item) :precondition (??near (distance ?o)) :effect (held ?o))
    (:action drop :parameters (?o - item) :effect (assign (held ?o) (??f (held ?o))))
    (:action pull :parameters (?o - item) :effect (assign (distance ?o) (??f (distance ?o))))
    """
    goals = {
        f"(exists (?o - item) (and (held ?o) (is-{colour} ?o) (is-{kind} ?o)))": (
            lambda colour, kind: lambda v: item(v, v["held"], colour, kind)
        )(colour, kind)
        for colour in COLOURS
        for kind in ("key", "ball", "box", "door")
    }
    unseen = {
        "(exists (?o - item) (and (held ?o) (not (is-red ?o)) (is-ball ?o)))": lambda v: item(
            v, v["held"] & (v["code-of"][:, 1] != 0), "ball"
        ),
        "(forall (?o - item) (implies (is-key ?o) (held ?o)))": lambda v: not item(v, ~v["held"], "key"),
    }
    exact = {
        **WORDS_EXACT,
        "grab": lambda distance: distance < 3,
        "drop": lambda held: torch.zeros_like(held),
        "pull": lambda distance: distance - 1,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"item": size}, {
            "code-of": codes(rng, size, tuple(KINDS)),
            "distance": rng.uniform(0, 6, size).astype(np.float32),
            "held": np.zeros(size, dtype=bool),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [(name, o) for name in ("grab", "drop", "pull") for o in range(len(v["held"]))]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, o = action
        if name == "pull":
            return wrote(v, ("distance", o, v["distance"][o] - 1))
        if name == "grab" and v["distance"][o] >= 3:
            return None
        return wrote(v, ("held", o, name == "grab"))


@task
class RareBell(Task):
    """A bell rings only where its number is dialled and the lever is up: in a few steps of two thousand."""

    half = "check"
    episodes = 300
    sizes, larger = (1, 2), (3,)
    depth = 60
    sketch = """
    (:types bell - object number - int64[choices=8])
    (:predicates (dialled [return_type=number] ?b - bell) (lever ?b - bell) (rung ?b - bell))
    (:action dial :parameters (?b - bell) :effect (assign (dialled ?b) (??f (dialled ?b))))
    (:action flip :parameters (?b - bell) :effect (assign (lever ?b) (??f (lever ?b))))
    (:action pull :parameters (?b - bell)
      :effect (when (and (??right (dialled ?b)) (??up (lever ?b))) (assign (rung ?b) (??f (rung ?b)))))
    """
    goals = {"(exists (?b - bell) (rung ?b))": lambda v: bool(v["rung"].any())}
    unseen = {
        "(exists (?b - bell) (and (rung ?b) (= (dialled ?b) 0)))": lambda v: bool(
            (v["rung"] & (v["dialled"] == 0)).any()
        )
    }
    exact = {
        "dial": lambda a: (a + 3) % 8,
        "flip": lambda lever: ~lever,
        "pull::right": lambda a: a == 5,
        "pull::up": lambda lever: lever,
        "pull::f": lambda rung: torch.ones_like(rung),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"bell": size}, {
            "dialled": rng.integers(8, size=size),
            "lever": rng.random(size) < 0.3,
            "rung": np.zeros(size, dtype=bool),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [(name, b) for name in ("dial", "flip", "pull") for b in range(len(v["rung"]))]

    def simulate(self, v: Values, action: Ground) -> Values:
        name, b = action
        if name == "dial":
            return wrote(v, ("dialled", b, (v["dialled"][b] + 3) % 8))
        if name == "flip":
            return wrote(v, ("lever", b, not v["lever"][b]))
        return wrote(v, ("rung", b, True)) if v["dialled"][b] == 5 and v["lever"][b] else v


def faced(v: Values) -> np.ndarray:
    """Which items are in front of the robot."""
    return among(v["at"][0] + DIRECTIONS[v["heading"][0]], v["item-at"])


def facing(*words: str) -> Truth:
    """An item like that is in front of the robot."""
    return lambda v: item(v, faced(v), *words)


AGENT = f"""
    (:types robot item wall - object place - vector[float32, 2, tolerance=0.1] direction - int64[choices=4]
      code - vector[int64, 3, choices=8])
    (:predicates (at [return_type=place] ?r - robot) (heading [return_type=direction] ?r - robot)
      (item-at [return_type=place] ?o - item) (code-of [return_type=code] ?o - item)
      (where [return_type=place] ?w - wall))
    (:derived (facing ?r - robot ?o - item) (??f (at ?r) (heading ?r) (item-at ?o)))
    {WORDS}
    {TURNS}
"""
AGENT_EXACT = {
    **WORDS_EXACT,
    **TURNED,
    "facing": lambda at, heading, item_at: same_place(ahead(at, heading), item_at),
}
TWO_WORDS = {
    f"(exists (?r - robot ?o - item) (and (facing ?r ?o) (is-{colour} ?o) (is-{kind} ?o)))": facing(
        colour, kind
    )
    for colour in COLOURS
    for kind in KINDS
}


class Agent(Task):
    """A robot that turns and walks among items."""

    episodes, length = 300, 10
    kinds: tuple[str, ...] = tuple(KINDS)
    walled = False

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        found = cells(rng, size, size, 1 + size)
        walls = border(size, size) if self.walled else np.zeros((0, 2), dtype=np.float32)
        return {"robot": 1, "item": size, "wall": len(walls)}, {
            "at": found[:1],
            "heading": rng.integers(4, size=1),
            "item-at": found[1:],
            "code-of": codes(rng, size, self.kinds),
            "where": walls,
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("left", 0), ("right", 0), ("forward", 0)]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        heading = int(v["heading"][0])
        if action[0] in ("left", "right"):
            return wrote(v, ("heading", 0, (heading + (1 if action[0] == "left" else 3)) % 4))
        to = v["at"][0] + DIRECTIONS[heading]
        return v if among(to, v["where"]).any() or self.stops(v) else wrote(v, ("at", 0, to))

    def stops(self, v: Values) -> bool:
        return bool(faced(v).any())


@task
class RandomWalks(Agent):
    """Random walks with goals that are seldom reached, over two of eight words; items block the way."""

    half = "choose"
    episodes = 800
    sizes, larger = (4,), (6,)
    sketch = f"""{AGENT}
    (:action forward :parameters (?r - robot)
      :effect (at::cond-assign ?r (not (exists (?o - item) (facing ?r ?o))) (??to (at ?r) (heading ?r))))
    """
    goals = TWO_WORDS
    unseen = {
        "(exists (?r - robot ?o - item) (and (facing ?r ?o) (is-key ?o) (not (is-red ?o))))": lambda v: item(
            v, faced(v) & (v["code-of"][:, 1] != 0), "key"
        )
    }
    exact = {**AGENT_EXACT, "forward": ahead}


@task
class Demonstrations(Agent):
    """A hundred demonstrations in a walled room: walk to an item, pick it up, put it down, open doors."""

    half = "check"
    episodes, length = 120, 14
    sizes, larger = (4,), (6,)
    walled = True
    gone = np.array([-5, -5], dtype=np.float32)
    sketch = f"""{AGENT}
    (:derived (is-open ?o - item) (??f (code-of ?o)))
    (:derived (held ?o - item) (??f (item-at ?o)))
    (:derived (blocked ?r - robot) (or
      (exists (?w - wall) (??wall (at ?r) (heading ?r) (where ?w)))
      (exists (?o - item) (and (facing ?r ?o) (??solid (code-of ?o))))))
    (:action forward :parameters (?r - robot)
      :effect (at::cond-assign ?r (not (blocked ?r)) (??to (at ?r) (heading ?r))))
    (:action pickup :parameters (?r - robot) :effect (forall (?o - item)
      (when (and (facing ?r ?o) (??can (code-of ?o)) (not (exists (?p - item) (held ?p))))
        (assign (item-at ?o) (??away (item-at ?o))))))
    (:action toggle :parameters (?r - robot) :effect (forall (?o - item)
      (when (and (facing ?r ?o) (is-door ?o)) (assign (code-of ?o) (??f (code-of ?o))))))
    """
    goals = {
        **TWO_WORDS,
        "(exists (?r - robot ?o - item) (and (facing ?r ?o) (is-door ?o) (is-open ?o)))": lambda v: item(
            v, faced(v) & (v["code-of"][:, 2] == 0), "door"
        ),
        "(exists (?o - item) (and (held ?o) (is-key ?o)))": lambda v: item(v, v["item-at"][:, 0] < -4, "key"),
        "(exists (?o - item) (and (held ?o) (is-ball ?o)))": lambda v: item(
            v, v["item-at"][:, 0] < -4, "ball"
        ),
    }
    labels = 3
    unseen = {
        "(exists (?o - item) (and (held ?o) (is-box ?o)))": lambda v: item(v, v["item-at"][:, 0] < -4, "box")
    }
    exact = {
        **AGENT_EXACT,
        "is-open": lambda code: (code[..., 2] == 0) & (code[..., 0] == 4),
        "held": lambda at: at[..., 0] < -4,
        "blocked::wall": lambda at, heading, where: same_place(ahead(at, heading), where),
        "blocked::solid": lambda code: ~((code[..., 0] == 4) & (code[..., 2] == 0)),
        "forward": ahead,
        "pickup::can": lambda code: code[..., 0] != 4,
        "pickup::away": lambda at: torch.full_like(at, -5.0),
        "toggle": lambda code: torch.where(torch.tensor([False, False, True]), 1 - code.clamp(max=1), code),
    }

    def actions(self, v: Values) -> list[Ground]:
        return [*super().actions(v), ("pickup", 0), ("toggle", 0)]

    def stops(self, v: Values) -> bool:
        code = v["code-of"]
        return bool((faced(v) & ~((code[:, 0] == 4) & (code[:, 2] == 0))).any())

    def choose(self, rng: Rng, v: Values) -> Ground:
        if rng.random() < 0.2:
            return super().choose(rng, v)
        ahead_of = np.flatnonzero(faced(v))
        if len(ahead_of) and rng.random() < 0.7:
            code = v["code-of"][ahead_of[0]]
            held = (v["item-at"][:, 0] < -4).any()
            names = ["toggle", "forward"] if code[0] == 4 else ["left"] if held else ["pickup"]
            return (names[rng.integers(len(names))], 0)
        lying = v["item-at"][v["item-at"][:, 0] > -4]
        if not len(lying):
            return super().choose(rng, v)
        off = (
            lying[np.abs(lying - v["at"][0]).sum(1).argsort()[rng.integers(min(2, len(lying)))]] - v["at"][0]
        )
        good, heading = np.flatnonzero(DIRECTIONS @ off > 0.5), int(v["heading"][0])
        if heading in good:
            return ("forward", 0)
        return ("left" if (heading + 1) % 4 in good else "right", 0)

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] not in ("pickup", "toggle"):
            return super().simulate(v, action)
        code, front = v["code-of"], faced(v)
        if action[0] == "toggle":
            doors = front & (code[:, 0] == 4)
            return wrote(v, ("code-of", (doors, 2), 1 - code[doors, 2]))
        free = not (v["item-at"][:, 0] < -4).any()
        taken = front & (code[:, 0] != 4) & free
        return wrote(v, ("item-at", taken, self.gone))
