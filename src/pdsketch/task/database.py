"""The facts that can become true when nothing is ever deleted, and the instances of rules behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import final

import numpy as np

from pdsketch.budget import MEGABYTE, Budget, OutOfMemoryError
from pdsketch.kernels import Ints, enlarged, more_rows, row_size
from pdsketch.lang import Span
from pdsketch.task.join import (
    COUNTER,
    CURRENT,
    DONE,
    MATCHED,
    N_FACTS,
    N_ROWS,
    N_STATIC,
    NEED_FACTS,
    NEED_ROWS,
    NEED_TABLE,
    OUT_OF_BUDGET,
    PHASE,
    ROOM,
    ROW_END,
    UNTRIGGERED,
    VARIANT,
    explore,
    find,
    rehash,
)
from pdsketch.task.program import JoinRelation, Program
from pdsketch.task.rules import Rule

STEPS = 100_000
"""Steps of a join before the first look at the budget."""

_SLICE = 0.03
"""Seconds between two looks at the budget, about."""

_ROWS = 1 << 16
"""Instances that are copied at a time."""

_SLOTS = 1 << 19
"""Slots of a table that are entered in a larger one at a time."""


@final
class Database:
    """Facts by number: static ones, then the others of the initial state, then what was derived from them."""

    def __init__(
        self,
        program: Program,
        relations: Mapping[str, JoinRelation],
        static: Sequence[tuple[str, tuple[int, ...]]],
        fluent: Sequence[tuple[str, tuple[int, ...]]],
    ) -> None:
        self.program = program
        self.relations = relations
        self.names = tuple(relations)
        self.n_static = len(static)
        self.n_init = len(static) + len(fluent)
        self._code = program.code
        self._numbers = np.zeros(len(program.code), np.int32)
        self._numbers[list(program.relations.values())] = np.arange(len(relations))
        # Enough space for any one instance and for any one fact.
        room = max([program.n_indexes, *(sum(widths) for widths in program.widths)]) + 1
        columns = 1 + program.n_args + program.n_indexes
        table = 1 << int(2 * (self.n_init * program.n_indexes + room + 512)).bit_length()
        self._facts = np.full((self.n_init + room + 1024, columns), -1, np.int32)
        self._table = np.full((table, 2), -1, np.int32)
        self._frame = np.zeros(program.n_variables + program.n_matched + program.n_pointers + 1, np.int32)
        self._rows = np.zeros(1024 * 8 + room, np.int32)
        self._starts = np.zeros((1024, 2), np.int64)
        self._state = np.zeros(13, np.int64)
        for i, (name, args) in enumerate([*static, *fluent]):
            self._facts[i, : 1 + len(args)] = (program.relations[name], *args)
        self._state[[N_FACTS, N_STATIC, CURRENT]] = self.n_init, self.n_static, self.n_static - 1
        self._state[[PHASE, VARIANT, COUNTER]] = -1
        self._state[[UNTRIGGERED, MATCHED, ROOM]] = program.untriggered, program.n_variables, room

    def saturate(self, rules: Sequence[Rule], budget: Budget, spans: Mapping[str, Span | None]) -> None:
        """Derive everything that can be derived, within the budget."""
        self._explore(0)  # the kernel is loaded now, if it was not yet
        steps, started = STEPS, monotonic()
        while (reason := self._explore(steps)) != DONE:
            spent = monotonic() - started
            if spent > 2 * _SLICE or (spent < _SLICE / 2 and reason == OUT_OF_BUDGET):
                steps = max(STEPS // 10, steps // 2) if spent > _SLICE else 2 * steps
            try:
                budget.check()
                self._grow(reason, budget)
            except OutOfMemoryError:
                raise too_large(self.counts(rules), spans, budget) from None
            started = monotonic()

    def _grow(self, reason: int, budget: Budget) -> None:
        """Make room for what the kernel asked for."""
        room = int(self._state[ROOM])
        if reason == NEED_FACTS:
            full = len(self._facts)
            self._facts = enlarged(self._facts, more_rows(full, full + room, row_size(self._facts), budget))
        elif reason == NEED_ROWS:
            # The cells of all instances so far tell how many the next ones take.
            count = max(self.n_rows, 1)
            cells = max(1.0, int(self._state[ROW_END]) / count)
            size = cells * self._rows.itemsize + row_size(self._starts)
            wanted = more_rows(count, count + 1 + room, size, budget)
            self._starts = enlarged(self._starts, max(wanted, len(self._starts)))
            self._rows = enlarged(self._rows, max(int(wanted * cells) + room, len(self._rows)))
        elif reason == NEED_TABLE:
            size = 2 * len(self._table)
            budget.reserve(size * row_size(self._table))
            table = np.full((size, 2), -1, np.int32)
            for first in range(0, len(self._table), _SLOTS):
                rehash(self._code, self._facts, self._table[first : first + _SLOTS], table)
                budget.check()
            self._table = table

    def _explore(self, steps: int) -> int:
        reason: int = explore(
            self._code, self._facts, self._table, self._frame, self._rows, self._starts, self._state, steps
        )
        return reason

    def counts(self, rules: Sequence[Rule]) -> dict[str, int]:
        """How many instances of the rules of each schema there are."""
        counts = np.bincount(self._starts[: self.n_rows, 0], minlength=len(rules))
        found: dict[str, int] = {}
        for rule, count in zip(rules, counts, strict=True):
            found[rule.name] = found.get(rule.name, 0) + int(count)
        return found

    @property
    def n_facts(self) -> int:
        """How many facts there are."""
        return int(self._state[N_FACTS])

    @property
    def n_rows(self) -> int:
        """How many instances of rules there are."""
        return int(self._state[N_ROWS])

    @property
    def relation(self) -> Ints:
        """The number of each fact's relation."""
        return self._numbers[self._facts[: self.n_facts, 0]]

    @property
    def args(self) -> Ints:
        """The objects of each fact; those beyond its arity mean nothing."""
        return self._facts[: self.n_facts, 1 : 1 + self.program.n_args]

    def take_instances(self, n_rules: int, budget: Budget) -> list[Ints]:
        """For each rule a table of its instances: variables, facts of the conditions, facts of the heads.

        They are not kept here as well.
        """
        budget.reserve(16 * self.n_rows)
        owner = self._starts[: self.n_rows, 0]
        starts = self._starts[: self.n_rows, 1]
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(n_rules + 1)).tolist()
        tables = []
        for rule in range(n_rules):
            width = sum(self.program.widths[rule])
            own = starts[order[bounds[rule] : bounds[rule + 1]]]
            table = np.empty((len(own), width), np.int32)
            # The places of the cells take more room than the cells: a part at a time.
            for first in range(0, len(own), _ROWS):
                budget.reserve(4 * width * min(len(own) - first, _ROWS))
                some = own[first : first + _ROWS]
                table[first : first + _ROWS] = self._rows[some[:, None] + np.arange(width)]
            tables.append(table)
            budget.tick()
        self._rows, self._starts = self._rows[:0].copy(), self._starts[:0].copy()
        return tables

    def facts_of(self, predicate: str) -> Ints:
        """The arguments of the facts of a relation, a row each."""
        own = self._facts[: self.n_facts, 0] == self.program.relations[predicate]
        return self._facts[: self.n_facts][own, 1 : 1 + self.relations[predicate].arity]

    def find(self, predicate: str, columns: Sequence[Ints], rows: int) -> Ints:
        """The fact of each row of arguments, -1 where there is none."""
        found = np.empty(rows, np.int32)
        width = max(len(columns), 1)
        table = np.zeros((rows, width), np.int32)
        for i, column in enumerate(columns):
            table[:, i] = column
        find(self._code, self._facts, self._table, self.program.relations[predicate], table, found)
        return found


def too_large(found: Mapping[str, int], spans: Mapping[str, Span | None], budget: Budget) -> OutOfMemoryError:
    """The error that names the schema with the most instances, where it stands, and what to do."""
    name = max(found, key=lambda key: found[key], default="")
    span = spans.get(name)
    place = f"{span.where}: " if span is not None else ""
    return OutOfMemoryError(
        f"{place}`{name}` has {found.get(name, 0):,} ground instances or more, and the memory limit of "
        f"{budget.memory / MEGABYTE:g} MB holds no more",
        f"give `{name}` fewer parameters or stricter conditions, or the problem fewer objects, "
        "or raise the memory limit",
    )
