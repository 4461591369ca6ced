"""Kinds of goals: the one that is demonstrated, and three that never are.

Each kind is a function of the colours of blocks and of paint, by number, and a random
generator; it returns a formula, or None where the table does not lend itself to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pdsketch_paper.painting.layout import COLOUR_NAMES
from pdsketch_paper.painting.truth import RELATIONS

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
"""The kinds by the name under which results are reported."""

UNSEEN = tuple(name for name in GOALS if name != PAIR)
"""The kinds that are not demonstrated: more objects, other quantifiers, and stacks."""
