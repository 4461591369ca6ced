"""Errands of experts, who seldom do anything in vain; a broom with a heading; a machine of many parts."""
# ruff: noqa: D102, RUF012, PLC3002, B023  (methods are explained in `core.Task`)

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
    floats,
    moved,
    same_place,
    task,
    wrote,
)
from sketch_tasks.walls import NAMES, TURNED, TURNS

KINDS = {"novel": 1, "atlas": 2, "comic": 3, "score": 5}
TONGUES = {"french": 0, "greek": 2, "welsh": 4}
LENT, LATE = 3, 6
"""What the third number of a book says; 0: it is in."""


def word(v: Values, marked: np.ndarray, *words: str) -> bool:
    """Some marked book is all that."""
    label = v["label"]
    for one in words:
        at, code = (0, KINDS[one]) if one in KINDS else (1, TONGUES[one])
        marked = marked & (label[:, at] == code)
    return bool(marked.any())


@task
class Librarian(Task):
    """An expert fetches books that are in, stamps what is late, and hardly ever does anything in vain."""

    half = "choose"
    episodes, length, labels = 120, 12, 3
    sizes, larger = (4,), (6,)
    depth = 40
    sketch = (
        """
    (:types clerk book shelf - object place - vector[float32, 2, tolerance=0.1]
      label - vector[int64, 3, choices=7])
    (:predicates (at [return_type=place] ?c - clerk) (lies [return_type=place] ?b - book)
      (label [return_type=label] ?b - book) (carried ?b - book) (where [return_type=place] ?s - shelf))
    (:derived (reach ?c - clerk ?b - book) (??f (at ?c) (lies ?b)))
    (:derived (is-in ?b - book) (??f (label ?b)))
    """
        + "".join(f"(:derived (is-{w} ?b - book) (??f (label ?b)))\n" for w in (*KINDS, *TONGUES))
        + "".join(
            f"""(:action {name} :parameters (?c - clerk) :effect (at::cond-assign ?c
              (not (exists (?s - shelf) (??blocks (at ?c) (where ?s)))) (??to (at ?c))))
            """
            for name in NAMES
        )
        + """
    (:action fetch :parameters (?c - clerk) :effect (forall (?b - book)
      (when (and (reach ?c ?b) (is-in ?b)) (and (carried ?b)
        (assign (label ?b) (??lent (label ?b)))))))
    (:action stamp :parameters (?c - clerk) :effect (forall (?b - book)
      (when (and (reach ?c ?b) (??late (label ?b))) (assign (label ?b) (??back (label ?b))))))
    """
    )
    goals = {
        f"(exists (?b - book) (and (carried ?b) (is-{kind} ?b) (is-{tongue} ?b)))": (
            lambda kind, tongue: lambda v: word(v, v["carried"], kind, tongue)
        )(kind, tongue)
        for kind in KINDS
        for tongue in TONGUES
    } | {
        f"(exists (?c - clerk ?b - book) (and (reach ?c ?b) (is-in ?b) (is-{kind} ?b)))": (
            lambda kind: lambda v: word(v, within(v) & (v["label"][:, 2] == 0), kind)
        )(kind)
        for kind in KINDS
    }
    unseen = {
        "(exists (?b - book) (and (is-in ?b) (is-greek ?b) (not (is-atlas ?b))))": lambda v: word(
            v, (v["label"][:, 2] == 0) & (v["label"][:, 0] != KINDS["atlas"]), "greek"
        ),
        "(exists (?b - book) (and (carried ?b) (is-comic ?b)))": lambda v: word(v, v["carried"], "comic"),
    }
    exact = {
        "reach": lambda a, b: (a - b).abs().sum(-1) < 1.5,
        "is-in": lambda label: label[..., 2] == 0,
        **{f"is-{w}": (lambda c: lambda label: label[..., 0] == c)(c) for w, c in KINDS.items()},
        **{f"is-{w}": (lambda c: lambda label: label[..., 1] == c)(c) for w, c in TONGUES.items()},
        **{f"{n}::blocks": at_offset(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
        **{f"{n}::to": moved(*d) for n, d in zip(NAMES, DIRECTIONS.tolist(), strict=True)},
        "fetch::lent": lambda label: third(label, LENT),
        "stamp::late": lambda label: label[..., 2] == LATE,
        "stamp::back": lambda label: third(label, 0),
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        found = cells(rng, size + 1, size, 1 + size)
        shelves = border(size + 1, size)
        labels = np.stack(
            [
                rng.choice([*KINDS.values()], size),
                rng.choice([*TONGUES.values()], size),
                rng.choice([0, 0, LENT, LATE], size),
            ],
            -1,
        )
        return {"clerk": 1, "book": size, "shelf": len(shelves)}, {
            "at": found[:1],
            "lies": found[1:],
            "label": labels.astype(np.int64),
            "carried": np.zeros(size, dtype=bool),
            "where": shelves,
        }

    def actions(self, v: Values) -> list[Ground]:
        return [*((name, 0) for name in NAMES), ("fetch", 0), ("stamp", 0)]

    def choose(self, rng: Rng, v: Values) -> Ground:
        if rng.random() < 0.15:
            return super().choose(rng, v)
        state, near = v["label"][:, 2], within(v)
        if (near & (state == 0)).any():
            return ("fetch", 0)
        if (near & (state == LATE)).any():
            return ("stamp", 0)
        wanted = v["lies"][state != LENT]
        if not len(wanted):
            return super().choose(rng, v)
        off = wanted[np.abs(wanted - v["at"][0]).sum(1).argmin()] - v["at"][0]
        return (NAMES[int(rng.choice(np.flatnonzero(DIRECTIONS @ off > 0.5)))], 0)

    def simulate(self, v: Values, action: Ground) -> Values | None:
        near, state = within(v), v["label"][:, 2]
        if action[0] == "fetch":
            taken = near & (state == 0)
            return wrote(v, ("carried", taken, True), ("label", (taken, 2), LENT))
        if action[0] == "stamp":
            return wrote(v, ("label", (near & (state == LATE), 2), 0))
        to = v["at"][0] + DIRECTIONS[NAMES.index(action[0])]
        return v if among(to, v["where"]).any() else wrote(v, ("at", 0, to))


def within(v: Values) -> np.ndarray:
    """Which books are next to the clerk, or under them."""
    return np.abs(v["lies"] - v["at"][0]).sum(-1) < 1.5


def third(label: torch.Tensor, value: int) -> torch.Tensor:
    """The label with another third number."""
    return torch.cat([label[..., :2], torch.full_like(label[..., 2:], value)], -1)


@task
class Sweeper(Task):
    """A broom sends all crumbs of the cell ahead one further, unless a wall is behind them."""

    half = "choose"
    episodes, length = 200, 10
    sizes, larger = (0, 1), (2, 3)
    depth = 60
    sketch = f"""
    (:types robot crumb wall pan - object place - vector[float32, 2, tolerance=0.1]
      direction - int64[choices=4])
    (:predicates (at [return_type=place] ?r - robot) (heading [return_type=direction] ?r - robot)
      (lies [return_type=place] ?c - crumb) (where [return_type=place] ?w - wall)
      (spot [return_type=place] ?p - pan))
    (:derived (in ?c - crumb ?p - pan) (??f (lies ?c) (spot ?p)))
    (:derived (before ?r - robot ?c - crumb) (??f (at ?r) (heading ?r) (lies ?c)))
    (:derived (stuck ?r - robot) (exists (?w - wall) (??f (at ?r) (heading ?r) (where ?w))))
    {TURNS}
    (:action forward :parameters (?r - robot) :effect (at::cond-assign ?r
      (not (exists (?w - wall) (??blocks (at ?r) (heading ?r) (where ?w)))) (??to (at ?r) (heading ?r))))
    (:action sweep :parameters (?r - robot) :effect (forall (?c - crumb)
      (when (and (before ?r ?c) (not (stuck ?r))) (assign (lies ?c) (??swept (lies ?c) (heading ?r))))))
    """
    goals = {"(exists (?c - crumb ?p - pan) (in ?c ?p))": lambda v: bool(swept(v).any())}
    unseen = {"(forall (?c - crumb) (exists (?p - pan) (in ?c ?p)))": lambda v: bool(swept(v).all())}
    exact = {
        "in": same_place,
        "before": lambda at, heading, lies: same_place(ahead(at, heading), lies),
        "stuck": lambda at, heading, where: same_place(ahead(ahead(at, heading), heading), where),
        "forward::blocks": lambda at, heading, where: same_place(ahead(at, heading), where),
        "forward::to": ahead,
        "sweep": ahead,
        **TURNED,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        width, height, count = 4 + size, 3 + size, 3 + size // 2
        walls, found = border(width, height), cells(rng, width, height, 3)
        crumbs = floats(
            [found[1] if rng.random() < 0.3 else cells(rng, width, height, 1)[0] for _ in range(count)]
        )
        return {"robot": 1, "crumb": count, "wall": len(walls), "pan": 1}, {
            "at": found[:1],
            "heading": rng.integers(4, size=1),
            "lies": crumbs,
            "where": walls,
            "spot": found[2:],
        }

    def actions(self, v: Values) -> list[Ground]:
        return [(name, 0) for name in ("left", "right", "forward", "sweep")]

    def choose(self, rng: Rng, v: Values) -> Ground:
        front = v["at"][0] + DIRECTIONS[v["heading"][0]]
        if among(front, v["lies"]).any() and rng.random() < 0.6:
            return ("sweep", 0)
        return super().choose(rng, v)

    def simulate(self, v: Values, action: Ground) -> Values | None:
        heading = int(v["heading"][0])
        if action[0] in ("left", "right"):
            return wrote(v, ("heading", 0, (heading + (1 if action[0] == "left" else 3)) % 4))
        to = v["at"][0] + DIRECTIONS[heading]
        beyond = to + DIRECTIONS[heading]
        if action[0] == "forward":
            return v if among(to, v["where"]).any() else wrote(v, ("at", 0, to))
        return v if among(beyond, v["where"]).any() else wrote(v, ("lies", among(to, v["lies"]), beyond))


def swept(v: Values) -> np.ndarray:
    """Which crumbs are in the pan."""
    return among(v["spot"][0], v["lies"])


COLD, WARM, HOT = range(3)
EMPTY, WATER, MASH, WORT, BEER = range(5)
VALVES = ("inlet", "drain", "link")


@task
class Brewery(Task):
    """Kettles with valves, heat, pressure and contents: 21 blanks, and levers that work as others stand."""

    half = "choose"
    episodes, length, labels = 220, 12, 2
    sizes, larger = (1, 2), (3,)
    depth = 60
    most_expansions = 6000
    sketch = (
        """
    (:types kettle - object heat - int64[choices=3] fill - int64[choices=5] bar - float32[tolerance=0.05])
    (:predicates (heat [return_type=heat] ?k - kettle) (fill [return_type=fill] ?k - kettle)
      (bar [return_type=bar] ?k - kettle) (clean ?k - kettle) (power)
    """
        + " ".join(f"({valve} ?k - kettle)" for valve in VALVES)
        + """)
    (:derived (warm ?k - kettle) (??f (heat ?k)))
    (:derived (boiling ?k - kettle) (??f (heat ?k) (bar ?k)))
    (:derived (holds-water ?k - kettle) (??f (fill ?k)))
    (:derived (holds-wort ?k - kettle) (??f (fill ?k)))
    (:derived (done ?k - kettle) (??f (fill ?k) (heat ?k)))
    """
        + "".join(
            f"""(:action {valve} :parameters (?k - kettle) :precondition (??can (bar ?k))
              :effect (assign ({valve} ?k) (??f ({valve} ?k))))
            """
            for valve in VALVES
        )
        + """
    (:action switch :parameters () :effect (assign (power) (??f (power))))
    (:action pour :parameters (?k - kettle)
      :precondition (and (inlet ?k) (not (drain ?k)) (??empty (fill ?k)))
      :effect (and (assign (fill ?k) (??f (fill ?k))) (assign (heat ?k) (??cold (heat ?k)))))
    (:action fire :parameters (?k - kettle) :precondition (and (power) (not (link ?k)))
      :effect (and (assign (heat ?k) (??hotter (heat ?k)))
        (when (boiling ?k) (assign (bar ?k) (??more (bar ?k))))))
    (:action cook :parameters (?k - kettle) :precondition (warm ?k)
      :effect (assign (fill ?k) (??next (fill ?k) (heat ?k))))
    (:action vent :parameters (?k - kettle) :effect (assign (bar ?k) (??less (bar ?k))))
    (:action flush :parameters (?k - kettle) :precondition (drain ?k)
      :effect (and (assign (clean ?k) (??f (fill ?k) (clean ?k))) (assign (fill ?k) (??out (fill ?k)))))
    """
    )
    goals = {
        "(exists (?k - kettle) (holds-wort ?k))": lambda v: bool((v["fill"] == WORT).any()),
        "(exists (?k - kettle) (done ?k))": lambda v: bool(finished(v).any()),
        "(exists (?k - kettle) (and (boiling ?k) (inlet ?k)))": lambda v: bool(
            (seething(v) & v["inlet"]).any()
        ),
        "(exists (?k - kettle) (and (holds-water ?k) (warm ?k)))": lambda v: bool(
            ((v["fill"] == WATER) & (v["heat"] >= WARM)).any()
        ),
    }
    unseen = {
        "(exists (?k - kettle) (and (done ?k) (not (drain ?k))))": lambda v: bool(
            (finished(v) & ~v["drain"]).any()
        )
    }
    exact = {
        "warm": lambda heat: heat >= WARM,
        "boiling": lambda heat, bar: (heat == HOT) & (bar < 2.25),
        "holds-water": lambda fill: fill == WATER,
        "holds-wort": lambda fill: fill == WORT,
        "done": lambda fill, heat: (fill == BEER) & (heat == COLD),
        **{f"{valve}::can": lambda bar: bar < 1.25 for valve in VALVES},
        **{f"{valve}::f": lambda on: ~on for valve in VALVES},
        "switch": lambda on: ~on,
        "pour::empty": lambda fill: fill == EMPTY,
        "pour::f": lambda fill: torch.full_like(fill, WATER),
        "pour::cold": torch.zeros_like,
        "fire::hotter": lambda heat: (heat + 1).clamp(max=HOT),
        "fire::more": lambda bar: bar + 0.5,
        "cook": lambda fill, heat: torch.where(
            fill == WATER,
            MASH,
            torch.where((fill == MASH) & (heat == HOT), WORT, torch.where(fill == WORT, BEER, fill)),
        ),
        "vent": torch.zeros_like,
        "flush::f": lambda fill, clean: clean | (fill == WATER),
        "flush::out": torch.zeros_like,
    }

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        return {"kettle": size}, {
            "heat": rng.integers(3, size=size),
            "fill": rng.integers(5, size=size),
            "bar": rng.choice([0.0, 0.5, 1.0, 1.5, 2.0, 2.5], size).astype(np.float32),
            "clean": rng.random(size) < 0.4,
            "power": np.array(rng.random() < 0.6),
            **{valve: rng.random(size) < 0.5 for valve in VALVES},
        }

    def actions(self, v: Values) -> list[Ground]:
        names = (*VALVES, "pour", "fire", "cook", "vent", "flush")
        return [("switch",), *[(name, k) for name in names for k in range(len(v["fill"]))]]

    def simulate(self, v: Values, action: Ground) -> Values | None:
        if action[0] == "switch":
            return wrote(v, ("power", (), not v["power"]))
        name, k = action
        fill, heat, bar = int(v["fill"][k]), int(v["heat"][k]), float(v["bar"][k])
        if name in VALVES:
            return wrote(v, (name, k, not v[name][k])) if bar < 1.25 else None
        if name == "pour":
            ready = v["inlet"][k] and not v["drain"][k] and fill == EMPTY
            return wrote(v, ("fill", k, WATER), ("heat", k, COLD)) if ready else None
        if name == "fire":
            if not v["power"] or v["link"][k]:
                return None
            hotter = wrote(v, ("heat", k, min(heat + 1, HOT)))
            return wrote(hotter, ("bar", k, bar + 0.5)) if seething(v)[k] else hotter
        if name == "cook":
            after = {WATER: MASH, MASH: WORT if heat == HOT else MASH, WORT: BEER}.get(fill, fill)
            return wrote(v, ("fill", k, after)) if heat >= WARM else None
        if name == "vent":
            return wrote(v, ("bar", k, 0.0))
        return (
            wrote(v, ("clean", k, v["clean"][k] or fill == WATER), ("fill", k, EMPTY))
            if v["drain"][k]
            else None
        )


def seething(v: Values) -> np.ndarray:
    """Which kettles boil."""
    return (v["heat"] == HOT) & (v["bar"] < 2.25)


def finished(v: Values) -> np.ndarray:
    """Which kettles hold beer, and are cold."""
    return (v["fill"] == BEER) & (v["heat"] == COLD)
