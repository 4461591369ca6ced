"""Goal counting: how many literals of the goal are false, for the objects that come nearest to it.

The oldest of heuristics (differences of GPS: Newell and Simon, 1961). It knows nothing of actions and reads
the state alone: where a parameter may take any value, so that a relaxation sees every relation one step
away, it still tells a tower of two from one of three. With reasonable orders (`goal_orders`), a literal also
counts that holds too early: what makes another one true will undo it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdsketch.kernels import Bools, Floats
from pdsketch.lang import ObjectType
from pdsketch.search.latent.goal_orders import (
    JoinedParts,
    Leaf,
    Literal,
    Over,
    Shape,
    form_of,
    reasonable_orders,
)
from pdsketch.search.latent.heuristics import Searched
from pdsketch.search.latent.margin import Margin
from pdsketch.tensor import Model, StateBatch

Ints = NDArray[np.int64]

NEVER: Final = 1e6
"""What it counts for where there is nothing to choose from; finite, since it proves nothing."""


@final
@dataclass(frozen=True, slots=True)
class _Group:
    """Problems whose goals have one shape: which they are, and the literals of each."""

    shape: Shape
    literals: dict[int, tuple[Literal, ...]]


@final
class GoalCount:
    """The least number of literals to be made true; by a margin where the goal must hold by one."""

    infinity_is_proof = False

    def __init__(self, searched: Searched, *, ordered: bool = False) -> None:
        self._model, self._margin = searched.model, searched.margin
        orders = reasonable_orders(searched.model) if ordered else None
        groups: dict[Shape, _Group] = {}
        for problem, goal in enumerate(searched.goals):
            form = form_of(goal, orders)
            groups.setdefault(form.shape, _Group(form.shape, {})).literals[problem] = form.literals
        self._groups = list(groups.values())
        analysis = searched.model.domain.analysis
        self.reads = frozenset[str]().union(*map(analysis.reads, searched.goals))

    def values(self, batch: StateBatch, problems: Tensor, goals: Bools) -> Floats:
        """An estimate for each state."""
        found = np.zeros(len(goals))
        narrow = batch.with_tensors({n: t for n, t in batch.tensors.items() if n in self.reads})
        for group in self._groups:
            member = np.isin(problems.cpu().numpy(), list(group.literals))
            if member.any():
                rows = np.flatnonzero(member)
                own = narrow if member.all() else narrow.select(torch.from_numpy(rows).to(batch.device))
                counted = _Count(self._model, self._margin, own, problems.cpu().numpy()[rows], group)
                found[rows] = counted.of(group.shape, 0).double().cpu().numpy()
        return np.where(goals, 0.0, np.maximum(found, 1.0))

    def explain(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """No value is infinite."""
        del batch, problem
        return ()

    def rests_on(self, batch: StateBatch, problem: int) -> Sequence[str]:
        """No value is infinite."""
        del batch, problem
        return ()


@final
class _Count:
    """What counts in a batch of states, whose goals have one shape. Atoms are evaluated once each."""

    def __init__(
        self, model: Model, margin: Margin, batch: StateBatch, problems: Ints, group: _Group
    ) -> None:
        self._model, self._margin, self._batch, self._group = model, margin, batch, group
        self._slots: list[Tensor | None] = [None] * len(next(iter(group.literals.values())))
        used: dict[Literal, dict[int, list[int]]] = {}
        for problem in np.unique(problems).tolist():
            for slot, literal in enumerate(group.literals[problem]):
                used.setdefault(literal, {}).setdefault(slot, []).append(problem)
        for literal, slots in used.items():
            self._evaluate(literal, slots, problems)

    def _evaluate(self, literal: Literal, slots: dict[int, list[int]], problems: Ints) -> None:
        """Whether a literal is false, put into its slots for the states that have it there."""
        batch = self._batch
        at = {slot: np.flatnonzero(np.isin(problems, members)) for slot, members in slots.items()}
        rows = np.unique(np.concatenate(list(at.values())))
        everywhere = len(rows) == batch.size
        some = batch if everywhere else batch.select(_index(rows, batch))
        false = self._false(literal, some)
        for slot, own in at.items():
            if len(own) == batch.size:
                self._slots[slot] = false
                continue
            table = self._slots[slot]
            if table is None:
                table = self._slots[slot] = false.new_zeros(batch.size, *false.shape[1:])
            places = own if everywhere else np.searchsorted(rows, own)
            table[_index(own, batch)] = false.index_select(0, _index(places, batch))

    def _false(self, literal: Literal, batch: StateBatch) -> Tensor:
        """1 where a literal is false, else 0, over the objects that its variables stand for."""
        truth = self._margin.table(self._model, batch, literal.atom, literal.variables)
        if truth.dtype == torch.bool:
            return (truth != literal.wanted).float()
        return (~self._margin.clears(truth if literal.wanted else 1 - truth)).float()

    def of(self, shape: Shape, depth: int) -> Tensor:
        """What counts of a part, over the ``depth`` variables around it: ``[state, *variables]``."""
        match shape:
            case Leaf(slot, axes, _):
                table = self._slots[slot]
                assert table is not None
                sizes = iter(table.shape[1:])
                return table.reshape(
                    table.shape[0], *(next(sizes) if axis in axes else 1 for axis in range(depth))
                )
            case JoinedParts(all_, parts, orders):
                counts = [self.of(part, depth) for part in parts]
                return _joined(_waiting(counts, orders), all_=all_)
            case Over(all_, first, types, body):
                return self._over_objects(self.of(body, first + len(types)), types, all_=all_)

    def _over_objects(self, counts: Tensor, types: Sequence[ObjectType], *, all_: bool) -> Tensor:
        """The last axes, one for each variable, summed up or reduced to the least; padding does not count."""
        batch = self._batch
        for type_ in reversed(types):
            counts = counts.expand(*counts.shape[:-1], batch.count(type_))
            mask = batch.mask(type_)
            if mask is not None:
                real = mask.reshape(-1, *[1] * (counts.dim() - 2), mask.shape[-1])
                counts = torch.where(real, counts, 0.0 if all_ else NEVER)
            if all_:
                counts = counts.sum(-1)
            else:
                counts = counts.amin(-1) if counts.shape[-1] else counts.new_full(counts.shape[:-1], NEVER)
        return counts.expand(batch.size, *counts.shape[1:])


def _waiting(counts: Sequence[Tensor], orders: frozenset[tuple[int, int]]) -> list[Tensor]:
    """The counts of parts; one that waits for another that is false counts as false itself."""
    found = list(counts)
    for i, j in orders:
        found[j] = torch.maximum(found[j], (counts[i] > 0).float())
    return found


def _joined(parts: Sequence[Tensor], *, all_: bool) -> Tensor:
    found = parts[0]
    for part in parts[1:]:
        found = found + part if all_ else torch.minimum(found, part)
    return found


def _index(places: Ints, batch: StateBatch) -> Tensor:
    return torch.from_numpy(places).to(batch.device)
