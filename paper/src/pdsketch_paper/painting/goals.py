"""What is true on the table, by the simulator's word, and the goals that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pdsketch.lang import Domain, parse_domain
from pdsketch.tensor import Model, State, StateBatch
from pdsketch_paper.painting.layout import BOWL_RADIUS, BOX_HALF, COLOUR_NAMES, SIDE, Array, to_pose

if TYPE_CHECKING:
    from pdsketch_paper.painting.simulation import Simulation

RELATIONS = ("left-of", "right-of", "on")

BESIDE = (0.045, 0.11)
"""The least and greatest distance along x of blocks beside each other."""

IN_LINE, LEVEL = 0.03, 0.02
"""How far blocks beside each other may be apart in y, and in z."""

OVER, STACKED = 0.022, 0.008
"""How far a block may be from above the one that it is on, and from resting on it."""


def beside(positions: Array) -> Array:
    """Whether the first block is to the left of the second ``[blocks, blocks]``."""
    away = positions[:, None] - positions[None]
    near = (-away[..., 0] >= BESIDE[0]) & (-away[..., 0] <= BESIDE[1])
    found: Array = near & (np.abs(away[..., 1]) <= IN_LINE) & (np.abs(away[..., 2]) <= LEVEL)
    return found


def stacked(positions: Array) -> Array:
    """Whether the first block is on the second."""
    away = positions[:, None] - positions[None]
    over = np.linalg.norm(away[..., :2], axis=-1) <= OVER
    found: Array = over & (np.abs(away[..., 2] - SIDE) <= STACKED)
    return found


def contained(positions: Array, containers: Array) -> Array:
    """Whether a block lies within a container, on its floor ``[blocks, containers]``; the last is the box."""
    away = positions[:, None] - containers[None]
    within = np.linalg.norm(away[..., :2], axis=-1) <= BOWL_RADIUS
    within[:, -1] = (np.abs(away[:, -1, :2]) <= BOX_HALF).all(-1)
    found: Array = within & (np.abs(away[..., 2]) <= SIDE / 2)
    return found


def facts(simulation: Simulation) -> dict[str, Array]:
    """Every predicate that goals are made of, as Boolean tables."""
    positions = simulation.positions
    left = beside(positions)
    colours = {f"is-{name}": simulation.colours == i for i, name in enumerate(COLOUR_NAMES)}
    inside = contained(positions, simulation.containers)
    # The box is a constant: constants come first on every axis.
    order = [inside.shape[1] - 1, *range(inside.shape[1] - 1)]
    return {
        **colours,
        "left-of": left,
        "right-of": left.T,
        "on": stacked(positions),
        "inside": inside[:, order],
    }


@cache
def true_domain() -> Domain:
    """The predicates of goals as plain facts, and where things are."""
    colours = " ".join(f"(is-{name} ?o - item)" for name in COLOUR_NAMES)
    relations = " ".join(f"({name} ?a - item ?b - item)" for name in RELATIONS)
    return parse_domain(
        f"""(define (domain painting-truth)
        (:types item container - object pose - vector[float32, 3, tolerance=0.02])
        (:constants box - container)
        (:predicates
        (item-pose [return_type=pose] ?o - item) (container-pose [return_type=pose] ?c - container)
        {colours} {relations} (inside ?o - item ?c - container)))"""
    )


@cache
def _judge() -> Model:
    return Model(true_domain())


def true_state(simulation: Simulation) -> State:
    """The facts of the table as a state, to ask formulas about."""
    poses = {
        "item-pose": to_pose(simulation.positions),
        "container-pose": to_pose(np.roll(simulation.containers, 1, axis=0)),  # the box is the first
    }
    return State(true_domain(), names_of(simulation), {**facts(simulation), **poses})


def judge_states(states: Sequence[State], goals: Sequence[str]) -> dict[str, tuple[bool, ...]]:
    """Whether each formula over colours and relations is true in each of some true states of one table."""
    batch = StateBatch.of(states)
    return {goal: tuple((_judge().holds(batch, goal, crisp=True) > 0.5).tolist()) for goal in goals}


def holds(simulation: Simulation, goal: str) -> bool:
    """Whether a formula over colours and relations is true of the table."""
    return judge_states([true_state(simulation)], [goal])[goal][0]


def names_of(simulation: Simulation) -> dict[str, list[str]]:
    """The objects by type; the box is a constant of the sketch."""
    return {
        "item": [f"block#{i + 1}" for i in range(len(simulation.colours))],
        "container": [f"bowl#{i + 1}" for i in range(len(simulation.paints))],
    }


PAIR = "pair"
"""The kind that is demonstrated."""

Maker = Callable[[Sequence[int], Sequence[int], np.random.Generator], str | None]


def pair_goal(first: str, second: str, relation: str) -> str:
    """A block of the first colour in the box, and one of the second in a relation to it."""
    return (
        f"(exists (?a - item ?b - item) (and (is-{first} ?a) (inside ?a box)"
        f" (is-{second} ?b) ({relation} ?b ?a)))"
    )


PAIRS: dict[str, tuple[str, str, str]] = {
    pair_goal(first, second, relation): (first, second, relation)
    for first in COLOUR_NAMES
    for second in COLOUR_NAMES
    for relation in RELATIONS
}
"""Every goal of the demonstrated kind, with its two colours and its relation."""


def pair(blocks: Sequence[int], paints: Sequence[int], rng: np.random.Generator) -> str | None:
    """Two blocks, painted and placed."""
    if len(blocks) < 2 or len(paints) < 2:
        return None
    first, second = _paints(paints, rng, 2)
    return pair_goal(first, second, RELATIONS[int(rng.integers(len(RELATIONS)))])


def row(blocks: Sequence[int], paints: Sequence[int], rng: np.random.Generator) -> str | None:
    """Three blocks side by side in the box, each of its colour."""
    if len(blocks) < 3 or len(paints) < 3:
        return None
    left, middle, right = _paints(paints, rng, 3)
    return (
        f"(exists (?a - item ?b - item ?c - item) (and (is-{middle} ?b) (inside ?b box)"
        f" (is-{left} ?a) (left-of ?a ?b) (is-{right} ?c) (right-of ?c ?b)))"
    )


def all_painted(blocks: Sequence[int], paints: Sequence[int], rng: np.random.Generator) -> str | None:
    """Every block of one colour, every block of one of two colours, or none of a colour left."""
    if not blocks or len(paints) < 2:
        return None
    one, other = _paints(paints, rng, 2)
    kind = int(rng.integers(3))
    if kind == 0:
        return f"(forall (?o - item) (is-{one} ?o))"
    if kind == 1:
        return f"(forall (?o - item) (or (is-{one} ?o) (is-{other} ?o)))"
    present = COLOUR_NAMES[int(blocks[int(rng.integers(len(blocks)))])]
    if present == one:
        return None
    return f"(forall (?o - item) (and (not (is-{present} ?o)) (implies (is-{other} ?o) (inside ?o box))))"


def tower(blocks: Sequence[int], paints: Sequence[int], rng: np.random.Generator) -> str | None:
    """Three blocks on each other in the box, each of its colour."""
    if len(blocks) < 3 or len(paints) < 3:
        return None
    base, middle, top = _paints(paints, rng, 3)
    return (
        f"(exists (?a - item ?b - item ?c - item) (and (is-{base} ?a) (inside ?a box)"
        f" (is-{middle} ?b) (on ?b ?a) (is-{top} ?c) (on ?c ?b)))"
    )


def _paints(paints: Sequence[int], rng: np.random.Generator, count: int) -> list[str]:
    """The names of some different paints."""
    return [COLOUR_NAMES[paints[i]] for i in rng.permutation(len(paints))[:count].tolist()]


GOALS: dict[str, Maker] = {
    PAIR: pair,
    "row of three": row,
    "all painted": all_painted,
    "tower of three": tower,
}
"""The kinds by the name under which results are reported; the others have more objects or quantifiers."""
