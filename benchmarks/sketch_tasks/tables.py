"""Ints that change by tables: clocks, codes, recipes, machines with several inputs."""
# ruff: noqa: D102, RUF012, PLW0108  (methods are explained in `core.Task`)

from __future__ import annotations

import numpy as np
import torch

from sketch_tasks.core import Ground, Rng, Task, Values, task, wrote

PERMUTED = torch.tensor([3, 5, 7, 0, 2, 6, 1, 4])


@task
class Clock(Task):
    """A wheel jumps from number to number in an order without a rule; another action counts down."""

    half = "choose"
    episodes = 60
    sizes, larger = (1, 2), (4,)
    sketch = """
    (:types wheel - object number - int64[choices=8])
    (:predicates (shows [return_type=number] ?w - wheel) (locked ?w - wheel))
    (:derived (top ?w - wheel) (??f (shows ?w)))
    (:action jump :parameters (?w - wheel) :effect (assign (shows ?w) (??f (shows ?w))))
    (:action down :parameters (?w - wheel)
      :effect (when (not (locked ?w)) (assign (shows ?w) (??f (shows ?w)))))
    (:action lock :parameters (?w - wheel) :effect (assign (locked ?w) (??f (shows ?w) (locked ?w))))
    """
    goals = {"(exists (?w - wheel) (top ?w))": lambda v: bool((v["shows"] == 7).any())}
    unseen = {
        "(exists (?w - wheel) (and (top ?w) (locked ?w)))": lambda v: bool(
            ((v["shows"] == 7) & v["locked"]).any()
        ),
        "(exists (?w - wheel) (= (shows ?w) 4))": lambda v: bool((v["shows"] == 4).any()),
    }
    exact = {
        "top": lambda shows: shows == 7,
        "jump": lambda shows: PERMUTED.to(shows.device)[shows],
        "down": lambda shows: (shows + 7) % 8,
        "lock": lambda shows, locked: locked | (shows == 7) | (shows == 2),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"wheel": size}, {"shows": rng.integers(8, size=size), "locked": rng.random(size) < 0.3}

    def actions(self, v: Values) -> list[Ground]:
        return [(name, w) for name in ("jump", "down", "lock") for w in range(len(v["shows"]))]

    def simulate(self, v: Values, action: Ground) -> Values:
        name, w = action
        shows = int(v["shows"][w])
        if name == "lock":
            return wrote(v, ("locked", w, bool(v["locked"][w]) or shows in (2, 7)))
        if name == "down":
            return v if v["locked"][w] else wrote(v, ("shows", w, (shows + 7) % 8))
        return wrote(v, ("shows", w, int(PERMUTED[shows])))


@task
class TwoDials(Task):
    """Adding one dial to another, modulo 6: a table of two ints, and two things that may be the same."""

    half = "check"
    episodes = 250
    sizes, larger = (2, 3), (4,)
    sketch = """
    (:types dial - object number - int64[choices=6])
    (:predicates (shows [return_type=number] ?d - dial))
    (:derived (even ?d - dial) (??f (shows ?d)))
    (:action add :parameters (?a ?b - dial) :effect (assign (shows ?a) (??f (shows ?a) (shows ?b))))
    (:action reset :parameters (?a - dial) :effect (assign (shows ?a) (??f)))
    """
    goals = {
        "(forall (?d - dial) (even ?d))": lambda v: bool((v["shows"] % 2 == 0).all()),
        "(exists (?d - dial) (even ?d))": lambda v: bool((v["shows"] % 2 == 0).any()),
    }
    unseen = {"(exists (?d - dial) (= (shows ?d) 5))": lambda v: bool((v["shows"] == 5).any())}
    exact = {"even": lambda a: a % 2 == 0, "add": lambda a, b: (a + b) % 6, "reset": lambda: 1}

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"dial": size}, {"shows": rng.integers(6, size=size)}

    def actions(self, v: Values) -> list[Ground]:
        count = len(v["shows"])
        return [("add", a, b) for a in range(count) for b in range(count)] + [
            ("reset", a) for a in range(count)
        ]

    def simulate(self, v: Values, action: Ground) -> Values:
        name, a, *rest = action
        return wrote(v, ("shows", a, 1 if name == "reset" else (v["shows"][a] + v["shows"][rest[0]]) % 6))


