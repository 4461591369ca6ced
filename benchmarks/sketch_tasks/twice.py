"""Two parameters, one object: what an action does when it is given the same thing twice."""
# ruff: noqa: D102, RUF012, PLW0108  (methods are explained in `core.Task`)

from __future__ import annotations

import numpy as np
import torch

from sketch_tasks.core import Ground, Rng, Task, Values, task, wrote


@task
class SameObjectTwice(Task):
    """Moving from a room to the same room: what is written false and true at once is true."""

    half = "choose"
    episodes, length = 60, 6
    sizes, larger = (2, 3), (4,)
    sketch = """
    (:types room)
    (:predicates (at ?r - room) (lamp ?r - room))
    (:action move :parameters (?to ?from - room) :precondition (??can (at ?from))
      :effect (and (assign (at ?from) (??leave (at ?from))) (assign (at ?to) (??come (at ?to)))))
    (:action light :parameters (?r - room) :precondition (at ?r) :effect (assign (lamp ?r) (??f (lamp ?r))))
    """
    goals = {
        "(forall (?r - room) (lamp ?r))": lambda v: bool(v["lamp"].all()),
        "(exists (?r - room) (and (at ?r) (lamp ?r)))": lambda v: bool((v["at"] & v["lamp"]).any()),
    }
    exact = {
        "move::can": lambda at: at,
        "move::leave": lambda at: torch.zeros_like(at),
        "move::come": lambda at: torch.ones_like(at),
        "light": lambda lamp: torch.ones_like(lamp),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"room": size}, {"at": np.arange(size) == rng.integers(size), "lamp": rng.random(size) < 0.3}

    def actions(self, v: Values) -> list[Ground]:
        rooms = range(len(v["at"]))
        return [("move", a, b) for a in rooms for b in rooms] + [("light", r) for r in rooms]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, *places = action
        if not v["at"][places[-1]]:
            return None
        if name == "light":
            return wrote(v, ("lamp", places[0], True))
        return wrote(v, ("at", places[1], False), ("at", places[0], True))


@task
class Swap(Task):
    """Two cards change places, by codes; swapping a card with itself changes nothing."""

    half = "check"
    episodes = 150
    sizes, larger = (3,), (5,)
    sketch = """
    (:types slot - object face - int64[choices=5])
    (:predicates (shows [return_type=face] ?s - slot) (glued ?s - slot) (first ?s - slot))
    (:derived (ace ?s - slot) (??f (shows ?s)))
    (:action swap :parameters (?a ?b - slot)
      :precondition (and (??free (glued ?a)) (??free2 (glued ?b)))
      :effect (and (assign (shows ?a) (??to (shows ?a) (shows ?b)))
        (assign (shows ?b) (??fro (shows ?a) (shows ?b)))))
    (:action redraw :parameters (?a - slot) :precondition (not (glued ?a))
      :effect (assign (shows ?a) (??f (shows ?a))))
    """
    goals = {
        "(exists (?s - slot) (and (first ?s) (ace ?s)))": lambda v: bool(
            (v["first"] & (v["shows"] == 4)).any()
        ),
        "(exists (?s - slot) (ace ?s))": lambda v: bool((v["shows"] == 4).any()),
    }
    unseen = {
        "(exists (?s - slot) (and (glued ?s) (not (ace ?s)) (= (shows ?s) 0)))": lambda v: bool(
            (v["glued"] & (v["shows"] == 0)).any()
        ),
        "(exists (?s - slot) (and (first ?s) (= (shows ?s) 2)))": lambda v: bool(
            (v["first"] & (v["shows"] == 2)).any()
        ),
    }
    exact = {
        "ace": lambda face: face == 4,
        "swap::free": lambda glued: ~glued,
        "swap::free2": lambda glued: ~glued,
        "swap::to": lambda a, b: b,
        "swap::fro": lambda a, b: a,
        "redraw": lambda a: (a + 2) % 5,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"slot": size}, {
            "shows": rng.integers(5, size=size),
            "glued": rng.random(size) < 0.2,
            "first": np.arange(size) == 0,
        }

    def actions(self, v: Values) -> list[Ground]:
        slots = range(len(v["shows"]))
        return [("swap", a, b) for a in slots for b in slots] + [("redraw", a) for a in slots]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, *slots = action
        if v["glued"][slots].any():
            return None
        if name == "redraw":
            return wrote(v, ("shows", slots[0], (v["shows"][slots[0]] + 2) % 5))
        return wrote(v, ("shows", slots, v["shows"][slots[::-1]]))
