"""States, real or predicted, on which goals are evaluated and from which actions are taken.

A frame holds rows. Derived tables are computed once a frame, each only for the
rows that need it: those whose goal names the predicate, and those whose action
reads it. A predicted frame takes over a table from the frame before it for the
rows whose action wrote nothing that the table depends on.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import final

import numpy as np
import torch
from torch import Tensor

from pdsketch.learn.alike import Alike
from pdsketch.learn.data.episode_arrays import Array
from pdsketch.learn.study import Study
from pdsketch.nets.together import Shared
from pdsketch.nets.verdict import Verdict
from pdsketch.tensor.effects import assigned, written
from pdsketch.tensor.logic import Logic
from pdsketch.tensor.node import Run
from pdsketch.tensor.state import StateBatch
from pdsketch.tensor.values import fully_soft, is_categorical, unify


@final
class Move:
    """One action in some rows of a frame: where (``first`` row of the next frame), and what it wrote.

    ``writes`` holds, for what it assigned under conditions, how far each entry
    was written and what would be written there (`assigned`).
    """

    def __init__(
        self,
        action: int,
        rows: Array,
        first: int,
        new: Mapping[str, Tensor],
        writes: Mapping[str, tuple[Tensor, Tensor]],
    ) -> None:
        self.action = action
        self.rows = rows
        self.first = first
        self.new = new
        self.writes = writes


@final
class Frame:
    """Rows of states under one logic.

    ``states`` are the examples of the data that the rows are, or that they
    predict. ``before`` and ``moves`` say how predicted rows came about.
    ``judged`` are the rows whose goal is known to hold or not.
    """

    def __init__(
        self,
        study: Study,
        logic: Logic,
        states: Array,
        before: Frame | None = None,
        moves: tuple[Move, ...] = (),
    ) -> None:
        self.study = study
        self.logic = logic
        self.states = states
        self.before = before
        self.moves = moves
        self.goal = study.packed.goal[states]
        self.judged = np.flatnonzero(self.goal >= 0)
        self.action = study.packed.action[states]
        # Tables lie in pools, alone or with others: which pool each is in, and where its rows are there.
        self._pools: list[Tensor] = []
        self._pool = np.full(len(study.tables), -1, dtype=np.int64)
        self._places = np.full((len(study.tables), len(states)), -1, dtype=np.int64)
        self._joined: dict[Hashable, tuple[Tensor, Array]] = {}
        self._encoded: dict[str, Tensor] | None = None
        self.shared: Shared = {} if before is None else before.shared

    def __len__(self) -> int:
        return len(self.states)

    # -- values -------------------------------------------------------------------

    def value(self, name: str, rows: Array, at: Tensor | None = None) -> Tensor:
        """A state variable in some rows (in ascending order); ``at``: their states, where they are known."""
        if self.before is not None:
            return self._predicted(name, rows)
        if self.study.domain.predicates[name].role == "encoded":
            encoded = self._encode()
            if name in encoded:
                return encoded[name] if len(rows) == len(self) else encoded[name][self._at(rows)]
        at = self.study.packed.rows(self.states[rows]) if at is None else at
        return self.study.packed.values(name, at)

    def _predicted(self, name: str, rows: Array) -> Tensor:
        assert self.before is not None
        parts = []
        for move in self.moves:
            own = rows[(rows >= move.first) & (rows < move.first + len(move.rows))] - move.first
            if not len(own):
                continue
            if name not in move.new:
                parts.append(self.before.value(name, move.rows[own]))
            elif len(own) == len(move.rows):
                parts.append(move.new[name])
            else:
                parts.append(move.new[name].index_select(0, self._at(own)))
        whole = unify(parts, self.study.domain.predicates[name].type)
        return whole[0] if len(whole) == 1 else torch.cat(whole)

    def _encode(self) -> dict[str, Tensor]:
        """Every encoded variable that the data does not give, in all rows."""
        if self._encoded is None:
            self._encoded = encode(self.study, self.states, self.logic)
        return self._encoded

    @property
    def encoded(self) -> Mapping[str, Tensor]:
        """The variables that were encoded for these rows so far."""
        return self._encoded or {}

    def batch(self, rows: Array, names: Iterable[str]) -> StateBatch:
        """Some rows as a batch that holds the given state variables."""
        states = self.states[rows]
        at = self.study.packed.rows(states)
        tensors = {name: self.value(name, rows, at) for name in names if self._holds(name)}
        return self.study.batch(states, tensors, at)

    def _holds(self, name: str) -> bool:
        predicate = self.study.domain.predicates[name]
        return predicate.role == "encoded" or name in self.study.packed

    def _at(self, index: Array) -> Tensor:
        return self.study.packed.place(index)

    # -- derived tables -------------------------------------------------------------

    def prepare(self, *, goals: bool, step: bool) -> None:
        """Compute the tables that the goals of all rows need, and their actions, callees first."""
        plan = self.study.plan
        wanted = np.zeros((len(self), len(self.study.tables)), dtype=np.bool_)
        if goals:
            wanted |= plan.goal_wants[self.goal]
        if step:
            wanted |= plan.action_wants[self.action] & self.moving[:, None]
        seen = set[int]()
        for table in np.flatnonzero(wanted.any(0)).tolist():
            if table in seen:
                continue
            alike = None if self.logic.crisp else self.study.alike.get(table)
            networks = None if alike is None else alike.networks()
            if alike is None or networks is None:
                self._compute(table, np.flatnonzero(wanted[:, table]))
            else:
                self._compute_alike(alike, networks, wanted[:, alike.tables].T)
                seen.update(alike.tables.tolist())

    @property
    def moving(self) -> Array:
        """The rows whose action was carried out."""
        found: Array = self.study.executed[self.states]
        return found

    def _compute(self, table: int, rows: Array) -> None:
        """A table in some rows: taken over where nothing changed, else computed."""
        study = self.study
        same = self._unchanged(table, rows)
        kept, fresh = rows[same], rows[~same]
        parts = []
        if len(kept):
            assert self.before is not None
            parts.append(self.before.table(table, self._origin[kept]))
        if len(fresh):
            run = self.open(fresh, study.plan.table_reads[table], study.plan.callees[table])
            name = study.tables[table]
            found = study.engine.predicate(run, name, self.logic)
            type_ = study.domain.predicates[name].type
            parts.append(found if self.logic.crisp or not is_categorical(type_) else fully_soft(found, type_))
        self._add(np.full(len(rows), table), np.concatenate([kept, fresh]), parts)

    def _compute_alike(self, alike: Alike, networks: Sequence[Verdict], wanted: Array) -> None:
        """Tables that are computed together, each in the rows that want it ``[table, row]``."""
        same = np.zeros_like(wanted)
        if self.before is not None:
            same = self._untouched(int(alike.tables[0])) & (
                self.before._places[alike.tables[:, None], self._origin] >= 0
            )
        kept, kept_rows = np.nonzero(wanted & same)
        fresh, fresh_rows = np.nonzero(wanted & ~same)
        parts = []
        if len(kept):
            assert self.before is not None
            parts.append(self.before._picked(alike.tables[kept], self._origin[kept_rows]))
        if len(fresh):
            parts.append(alike.evaluate(self, networks, fresh, fresh_rows))
        self._add(alike.tables[np.concatenate([kept, fresh])], np.concatenate([kept_rows, fresh_rows]), parts)

    def _add(self, tables: Array, rows: Array, parts: Sequence[Tensor]) -> None:
        """A pool that holds some tables in some rows, in this order."""
        self._places[tables, rows] = np.arange(len(rows))
        self._pool[tables] = len(self._pools)
        self._pools.append(parts[0] if len(parts) == 1 else torch.cat(list(parts)))

    def open(self, rows: Array, names: Iterable[str], tables: Sequence[int]) -> Run:
        """A run over some rows that knows the tables already computed."""
        run = self.study.engine.open(self.batch(rows, names), checked=False)
        nodes = [self.study.table_node(table, self.logic) for table in tables]
        run.remember(nodes, [self.table(table, rows) for table in tables])
        return run

    def _unchanged(self, table: int, rows: Array) -> Array:
        """Which rows have, for this table, the values of the frame before."""
        if self.before is None or self.before._pool[table] < 0:
            return np.zeros(len(rows), dtype=np.bool_)
        same = self._untouched(table) & (self.before._places[table, self._origin] >= 0)
        found: Array = same[rows]
        return found

    def _untouched(self, table: int) -> Array:
        """The rows whose action wrote nothing that a table depends on."""
        reads = self.study.plan.table_reads[table]
        found = np.zeros(len(self), dtype=np.bool_)
        for move in self.moves:
            found[move.first : move.first + len(move.rows)] = reads.isdisjoint(move.new)
        return found

    @cached_property
    def _origin(self) -> Array:
        """The rows of the frame before that these came from."""
        return np.concatenate([move.rows for move in self.moves])

    @property
    def tables(self) -> Mapping[int, Tensor]:
        """The tables computed so far, each for the rows that need it."""
        found: dict[int, Tensor] = {}
        for at, pool in enumerate(self._pools):
            tables = np.flatnonzero(self._pool == at)
            rows = [np.flatnonzero(self._places[table] >= 0) for table in tables]
            if self.before is None:
                parts: Sequence[Tensor] = torch.split(pool, [len(own) for own in rows])
            else:
                parts = [self.table(table, own) for table, own in zip(tables.tolist(), rows, strict=True)]
            found.update(zip(tables.tolist(), parts, strict=True))
        return found

    def table(self, table: int, rows: Array) -> Tensor:
        """A table that was computed, in some rows."""
        places = self._places[table, rows]
        found = self._pools[int(self._pool[table])]
        if len(places) == len(found) and np.array_equal(places, np.arange(len(found))):
            return found
        return found.index_select(0, self._at(places))

    # -- goals and actions ------------------------------------------------------------

    def truth(self) -> Tensor:
        """The truth of the goals of the ``judged`` rows, in their order."""
        if not len(self.judged):
            return torch.zeros(0, device=self.study.packed.device)
        family = self.study.plan.family[self.goal[self.judged]]
        parts, order = [], []
        for at in np.unique(family).tolist():
            rows = self.judged[family == at]
            parts.append(self._family_truth(at, rows).expand(len(rows)))
            order.append(rows)
        if len(parts) == 1:
            return parts[0]
        return torch.cat(parts).index_select(0, self._at(np.argsort(np.concatenate(order))))

    def _family_truth(self, at: int, rows: Array) -> Tensor:
        plan = self.study.plan
        node = self.study.skeleton(at, self.logic)
        batch = self.batch(rows, plan.direct[at])
        slots = plan.slots[self.goal[rows]]
        for slot in range(slots.shape[1]):
            if slots[0, slot] >= 0:
                batch.tensors[f"${slot}"] = self._slot(slots[:, slot], rows)
        return node(self.study.engine.open(batch, checked=False))

    def _slot(self, tables: Array, rows: Array) -> Tensor:
        """The table of a slot: each row from the predicate that its goal names."""
        if (tables == tables[0]).all():
            return self.table(int(tables[0]), rows)
        return self._picked(tables, rows)

    def _picked(self, tables: Array, rows: Array) -> Tensor:
        """Each row from a table of its own; all of one signature."""
        pools = self._pool[tables]
        if (pools == pools[0]).all():
            return self._pools[int(pools[0])].index_select(0, self._at(self._places[tables, rows]))
        whole, offsets = self._join(self.study.plan.signatures[int(tables[0])])
        return whole.index_select(0, self._at(offsets[pools] + self._places[tables, rows]))

    def _join(self, key: Hashable) -> tuple[Tensor, Array]:
        """All pools with tables of one signature, one after the other, and where each begins."""
        if key not in self._joined:
            alike = [t for t in np.flatnonzero(self._pool >= 0) if self.study.plan.signatures[t] == key]
            pools = np.unique(self._pool[alike])
            offsets = np.zeros(len(self._pools), dtype=np.int64)
            offsets[pools] = np.cumsum([0, *(len(self._pools[at]) for at in pools)])[:-1]
            self._joined[key] = torch.cat([self._pools[at] for at in pools]), offsets
        return self._joined[key]

    def step(self, among: Array | None = None) -> Frame:
        """The predicted next states of the rows that moved; ``among``: only of those where it says so."""
        plan = self.study.plan
        moves, first = [], 0
        moving = self.moving if among is None else self.moving & among
        for at, action in enumerate(self.study.actions):
            rows = np.flatnonzero(moving & (self.action == at))
            if not len(rows):
                continue
            run = self.open(rows, plan.action_reads[at], plan.action_tables[at])
            ground = run.ground(self.study.parameters(at, self.states[rows]), 1)
            program = self.study.engine.program(action.name, self.logic)
            moves.append(Move(at, rows, first, written(program, ground), assigned(program, ground)))
            first += len(rows)
        states = np.concatenate([self.states[move.rows] + 1 for move in moves] or [self.states[:0]])
        return Frame(self.study, self.logic, states, self, tuple(moves))


def encode(study: Study, states: Array, logic: Logic) -> dict[str, Tensor]:
    """The encoded variables of some states of the data, where it does not give them."""
    predicates, data = study.domain.predicates.values(), study.packed
    missing = [p.name for p in predicates if p.role == "encoded" and p.name not in data]
    if not missing:
        return {}
    names = {n for name in missing for n in _encoder_reads(study, name)}
    run = study.engine.open(study.batch(states, study.observed(states, names)), checked=False)
    return {name: study.engine.predicate(run, name, logic) for name in missing}


def _encoder_reads(study: Study, name: str) -> frozenset[str]:
    body = study.domain.predicates[name].body
    found = frozenset[str]() if body is None else study.reads.expression(body)
    encoded = {n for n in found if study.domain.predicates[n].role == "encoded" and n != name}
    return (found - encoded).union(*(_encoder_reads(study, n) for n in encoded))
