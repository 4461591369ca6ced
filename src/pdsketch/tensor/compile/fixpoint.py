"""Least fixpoints of recursive Boolean predicates, soft and crisp."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pdsketch.tensor.compile.logic import FuzzyLogic
from pdsketch.tensor.compile.node import Axes, Compute, Node, Run

CONVERGED = 1e-7
"""A soft fixpoint has been reached when no truth value changes by more than this."""


def fixpoint(
    names: Sequence[str], holders: Sequence[Node], bodies: Sequence[tuple[Axes, Compute]], logic: FuzzyLogic
) -> dict[str, Node]:
    """One node a predicate of a component: all false at first, then their bodies until nothing changes.

    ``names`` are the predicates, ``bodies`` the axes and the program of each, ``holders`` what the bodies
    read the current values from. By Gödel's or crisp ``logic``, values come from a finite set and grow, so
    that as many rounds as there are atoms are enough.
    """

    def solve(run: Run) -> list[Tensor]:
        current = [_all_false(run, axes, logic) for axes, _ in bodies]
        rounds = sum(tensor[0].numel() for tensor in current) + 1
        outer = run.enter((), ())
        try:
            for _ in range(rounds):
                run.enter(holders, current)
                found = [body(run).expand(run.batch.size, *map(run.size, axes)) for axes, body in bodies]
                stable = all(map(_same, current, found))
                current = found
                if stable:
                    break
        finally:
            run.leave(outer)
        return current

    nodes: list[Node] = []

    def one(i: int) -> Compute:
        def compute(run: Run) -> Tensor:
            solved = solve(run)
            run.remember(nodes, solved)
            return solved[i]

        return compute

    nodes += [Node(axes, one(i)) for i, (axes, _) in enumerate(bodies)]
    return dict(zip(names, nodes, strict=True))


def _all_false(run: Run, axes: Axes, logic: FuzzyLogic) -> Tensor:
    shape = (run.batch.size, *map(run.size, axes))
    return torch.zeros(shape, dtype=logic.dtype, device=run.batch.device)


def _same(a: Tensor, b: Tensor) -> bool:
    if a.numel() == 0:
        return True
    if not a.is_floating_point():
        return torch.equal(a, b)
    return float((a.detach() - b.detach()).abs().max()) <= CONVERGED