@task
class TrafficLight(Task):
    """Cars at a crossing: who may drive depends on the phase and on the car's direction."""

    half = "choose"
    sizes, larger = (2, 3), (5,)
    sketch = """
    (:types car light - object phase - int64[choices=4] lane - int64[choices=2] metre - float32)
    (:predicates (phase-of [return_type=phase] ?l - light) (lane-of [return_type=lane] ?c - car)
      (x [return_type=metre] ?c - car))
    (:derived (green ?l - light ?c - car) (??f (phase-of ?l) (lane-of ?c)))
    (:derived (waiting ?c - car) (??f (x ?c)))
    (:derived (through ?c - car) (??f (x ?c)))
    (:action tick :parameters (?l - light) :effect (and
      (assign (phase-of ?l) (??phase (phase-of ?l)))
      (forall (?c - car) (when (or (green ?l ?c) (not (waiting ?c))) (assign (x ?c) (??on (x ?c)))))))
    (:action hold :parameters (?l - light) :effect
      (forall (?c - car) (when (or (green ?l ?c) (not (waiting ?c))) (assign (x ?c) (??on (x ?c))))))
    """
    goals = {
        "(exists (?c - car) (through ?c))": lambda v: bool((v["x"] > 3.5).any()),
        "(exists (?c - car) (waiting ?c))": lambda v: bool(_waiting(v).any()),
    }
    unseen = {"(forall (?c - car) (through ?c))": lambda v: bool((v["x"] > 3.5).all())}
    exact = {
        "green": lambda phase, lane: phase == 2 * lane,
        "waiting": lambda x: (x - 2).abs() < 0.5,
        "through": lambda x: x > 3.5,
        "tick::phase": lambda phase: (phase + 1) % 4,
        "tick::on": lambda x: x + 1,
        "hold::on": lambda x: x + 1,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"car": size, "light": 1}, {
            "phase-of": rng.integers(4, size=1),
            "lane-of": rng.integers(2, size=size),
            "x": rng.integers(4, size=size).astype(np.float32),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("tick", 0), ("hold", 0)]

    def simulate(self, v: Values, action: Ground) -> Values:
        drives = ~_waiting(v) | (v["phase-of"][0] == 2 * v["lane-of"])
        after = wrote(v, ("x", drives, v["x"][drives] + 1))
        return wrote(after, ("phase-of", 0, (v["phase-of"][0] + 1) % 4)) if action[0] == "tick" else after


def _waiting(v: Values) -> np.ndarray:
    return np.abs(v["x"] - 2) < 0.5


