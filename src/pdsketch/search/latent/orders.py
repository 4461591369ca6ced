"""The orders in which open nodes are looked at: one of a single search, or several that take turns.

Several orders share nodes, batches and the closed list, as in the alternation open list of Röger & Helmert
(2010): where one heuristic is misled, another one goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from torch import Tensor

from pdsketch.kernels import Bools, Floats
from pdsketch.search.latent.heuristics import StateHeuristic
from pdsketch.search.options import ModelSearch, Search
from pdsketch.tensor import StateBatch

FAR: Final = 1e12
"""Stands for an infinite estimate that proves nothing: such states come last, in the order of g."""


@final
@dataclass(frozen=True, slots=True)
class Order:
    """Nodes by what was paid for them and by a heuristic, each with a weight."""

    heuristic: StateHeuristic
    of_g: float
    of_h: float

    def priority(self, g: Floats, h: Floats) -> Floats:
        """The least is expanded first."""
        return self.of_g * g + self.of_h * np.minimum(h, FAR)


def order_of(search: Search | ModelSearch, heuristic: StateHeuristic, weight: float) -> Order:
    """The order of a search: ``astar`` by g + h, ``wastar`` by g + w·h, ``gbfs`` by h; others are A*."""
    of_g = 0.0 if search == "gbfs" else 1.0
    return Order(heuristic, of_g, weight if search == "wastar" else 1.0)


def estimates(orders: Sequence[Order], batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
    """What each order's heuristic says of states, ``[order, state]``.

    State ``i`` of ``batch`` belongs to ``problems[i]``; ``goals[i]`` says whether its goal holds there.
    ``orders`` name their heuristics.
    """
    return np.stack([order.heuristic.values(batch, problems, goals) for order in orders])


def priorities(orders: Sequence[Order], g: Floats, h: Floats) -> Floats:
    """The priorities of states in each order, ``[order, state]``."""
    return np.stack([order.priority(g, own) for order, own in zip(orders, h, strict=True)])


def are_dead_ends(orders: Sequence[Order], h: Floats) -> Bools:
    """Which states some heuristic proves to have no plan."""
    proves = np.array([order.heuristic.infinity_is_proof for order in orders])
    dead: Bools = np.isinf(h[proves]).any(0)
    return dead


def read_by(orders: Sequence[Order], goals: frozenset[str]) -> frozenset[str] | None:
    """The predicates that heuristics and goals read; None where some heuristic does not say."""
    found = goals
    for order in orders:
        own: frozenset[str] | None = getattr(order.heuristic, "reads", None)
        if own is None:
            return None
        found |= own
    return found
