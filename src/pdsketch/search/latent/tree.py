"""The nodes of a latent search, as others may look at them, those that it left out included."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.lang import Step
from pdsketch.search.latent.children import Children
from pdsketch.search.latent.frontier import Frontier
from pdsketch.search.latent.space import Space
from pdsketch.search.trace import Fate, SearchNode

SHIFT: Final = 40
"""Bits of an instance in the code of a ground action; the action stands above them."""


@final
@dataclass(frozen=True, slots=True)
class _LeftOut:
    """A successor that is no node: of which node, by which action, at what cost, and why it is none."""

    parent: int
    code: int
    g: float
    fate: Literal["dead-end", "visited"]


@final
class TreeLog:
    """What a search has met, in its order: nodes of its frontier, and successors that were left out."""

    def __init__(self, space: Space, frontier: Frontier) -> None:
        self._space = space
        self._frontier = frontier
        self._met: list[int | _LeftOut] = []
        self._numbers: list[int] = []

    def opened(self) -> None:
        """Note the nodes that the frontier has since the last time."""
        for node in range(len(self._numbers), self._frontier.n):
            self._numbers.append(len(self._met))
            self._met.append(node)

    def left_out(
        self,
        parents: NDArray[np.int64],
        codes: NDArray[np.int64],
        g: NDArray[np.float64],
        fate: Literal["dead-end", "visited"],
    ) -> None:
        """Note successors that are not opened.

        ``parents`` are the nodes that they come from, ``codes`` the ground actions, ``g`` their costs so far,
        and ``fate`` says why, the same of all.
        """
        rows = zip(parents.tolist(), codes.tolist(), g.tolist(), strict=True)
        self._met += [_LeftOut(*row, fate) for row in rows]

    def nodes(self, first: int, last: int, is_goal: NDArray[np.bool_]) -> list[SearchNode]:
        """Some of what was met, with h and f of the first order."""
        return [self._shown(met, is_goal) for met in self._met[first:last]]

    def _shown(self, met: int | _LeftOut, is_goal: NDArray[np.bool_]) -> SearchNode:
        frontier, own = self._frontier, self._frontier.lists[0]
        if isinstance(met, _LeftOut):
            h = inf if met.fate == "dead-end" else nan
            step = step_of(self._space, int(frontier.problem[met.parent]), met.code)
            return SearchNode(self._numbers[met.parent], step, met.g, h, h, met.fate)
        fate: Fate = "goal" if is_goal[met] else "expanded" if frontier.is_removed(met) else "open"
        numbers = (float(frontier.g[met]), float(own.h[met]), float(own.f[met]))
        parent = int(frontier.parent[met])
        if parent < 0:
            return SearchNode(-1, None, *numbers, fate)
        step = step_of(self._space, int(frontier.problem[met]), int(frontier.action[met]))
        return SearchNode(self._numbers[parent], step, *numbers, fate)


def codes_of(children: Children) -> NDArray[np.int64]:
    """What was done, a number for each ground action."""
    codes: NDArray[np.int64] = (children.action << SHIFT | children.instance).cpu().numpy()
    return codes


def step_of(space: Space, problem: int, code: int) -> Step:
    """The step that the code of a ground action stands for."""
    return space.step(problem, code >> SHIFT, code & ((1 << SHIFT) - 1))