@task
class OneComponent(Task):
    """A thing's code has three parts; painting and opening change one part each, the others stay."""

    half = "check"
    episodes = 120
    sizes, larger = (2,), (4,)
    sketch = """
    (:types thing - object code - vector[int64, 3, choices=6])
    (:predicates (code-of [return_type=code] ?t - thing))
    (:derived (red ?t - thing) (??f (code-of ?t)))
    (:derived (is-box ?t - thing) (??f (code-of ?t)))
    (:derived (open ?t - thing) (??f (code-of ?t)))
    (:action paint :parameters (?t - thing) :effect (assign (code-of ?t) (??f (code-of ?t))))
    (:action toggle :parameters (?t - thing) :effect
      (when (is-box ?t) (assign (code-of ?t) (??f (code-of ?t)))))
    """
    goals = {
        "(exists (?t - thing) (and (red ?t) (is-box ?t)))": lambda v: _codes(v, (5, 0, None)),
        "(exists (?t - thing) (and (is-box ?t) (open ?t)))": lambda v: _codes(v, (5, None, 1)),
        "(exists (?t - thing) (red ?t))": lambda v: _codes(v, (None, 0, None)),
        "(exists (?t - thing) (open ?t))": lambda v: _codes(v, (None, None, 1)),
    }
    unseen = {
        "(exists (?t - thing) (and (is-box ?t) (red ?t) (open ?t)))": lambda v: _codes(v, (5, 0, 1)),
        "(exists (?t - thing) (= (code-of ?t) [5, 3, 1]))": lambda v: _codes(v, (5, 3, 1)),
    }
    exact = {
        "red": lambda code: code[..., 1] == 0,
        "is-box": lambda code: code[..., 0] == 5,
        "open": lambda code: code[..., 2] == 1,
        "paint": lambda code: (code + torch.tensor([0, 1, 0])) % 6,
        "toggle": lambda code: torch.where(torch.tensor([False, False, True]), 1 - code.clamp(max=1), code),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        code = np.stack(
            [rng.choice([3, 4, 5], size), rng.integers(6, size=size), rng.integers(2, size=size)], -1
        )
        return {"thing": size}, {"code-of": code}

    def actions(self, v: Values) -> list[Ground]:
        return [(name, t) for name in ("paint", "toggle") for t in range(len(v["code-of"]))]

    def simulate(self, v: Values, action: Ground) -> Values:
        name, t = action
        kind, colour, state = v["code-of"][t]
        if name == "paint":
            return wrote(v, ("code-of", (t, 1), (colour + 1) % 6))
        return wrote(v, ("code-of", (t, 2), 1 - state)) if kind == 5 else v


def _codes(v: Values, wanted: tuple[int | None, ...]) -> bool:
    right = [v["code-of"][:, at] == code for at, code in enumerate(wanted) if code is not None]
    return bool(np.logical_and.reduce(right).any())


PRODUCTS = torch.tensor([[0, 3, 4, 6, 6, 6, 6], [3, 1, 5, 6, 6, 6, 6], [4, 5, 2, 6, 6, 6, 6]] + [[6] * 7] * 4)


@task
class Recipes(Task):
    """A pot turns two kinds of food into one product, by a table most of whose rows are waste."""

    half = "choose"
    episodes = 400
    sizes, larger = (3,), (5,)
    sketch = """
    (:types food pot - object kind - int64[choices=7])
    (:predicates (kind-of [return_type=kind] ?f - food) (made [return_type=kind] ?p - pot) (used ?f - food))
    (:derived (soup ?p - pot) (??f (made ?p)))
    (:derived (waste ?p - pot) (??f (made ?p)))
    (:action cook :parameters (?a ?b - food ?p - pot)
      :precondition (and (not (used ?a)) (not (used ?b)) (not (= ?a ?b)))
      :effect (and (assign (made ?p) (??f (kind-of ?a) (kind-of ?b))) (used ?a) (used ?b)))
    (:action serve :parameters (?f - food ?p - pot)
      :precondition (and (not (used ?f)) (??good (made ?p)))
      :effect (assign (kind-of ?f) (??g (made ?p))))
    """
    goals = {
        "(exists (?p - pot) (soup ?p))": lambda v: bool((v["made"] == 5).any()),
        "(exists (?p - pot) (waste ?p))": lambda v: bool((v["made"] == 6).any()),
    }
    labels = 2
    unseen = {
        "(exists (?p - pot) (= (made ?p) 3))": lambda v: bool((v["made"] == 3).any()),
        "(exists (?f - food) (= (kind-of ?f) 4))": lambda v: bool((v["kind-of"] == 4).any()),
    }
    exact = {
        "soup": lambda kind: kind == 5,
        "waste": lambda kind: kind == 6,
        "cook": lambda a, b: PRODUCTS.to(a.device)[a, b],
        "serve::good": lambda kind: kind != 6,
        "serve::g": lambda kind: kind,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"food": size, "pot": 1}, {
            "kind-of": np.where(
                rng.random(size) < 0.5, rng.integers(3, size=size), rng.integers(6, size=size)
            ),
            "made": rng.integers(7, size=1),
            "used": np.zeros(size, dtype=bool),
        }

    def actions(self, v: Values) -> list[Ground]:
        count = len(v["used"])
        pairs = [("cook", a, b, 0) for a in range(count) for b in range(count) if a != b]
        return pairs + [("serve", f, 0) for f in range(count)]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "serve":
            f = action[1]
            return None if v["used"][f] or v["made"][0] == 6 else wrote(v, ("kind-of", f, v["made"][0]))
        _, a, b, _ = action
        if v["used"][a] or v["used"][b]:
            return None
        product = int(PRODUCTS[v["kind-of"][a], v["kind-of"][b]])
        return wrote(v, ("made", 0, product), ("used", [a, b], True))


@task
class ThreeInputs(Task):
    """A press reads a material, a lever and a temperature: hot parts bend, cold ones break or crease."""

    half = "check"
    episodes = 250
    sizes, larger = (2,), (4,)
    sketch = """
    (:types part machine - object material - int64[choices=3] shape - int64[choices=4])
    (:predicates (made-of [return_type=material] ?p - part) (form [return_type=shape] ?p - part)
      (lever ?m - machine) (heat [return_type=float32] ?m - machine))
    (:derived (broken ?p - part) (??f (form ?p)))
    (:derived (bent ?p - part) (??f (form ?p)))
    (:action press :parameters (?p - part ?m - machine)
      :effect (assign (form ?p) (??f (made-of ?p) (form ?p) (lever ?m) (heat ?m))))
    (:action pull :parameters (?m - machine) :effect (assign (lever ?m) (??f (lever ?m))))
    (:action warm :parameters (?m - machine) :effect (assign (heat ?m) (??f (heat ?m))))
    """
    goals = {
        "(exists (?p - part) (broken ?p))": lambda v: bool((v["form"] == 3).any()),
        "(exists (?p - part) (bent ?p))": lambda v: bool((v["form"] == 2).any()),
    }
    unseen = {
        "(exists (?p ?q - part) (and (bent ?p) (broken ?q)))": lambda v: bool(
            (v["form"] == 2).any() and (v["form"] == 3).any()
        )
    }
    exact = {
        "broken": lambda form: form == 3,
        "bent": lambda form: form == 2,
        "press": lambda material, form, lever, heat: torch.where(
            (form == 3) | ~lever,
            form,
            torch.where(heat > 50, torch.where(material == 2, form, 2), torch.where(material == 0, 3, 1)),
        ),
        "pull": lambda lever: ~lever,
        "warm": lambda heat: heat + 20,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"part": size, "machine": 1}, {
            "made-of": rng.integers(3, size=size),
            "form": rng.integers(4, size=size) * (rng.random(size) < 0.3),
            "lever": rng.random(1) < 0.5,
            "heat": 10.0 * rng.integers(1, 9, size=1).astype(np.float32),
        }

    def actions(self, v: Values) -> list[Ground]:
        return [("pull", 0), ("warm", 0), *[("press", p, 0) for p in range(len(v["form"]))]]

    def simulate(self, v: Values, action: Ground) -> Values:
        name, p = action[:2]
        if name == "pull":
            return wrote(v, ("lever", 0, not v["lever"][0]))
        if name == "warm":
            return wrote(v, ("heat", 0, v["heat"][0] + 20))
        form, material = v["form"][p], v["made-of"][p]
        if form == 3 or not v["lever"][0]:
            return v
        if v["heat"][0] > 50:
            return v if material == 2 else wrote(v, ("form", p, 2))
        return wrote(v, ("form", p, 3 if material == 0 else 1))


@task
class Painting(Task):
    """Mixing paint on boards: primary colours mix, dark ones stay; a brush must be washed between."""

    half = "choose"
    episodes = 250
    sizes, larger = (2, 3), (4,)
    mixed = torch.tensor([[0, 3, 4, 5, 5, 5], [3, 1, 5, 5, 5, 5], [4, 5, 2, 5, 5, 5]] + [[5] * 6] * 3)
    sketch = """
    (:types board can - object paint - int64[choices=6])
    (:predicates (colour [return_type=paint] ?b - board) (content [return_type=paint] ?c - can)
      (brush [return_type=paint]) (clean))
    (:derived (green ?b - board) (??f (colour ?b)))
    (:derived (dark ?b - board) (??f (colour ?b)))
    (:action dip :parameters (?c - can) :precondition (??fresh (clean))
      :effect (and (assign (brush) (??load (content ?c))) (not (clean))))
    (:action wash :parameters () :effect (assign (clean) (??f (clean))))
    (:action stroke :parameters (?b - board) :precondition (not (clean))
      :effect (assign (colour ?b) (??f (brush) (colour ?b))))
    """
    goals = {
        "(exists (?b - board) (green ?b))": lambda v: bool((v["colour"] == 3).any()),
        "(exists (?b - board) (dark ?b))": lambda v: bool((v["colour"] == 5).any()),
    }
    unseen = {
        "(exists (?b - board) (and (not (green ?b)) (= (colour ?b) 4)))": lambda v: bool(
            (v["colour"] == 4).any()
        ),
        "(forall (?b - board) (dark ?b))": lambda v: bool((v["colour"] == 5).all()),
    }
    exact = {
        "green": lambda c: c == 3,
        "dark": lambda c: c == 5,
        "dip::fresh": lambda clean: clean,
        "dip::load": lambda c: c,
        "wash": lambda clean: torch.ones_like(clean),
        "stroke": lambda a, b: Painting.mixed.to(a.device)[a, b],
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"board": size, "can": 3}, {
            "colour": rng.integers(6, size=size),
            "content": rng.integers(3, size=3),
            "brush": np.array(rng.integers(3)),
            "clean": np.array(rng.random() < 0.5),
        }

    def actions(self, v: Values) -> list[Ground]:
        strokes = [("stroke", b) for b in range(len(v["colour"]))]
        return [("wash",), *[("dip", c) for c in range(len(v["content"]))], *strokes]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name = action[0]
        if name == "wash":
            return wrote(v, ("clean", (), True))
        if name == "dip":
            done = wrote(v, ("brush", (), v["content"][action[1]]), ("clean", (), False))
            return done if v["clean"] else None
        b = action[1]
        return None if v["clean"] else wrote(v, ("colour", b, int(self.mixed[v["brush"], v["colour"][b]])))
