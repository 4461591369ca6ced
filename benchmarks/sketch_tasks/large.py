"""Sketches of twenty to forty blanks, all learned at once."""
# ruff: noqa: D102, RUF012, PLW0108, PLC3002, B023  (methods are explained in `core.Task`)

from __future__ import annotations

import numpy as np
import torch

from sketch_tasks.core import (
    DIRECTIONS,
    Ground,
    Rng,
    Task,
    Values,
    among,
    at_offset,
    border,
    cells,
    moved,
    same_place,
    task,
    wrote,
)
from sketch_tasks.walls import NAMES

RAW, CHOPPED, COOKED, BURNT = range(4)
ONION, TOMATO, FISH = range(3)


@task
class Kitchen(Task):
    """A chef walks among walls, carries food, chops it, cooks it in pots and serves it: 31 blanks."""

    half = "check"
    episodes, length = 250, 12
    sizes, larger = (0, 1), (2,)
    depth = 60
    most_expansions = 6000
    sketch = (
        """
    (:types chef wall food board pot hatch - object place - vector[float32, 2, tolerance=0.1]
      stage - int64[choices=4] sort - int64[choices=3] load - int64[choices=2])
    (:predicates (at [return_type=place] ?c - chef) (hands [return_type=load] ?c - chef)
      (where [return_type=place] ?w - wall) (food-at [return_type=place] ?f - food)
      (stage-of [return_type=stage] ?f - food) (sort-of [return_type=sort] ?f - food) (carried ?f - food)
      (board-at [return_type=place] ?b - board) (pot-at [return_type=place] ?p - pot) (lit ?p - pot)
      (hatch-at [return_type=place] ?h - hatch) (served ?f - food))
    (:derived (raw ?f - food) (??f (stage-of ?f)))
    (:derived (chopped ?f - food) (??f (stage-of ?f)))
    (:derived (cooked ?f - food) (??f (stage-of ?f)))
    (:derived (burnt ?f - food) (??f (stage-of ?f)))
    (:derived (is-onion ?f - food) (??f (sort-of ?f)))
    (:derived (is-fish ?f - food) (??f (sort-of ?f)))
    (:derived (under ?c - chef ?f - food) (??f (at ?c) (food-at ?f)))
    (:derived (at-board ?c - chef ?b - board) (??f (at ?c) (board-at ?b)))
    (:derived (at-pot ?c - chef ?p - pot) (??f (at ?c) (pot-at ?p)))
    (:derived (at-hatch ?c - chef ?h - hatch) (??f (at ?c) (hatch-at ?h)))
    """
        + "".join(
            f"""(:action {name} :parameters (?c - chef) :effect (and
      (at::cond-assign ?c (not (exists (?w - wall) (??blocks (at ?c) (where ?w)))) (??to (at ?c)))
      (forall (?f - food) (when (and (carried ?f) (not (exists (?w - wall) (??blocks (at ?c) (where ?w)))))
        (assign (food-at ?f) (??along (food-at ?f)))))))
    """
            for name in NAMES
        )
        + """
    (:action take :parameters (?c - chef ?f - food)
      :precondition (and (under ?c ?f) (??free (hands ?c)) (not (served ?f)))
      :effect (and (carried ?f) (assign (hands ?c) (??full (hands ?c)))))
    (:action drop :parameters (?c - chef ?f - food) :precondition (carried ?f)
      :effect (and (not (carried ?f)) (assign (hands ?c) (??empty (hands ?c)))))
    (:action chop :parameters (?c - chef ?f - food ?b - board)
      :precondition (and (at-board ?c ?b) (carried ?f))
      :effect (assign (stage-of ?f) (??f (stage-of ?f) (sort-of ?f))))
    (:action cook :parameters (?c - chef ?f - food ?p - pot)
      :precondition (and (at-pot ?c ?p) (carried ?f) (??hot (lit ?p)))
      :effect (assign (stage-of ?f) (??g (stage-of ?f))))
    (:action light :parameters (?c - chef ?p - pot) :precondition (at-pot ?c ?p)
      :effect (assign (lit ?p) (??f (lit ?p))))
    (:action serve :parameters (?c - chef ?f - food ?h - hatch)
      :precondition (and (at-hatch ?c ?h) (carried ?f) (??good (stage-of ?f) (sort-of ?f)))
      :effect (and (served ?f) (not (carried ?f)) (assign (hands ?c) (??empty (hands ?c)))))
    """
    )
    goals = {
        "(exists (?f - food) (served ?f))": lambda v: bool(v["served"].any()),
        "(exists (?f - food) (chopped ?f))": lambda v: bool((v["stage-of"] == CHOPPED).any()),
        "(exists (?f - food) (and (is-onion ?f) (cooked ?f)))": lambda v: bool(
            ((v["stage-of"] == COOKED) & (v["sort-of"] == ONION)).any()
        ),
        "(exists (?f - food) (and (is-fish ?f) (raw ?f) (carried ?f)))": lambda v: bool(
            ((v["stage-of"] == RAW) & (v["sort-of"] == FISH) & v["carried"]).any()
        ),
        "(exists (?f - food) (burnt ?f))": lambda v: bool((v["stage-of"] == BURNT).any()),
        "(exists (?c - chef ?f - food) (and (under ?c ?f) (is-fish ?f)))": lambda v: bool(
            (among(v["at"][0], v["food-at"]) & (v["sort-of"] == FISH)).any()
        ),
    }
    labels = 3
    unseen = {
        "(exists (?f - food) (and (is-fish ?f) (served ?f)))": lambda v: bool(
            (v["served"] & (v["sort-of"] == FISH)).any()
        ),
        "(exists (?c - chef ?h - hatch) (at-hatch ?c ?h))": lambda v: bool(
            among(v["at"][0], v["hatch-at"]).any()
        ),
    }
    exact = {
        "raw": lambda s: s == RAW,
        "chopped": lambda s: s == CHOPPED,
        "cooked": lambda s: s == COOKED,
        "burnt": lambda s: s == BURNT,
        "is-onion": lambda s: s == ONION,
        "is-fish": lambda s: s == FISH,
        "under": same_place,
        "at-board": same_place,
        "at-pot": same_place,
        "at-hatch": same_place,
        **{f"{n}::blocks": at_offset(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
        **{f"{n}::to": moved(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
        **{f"{n}::along": moved(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
        "take::free": lambda hands: hands == 0,
        "take::full": lambda hands: torch.ones_like(hands),
        "drop": lambda hands: torch.zeros_like(hands),
        "chop": lambda stage, sort: torch.where((stage == RAW) & (sort != FISH), CHOPPED, stage),
        "cook::hot": lambda lit: lit,
        "cook::g": lambda stage: torch.where(stage < COOKED, COOKED, BURNT),
        "light": lambda lit: ~lit,
        "serve::good": lambda stage, sort: (stage == COOKED) | ((stage == CHOPPED) & (sort == TOMATO)),
        "serve::empty": lambda hands: torch.zeros_like(hands),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        width, height, foods = 3 + size, 2 + size, 2 + size
        walls = border(width, height)
        spots = cells(rng, width, height, min(width * height, 3))
        lying = cells(rng, width, height, foods)
        carried = np.zeros(foods, dtype=bool)
        carried[0] = rng.random() < 0.5
        return {"chef": 1, "wall": len(walls), "food": foods, "board": 1, "pot": 1, "hatch": 1}, {
            "at": lying[:1] if carried[0] else cells(rng, width, height, 1),
            "hands": carried[:1].astype(np.int64),
            "where": walls,
            "food-at": lying,
            "stage-of": rng.integers(3, size=foods) * (rng.random(foods) < 0.5),
            "sort-of": rng.integers(3, size=foods),
            "carried": carried,
            "board-at": spots[:1],
            "pot-at": spots[1:2],
            "lit": rng.random(1) < 0.5,
            "hatch-at": spots[2:],
            "served": np.zeros(foods, dtype=bool),
        }

    def actions(self, v: Values) -> list[Ground]:
        foods = range(len(v["served"]))
        found: list[Ground] = [(name, 0) for name in NAMES] + [("light", 0, 0)]
        for name in ("take", "drop"):
            found += [(name, 0, f) for f in foods]
        return found + [(name, 0, f, 0) for name in ("chop", "cook", "serve") for f in foods]

    def choose(self, rng: Rng, v: Values) -> Ground:
        tried = self.actions(v)
        works = [a for a in tried if a[0] not in NAMES and self.simulate(v, a) is not None]
        if works and rng.random() < 0.4:
            return works[rng.integers(len(works))]
        if rng.random() < 0.8:
            return (NAMES[rng.integers(4)], 0)
        return tried[rng.integers(len(tried))]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, at = action[0], v["at"][0]
        if name in NAMES:
            step = DIRECTIONS[NAMES.index(name)]
            if among(at + step, v["where"]).any():
                return v
            held = v["carried"]
            return wrote(v, ("at", 0, at + step), ("food-at", held, v["food-at"][held] + step))
        if name == "light":
            return wrote(v, ("lit", 0, not v["lit"][0])) if among(at, v["pot-at"])[0] else None
        f = action[2]
        if name == "take":
            may = among(at, v["food-at"])[f] and v["hands"][0] == 0 and not v["served"][f]
            return wrote(v, ("carried", f, True), ("hands", 0, 1)) if may else None
        if not v["carried"][f]:
            return None
        if name == "drop":
            return wrote(v, ("carried", f, False), ("hands", 0, 0))
        return self.worked(v, name, f)

    def worked(self, v: Values, name: str, f: int) -> Values | None:
        """What a board, a pot and a hatch do to food in the chef's hands."""
        tool = {"chop": "board-at", "cook": "pot-at", "serve": "hatch-at"}[name]
        stage, sort = v["stage-of"][f], v["sort-of"][f]
        if not among(v["at"][0], v[tool])[0]:
            return None
        if name == "chop":
            return wrote(v, ("stage-of", f, CHOPPED)) if stage == RAW and sort != FISH else v
        if name == "cook":
            return wrote(v, ("stage-of", f, COOKED if stage < COOKED else BURNT)) if v["lit"][0] else None
        good = stage == COOKED or (stage == CHOPPED and sort == TOMATO)
        return wrote(v, ("served", f, True), ("carried", f, False), ("hands", 0, 0)) if good else None


MATERIALS = ("wood", "steel", "glass")
FORMS = ("block", "plate", "rod", "ring")
FINISH = ("rough", "smooth", "painted")


@task
class Workshop(Task):
    """Machines give parts another form, if the material allows it, and tools wear out: 27 blanks."""

    half = "choose"
    episodes, length = 300, 8
    sizes, larger = (2, 3), (5,)
    sketch = (
        """
    (:types part press saw lathe brush - object material - int64[choices=3] form - int64[choices=4]
      finish - int64[choices=3] wear - int64[choices=5] gram - float32)
    (:predicates (of [return_type=material] ?p - part) (form-of [return_type=form] ?p - part)
      (finish-of [return_type=finish] ?p - part) (mass [return_type=gram] ?p - part) (warm ?p - part)
      (dull [return_type=wear] ?s - saw) (hot ?b - press) (limit [return_type=gram] ?l - lathe)
      (paint [return_type=finish] ?b - brush))
    """
        + "".join(f"(:derived (is-{w} ?p - part) (??f (of ?p)))\n" for w in MATERIALS)
        + "".join(f"(:derived (is-{w} ?p - part) (??f (form-of ?p)))\n" for w in FORMS)
        + "".join(f"(:derived (is-{w} ?p - part) (??f (finish-of ?p)))\n" for w in FINISH)
        + """
    (:derived (sharp ?s - saw) (??f (dull ?s)))
    (:derived (heavy ?p - part) (??f (mass ?p)))
    (:action flatten :parameters (?p - part ?m - press)
      :precondition (and (??ready (hot ?m) (of ?p)) (??fits (form-of ?p)))
      :effect (and (assign (form-of ?p) (??form (form-of ?p))) (assign (warm ?p) (??warm (of ?p) (warm ?p)))))
    (:action preheat :parameters (?m - press) :effect (assign (hot ?m) (??f (hot ?m))))
    (:action cut :parameters (?p - part ?s - saw)
      :precondition (and (sharp ?s) (not (is-glass ?p)))
      :effect (and (assign (form-of ?p) (??form (form-of ?p))) (assign (mass ?p) (??mass (mass ?p)))
        (assign (dull ?s) (??dull (dull ?s) (of ?p))) (assign (finish-of ?p) (??finish (finish-of ?p)))))
    (:action sharpen :parameters (?s - saw) :effect (assign (dull ?s) (??f (dull ?s))))
    (:action turn :parameters (?p - part ?l - lathe)
      :precondition (??fits (mass ?p) (limit ?l))
      :effect (when (is-rod ?p) (and (assign (form-of ?p) (??form (form-of ?p)))
                                     (assign (finish-of ?p) (??finish (of ?p))))))
    (:action coat :parameters (?p - part ?b - brush)
      :precondition (not (warm ?p))
      :effect (assign (finish-of ?p) (??finish (finish-of ?p) (paint ?b))))
    (:action cool :parameters (?p - part) :effect (assign (warm ?p) (??f (warm ?p))))
    """
    )
    goals = {
        **{
            f"(exists (?p - part) (and (is-{m} ?p) (is-{f} ?p)))": (
                lambda m, f: lambda v: bool(((v["of"] == m) & (v["form-of"] == f)).any())
            )(i, j)
            for i, m in enumerate(MATERIALS)
            for j, f in enumerate(FORMS)
        },
        **{
            f"(exists (?p - part) (and (is-{f} ?p) (heavy ?p)))": (
                lambda f: lambda v: bool(((v["finish-of"] == f) & (v["mass"] > 50)).any())
            )(i)
            for i, f in enumerate(FINISH)
        },
        "(exists (?s - saw) (sharp ?s))": lambda v: bool((v["dull"] < 3).any()),
    }
    labels = 4
    unseen = {
        "(exists (?p - part) (and (is-plate ?p) (is-painted ?p) (not (warm ?p))))": lambda v: bool(
            ((v["form-of"] == 1) & (v["finish-of"] == 2) & ~v["warm"]).any()
        ),
        "(exists (?p ?q - part) (and (is-ring ?p) (is-steel ?p) (is-plate ?q)))": lambda v: bool(
            ((v["form-of"] == 3) & (v["of"] == 1)).any() and (v["form-of"] == 1).any()
        ),
    }
    exact = {
        **{
            f"is-{w}": (lambda i: lambda x: x == i)(i)
            for words in (MATERIALS, FORMS, FINISH)
            for i, w in enumerate(words)
        },
        "sharp": lambda dull: dull < 3,
        "heavy": lambda mass: mass > 50,
        "flatten::ready": lambda hot, of: hot | (of == 0),
        "flatten::fits": lambda form: form != 3,
        "flatten::form": lambda form: torch.ones_like(form),
        "flatten::warm": lambda of, warm: warm | (of == 1),
        "preheat": lambda hot: torch.ones_like(hot),
        "cut::form": lambda form: torch.where(form == 0, 2, form),
        "cut::mass": lambda mass: mass - 10,
        "cut::dull": lambda dull, of: (dull + torch.where(of == 1, 2, 1)).clamp(max=4),
        "cut::finish": lambda finish: torch.zeros_like(finish),
        "sharpen": lambda dull: torch.zeros_like(dull),
        "turn::fits": lambda mass, limit: mass < limit,
        "turn::form": lambda form: torch.full_like(form, 3),
        "turn::finish": lambda of: torch.where(of == 1, 1, 0),
        "coat": lambda finish, paint: torch.where(finish == 1, 2, paint),
        "cool": lambda warm: torch.zeros_like(warm),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"part": size, "press": 1, "saw": 1, "lathe": 1, "brush": 2}, {
            "of": rng.integers(3, size=size),
            "form-of": rng.integers(4, size=size) * (rng.random(size) < 0.6),
            "finish-of": rng.integers(3, size=size),
            "mass": rng.uniform(10, 90, size).astype(np.float32).round(),
            "warm": rng.random(size) < 0.3,
            "dull": rng.integers(5, size=1),
            "hot": rng.random(1) < 0.5,
            "limit": rng.uniform(30, 80, 1).astype(np.float32).round() + np.float32(0.5),
            "paint": rng.integers(3, size=2),
        }

    def actions(self, v: Values) -> list[Ground]:
        parts = range(len(v["of"]))
        coats = [("coat", p, b) for p in parts for b in range(2)]
        machines = [(name, p, 0) for name in ("flatten", "cut", "turn") for p in parts]
        return [("preheat", 0), ("sharpen", 0), *coats, *machines, *[("cool", p) for p in parts]]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        name, p = action[:2]
        if name == "preheat":
            return wrote(v, ("hot", 0, True))
        if name == "sharpen":
            return wrote(v, ("dull", 0, 0))
        if name == "cool":
            return wrote(v, ("warm", p, False))
        of, form, finish = int(v["of"][p]), int(v["form-of"][p]), int(v["finish-of"][p])
        if name == "coat":
            done = wrote(v, ("finish-of", p, 2 if finish == 1 else v["paint"][action[2]]))
            return None if v["warm"][p] else done
        if name == "flatten":
            if form == 3 or not (v["hot"][0] or of == 0):
                return None
            return wrote(v, ("form-of", p, 1), ("warm", p, bool(v["warm"][p]) or of == 1))
        if name == "turn":
            if v["mass"][p] >= v["limit"][0]:
                return None
            return v if form != 2 else wrote(v, ("form-of", p, 3), ("finish-of", p, 1 if of == 1 else 0))
        if v["dull"][0] >= 3 or of == 2:
            return None
        return wrote(
            v,
            ("form-of", p, 2 if form == 0 else form),
            ("mass", p, v["mass"][p] - 10),
            ("dull", 0, min(4, v["dull"][0] + (2 if of == 1 else 1))),
            ("finish-of", p, 0),
        )
