"""Relations of two and three things, learned from goals that quantify over them."""
# ruff: noqa: D102, RUF012, PLW0108, PLC3002, B023  (methods are explained in `core.Task`)

from __future__ import annotations

from itertools import permutations

import numpy as np
import torch

from sketch_tasks.core import Ground, Rng, Task, Values, task, wrote


class Shelf(Task):
    """Things on a long shelf, each of which can be moved by one."""

    sizes, larger = (3,), (5,)
    sides = 6
    kinds = "(:types thing - object spot - float32 colour - int64[choices=3])"
    observed = "(x [return_type=spot] ?t - thing) (hue [return_type=colour] ?t - thing)"
    moves = """
    (:action right :parameters (?t - thing) :effect (x::assign ?t (??f (x ?t))))
    (:action left :parameters (?t - thing) :effect (x::assign ?t (??f (x ?t))))
    """
    moves_exact = {"right": lambda a: a + 1, "left": lambda a: a - 1}

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"thing": size}, {
            "x": rng.choice(2 * self.sides, size, replace=False).astype(np.float32),
            "hue": rng.integers(3, size=size),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [(name, t) for name in ("left", "right") for t in range(len(v["x"]))]

    def simulate(self, v: Values, action: Ground) -> Values:
        name, t = action
        return wrote(v, ("x", t, v["x"][t] + (1 if name == "right" else -1)))


@task
class Between(Shelf):
    """Goals ask for a red thing between two blue ones: a relation of three, under three quantifiers."""

    half = "choose"
    episodes = 250
    sizes, larger = (3, 4), (5,)
    sketch = f"""{Shelf.kinds} (:predicates {Shelf.observed})
    (:derived (between ?a ?b ?c - thing) (??f (x ?a) (x ?b) (x ?c)))
    (:derived (red ?t - thing) (??f (hue ?t)))
    (:derived (blue ?t - thing) (??f (hue ?t)))
    {Shelf.moves}
    """
    goals = {
        "(exists (?a ?b ?c - thing) (and (red ?b) (between ?a ?b ?c)))": lambda v: _some_between(v, None),
        "(exists (?a ?b ?c - thing) (and (blue ?a) (red ?b) (blue ?c) (between ?a ?b ?c)))": lambda v: (
            _some_between(v, 2)
        ),
        "(exists (?t - thing) (blue ?t))": lambda v: bool((v["hue"] == 2).any()),
    }
    exact = {
        **Shelf.moves_exact,
        "between": lambda a, b, c: ((a < b - 0.5) & (b < c - 0.5)) | ((c < b - 0.5) & (b < a - 0.5)),
        "red": lambda hue: hue == 0,
        "blue": lambda hue: hue == 2,
    }


def _some_between(v: Values, outer: int | None) -> bool:
    x, hue = v["x"], v["hue"]
    return any(
        hue[b] == 0
        and (outer is None or hue[a] == hue[c] == outer)
        and (x[a] < x[b] < x[c] or x[c] < x[b] < x[a])
        for a, b, c in permutations(range(len(x)), 3)
    )


@task
class Mixture(Task):
    """Three dials; a lamp shines where the third shows the sum of the other two, counted modulo 5."""

    half = "check"
    episodes = 300
    sizes, larger = (3,), (4, 5)
    sketch = """
    (:types dial - object number - int64[choices=5])
    (:predicates (shows [return_type=number] ?d - dial) (stuck ?d - dial))
    (:derived (mixed ?a ?b ?c - dial) (??f (shows ?a) (shows ?b) (shows ?c)))
    (:derived (zero ?d - dial) (??f (shows ?d)))
    (:action turn :parameters (?d - dial) :precondition (not (stuck ?d))
      :effect (assign (shows ?d) (??f (shows ?d))))
    """
    goals = {
        f"(mixed dial{a} dial{b} dial{c})": (lambda a, b, c: lambda v: _mixed(v, a, b, c))(a, b, c)
        for a, b, c in ((0, 1, 2), (2, 0, 1), (1, 2, 0))
    } | {"(exists (?d - dial) (zero ?d))": lambda v: bool((v["shows"] == 0).any())}
    labels = 2
    unseen = {
        "(and (mixed dial0 dial1 dial2) (not (zero dial2)))": lambda v: (
            _mixed(v, 0, 1, 2) and v["shows"][2] != 0
        )
    }
    exact = {
        "mixed": lambda a, b, c: (a + b) % 5 == c,
        "zero": lambda a: a == 0,
        "turn": lambda a: (a + 1) % 5,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"dial": size}, {"shows": rng.integers(5, size=size), "stuck": rng.random(size) < 0.2}

    def actions(self, v: Values) -> list[Ground]:
        return [("turn", d) for d in range(len(v["shows"]))]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        d = action[1]
        return None if v["stuck"][d] else wrote(v, ("shows", d, (v["shows"][d] + 1) % 5))


def _mixed(v: Values, a: int, b: int, c: int) -> bool:
    return bool((v["shows"][a] + v["shows"][b]) % 5 == v["shows"][c])


@task
class LineOfSight(Shelf):
    """A lamp lights a statue unless a screen is between: a negated quantifier over a relation of three."""

    half = "check"
    episodes = 250
    sizes, larger = (2, 3), (5,)
    sketch = """
    (:types lamp screen statue - object spot - float32)
    (:predicates (lamp-at [return_type=spot] ?l - lamp) (screen-at [return_type=spot] ?s - screen)
      (statue-at [return_type=spot] ?t - statue) (on ?l - lamp))
    (:derived (hides ?s - screen ?l - lamp ?t - statue) (??f (screen-at ?s) (lamp-at ?l) (statue-at ?t)))
    (:derived (lit ?t - statue)
      (exists (?l - lamp) (and (on ?l) (not (exists (?s - screen) (hides ?s ?l ?t))))))
    (:action right :parameters (?s - screen) :effect (screen-at::assign ?s (??f (screen-at ?s))))
    (:action left :parameters (?s - screen) :effect (screen-at::assign ?s (??f (screen-at ?s))))
    (:action switch :parameters (?l - lamp) :effect (assign (on ?l) (??f (on ?l))))
    """
    goals = {
        "(exists (?t - statue) (lit ?t))": lambda v: bool(_lit(v).any()),
        "(lit statue0)": lambda v: bool(_lit(v)[0]),
    }
    unseen = {
        "(forall (?t - statue) (lit ?t))": lambda v: bool(_lit(v).all()),
        "(not (lit statue0))": lambda v: not _lit(v)[0],
    }
    exact = {
        **Shelf.moves_exact,
        "hides": lambda s, a, b: ((a < s) & (s < b)) | ((b < s) & (s < a)),
        "switch": lambda on: ~on,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        spots = rng.permutation(4 * size).astype(np.float32)
        return {"lamp": size, "screen": size, "statue": size - 1}, {
            "lamp-at": spots[:size],
            "screen-at": spots[size : 2 * size] + 0.5,
            "statue-at": spots[2 * size : 3 * size - 1],
            "on": rng.random(size) < 0.4,
        }

    def actions(self, v: Values) -> list[Ground]:
        names = ("left", "right", "switch")
        return [(name, i) for name in names for i in range(len(v["on"]))]

    def simulate(self, v: Values, action: Ground) -> Values:
        name, i = action
        if name == "switch":
            return wrote(v, ("on", i, not v["on"][i]))
        return wrote(v, ("screen-at", i, v["screen-at"][i] + (1 if name == "right" else -1)))


def _lit(v: Values) -> np.ndarray:
    s, a, b = v["screen-at"], v["lamp-at"][:, None, None], v["statue-at"][:, None]
    hidden = (((a < s) & (s < b)) | ((b < s) & (s < a))).any(-1)
    return (v["on"][:, None] & ~hidden).any(0)


@task
class KindsOfGoals(Shelf):
    """Many goals an episode, about three predicates and named things: one of them is an exclusive or."""

    half = "choose"
    episodes = 60
    length = 2
    depth = 6
    sketch = f"""{Shelf.kinds} (:predicates {Shelf.observed})
    (:derived (left-of ?a ?b - thing) (??f (x ?a) (x ?b)))
    (:derived (odd ?a ?b - thing) (??f (hue ?a) (hue ?b)))
    (:derived (far ?a - thing) (??f (x ?a)))
    {Shelf.moves}
    """
    goals = {
        **{
            f"(left-of thing{a} thing{b})": (lambda a, b: lambda v: bool(v["x"][a] < v["x"][b] - 0.5))(a, b)
            for a, b in permutations(range(3), 2)
        },
        **{
            f"(odd thing{a} thing{b})": (
                lambda a, b: lambda v: bool((v["hue"][a] == 0) != (v["hue"][b] == 2))
            )(a, b)
            for a, b in permutations(range(3), 2)
        },
        **{f"(far thing{a})": (lambda a: lambda v: bool(v["x"][a] > 5.5))(a) for a in range(3)},
    }
    labels = len(goals)
    unseen = {
        "(forall (?t - thing) (far ?t))": lambda v: bool((v["x"] > 5.5).all()),
        "(exists (?a ?b - thing) (and (left-of ?a ?b) (far ?a)))": lambda v: bool(
            ((v["x"][:, None] < v["x"] - 0.5) & (v["x"][:, None] > 5.5)).any()
        ),
    }
    exact = {
        **Shelf.moves_exact,
        "left-of": lambda a, b: a < b - 0.5,
        "odd": lambda a, b: (a == 0) != (b == 2),
        "far": lambda a: a > 5.5,
    }


@task
class Overlap(Shelf):
    """Do two parts of different widths overlap? The right edge is written as a sum in the sketch."""

    half = "check"
    episodes = 200
    depth = 8
    sketch = """
    (:types part - object length - float32)
    (:predicates (x [return_type=length] ?p - part) (width [return_type=length] ?p - part))
    (:derived (clash ?a ?b - part) (??f (x ?a) (+ (x ?a) (width ?a)) (x ?b)))
    (:derived (wide ?a - part) (??f (width ?a)))
    (:action right :parameters (?p - part) :effect (x::assign ?p (??f (x ?p))))
    (:action left :parameters (?p - part) :effect (x::assign ?p (??f (x ?p))))
    """
    goals = {
        "(clash part0 part1)": lambda v: bool(_clash(v)[0, 1]),
        "(clash part1 part0)": lambda v: bool(_clash(v)[1, 0]),
        "(exists (?a ?b - part) (and (wide ?a) (clash ?a ?b) (not (= ?a ?b))))": lambda v: bool(
            ((v["width"][:, None] > 2.5) & _clash(v) & ~np.eye(len(v["x"]), dtype=bool)).any()
        ),
    }
    labels = 2
    unseen = {"(clash part2 part1)": lambda v: bool(_clash(v)[2, 1])}
    exact = {
        **Shelf.moves_exact,
        "clash": lambda left, right, other: (left < other + 0.25) & (other + 0.25 < right),
        "wide": lambda width: width > 2.5,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"part": size}, {
            "x": rng.integers(4 * size, size=size).astype(np.float32),
            "width": rng.integers(1, 5, size=size).astype(np.float32),
        }


def _clash(v: Values) -> np.ndarray:
    left, right, other = v["x"][:, None], (v["x"] + v["width"])[:, None], v["x"] + 0.25
    return (left < other) & (other < right)


@task
class Towers(Task):
    """Blocks are put on one another by colour: a relation over a Boolean table of pairs, two layers deep."""

    half = "choose"
    sizes, larger = (3, 4), (5,)
    length = 8
    sketch = """
    (:types block - object colour - int64[choices=4])
    (:predicates (hue [return_type=colour] ?b - block) (on ?a ?b - block) (table ?b - block))
    (:derived (clear ?b - block) (not (exists (?a - block) (on ?a ?b))))
    (:derived (warm ?b - block) (??f (hue ?b)))
    (:derived (cold ?b - block) (??f (hue ?b)))
    (:action stack :parameters (?a ?b - block)
      :precondition (and (clear ?a) (clear ?b) (not (= ?a ?b)) (??may (hue ?a) (hue ?b) (table ?a)))
      :effect (and (assign (on ?a ?b) (??on (on ?a ?b))) (assign (table ?a) (??off (table ?a)))))
    (:action unstack :parameters (?a ?b - block)
      :precondition (and (clear ?a) (??stands (on ?a ?b)))
      :effect (and (assign (on ?a ?b) (??on (on ?a ?b))) (assign (table ?a) (??off (table ?a)))))
    """
    goals = {
        "(exists (?a ?b - block) (and (warm ?a) (cold ?b) (on ?a ?b)))": lambda v: bool(
            ((v["hue"][:, None] < 2) & (v["hue"] == 3) & v["on"]).any()
        ),
        "(exists (?a ?b - block) (and (warm ?b) (on ?a ?b)))": lambda v: bool(
            ((v["hue"] < 2) & v["on"]).any()
        ),
        "(exists (?a - block) (and (cold ?a) (table ?a)))": lambda v: bool(
            ((v["hue"] == 3) & v["table"]).any()
        ),
    }
    unseen = {
        "(exists (?a ?b ?c - block) (and (on ?a ?b) (on ?b ?c)))": lambda v: bool((v["on"] @ v["on"]).any()),
        "(forall (?a - block) (table ?a))": lambda v: bool(v["table"].all()),
    }
    exact = {
        "warm": lambda hue: hue < 2,
        "cold": lambda hue: hue == 3,
        "stack::may": lambda a, b, table: (a != b) & table,
        "stack::on": lambda on: torch.ones_like(on),
        "stack::off": lambda table: torch.zeros_like(table),
        "unstack::stands": lambda on: on,
        "unstack::on": lambda on: torch.zeros_like(on),
        "unstack::off": lambda table: torch.ones_like(table),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        on = np.zeros((size, size), dtype=bool)
        if rng.random() < 0.5:
            a, b = rng.permutation(size)[:2]
            on[a, b] = True
        return {"block": size}, {"hue": rng.integers(4, size=size), "on": on, "table": ~on.any(1)}

    def actions(self, v: Values) -> list[Ground]:
        return [(name, a, b) for name in ("stack", "unstack") for a, b in np.ndindex(v["on"].shape)]

    def choose(self, rng: Rng, v: Values) -> Ground:
        tried = self.actions(v)
        if rng.random() < 0.6:
            tried = [a for a in tried if self.simulate(v, a) is not None] or tried
        return tried[rng.integers(len(tried))]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, a, b = action
        clear = ~v["on"].any(0)
        if name == "unstack":
            done = clear[a] and v["on"][a, b]
            return wrote(v, ("on", (a, b), False), ("table", a, True)) if done else None
        fits = clear[a] and clear[b] and a != b and v["hue"][a] != v["hue"][b] and v["table"][a]
        return wrote(v, ("on", (a, b), True), ("table", a, False)) if fits else None
