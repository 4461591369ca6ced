"""The facts that can become true when nothing is ever deleted, and the instances of rules behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from pdsketch.lang.source import Span
from pdsketch.task.join import (
    COUNTER,
    CURRENT,
    DONE,
    N_FACTS,
    N_ROWS,
    N_STATIC,
    NEED_FACTS,
    NEED_ROWS,
    NEED_TABLE,
    PHASE,
    Program,
    Store,
    explore,
    find,
    load,
    rehash,
)
from pdsketch.task.limits import Limits
from pdsketch.task.program import Relation
from pdsketch.task.rules import Rule
from pdsketch.task.task import Ints

BUDGET = 2_000_000
"""Steps of a join between two looks at the clock: some hundredths of a second."""


@final
class Database:
    """Facts by number: static ones, then the others of the initial state, then what was derived from them."""

    def __init__(
        self,
        program: Program,
        relations: Mapping[str, Relation],
        static: Sequence[tuple[str, tuple[int, ...]]],
        fluent: Sequence[tuple[str, tuple[int, ...]]],
    ) -> None:
        self.program = program
        self.relations = relations
        self.names = tuple(relations)
        self.n_static = len(static)
        self.n_init = len(static) + len(fluent)
        self._store = _empty_store(program, relations, self.n_init)
        for i, (name, args) in enumerate([*static, *fluent]):
            self._store.relation[i] = relations[name].number
            self._store.args[i, : len(args)] = args
        state = self._store.state
        state[N_FACTS], state[N_STATIC] = self.n_init, self.n_static
        state[PHASE], state[CURRENT], state[COUNTER] = 0, self.n_static - 1, -1

    def saturate(self, rules: Sequence[Rule], limits: Limits, spans: Mapping[str, Span | None]) -> None:
        """Derive everything that can be derived, within the limits."""
        load(self.program, self._store)
        while (reason := explore(self.program, self._store, BUDGET)) != DONE:
            limits.check_time()
            if self.n_rows > limits.instances or self._store.rows.size > limits.cells:
                raise limits.too_large(self._counts(rules), spans)
            if reason == NEED_FACTS:
                self._grow("relation", "args", "chain")
            elif reason == NEED_ROWS:
                self._grow("row_rule", "row_start", "rows")
            elif reason == NEED_TABLE:
                self._grow_table()

    def _counts(self, rules: Sequence[Rule]) -> dict[str, int]:
        counts = np.bincount(self._store.row_rule[: self.n_rows], minlength=len(rules))
        found: dict[str, int] = {}
        for rule, count in zip(rules, counts, strict=True):
            found[rule.name] = found.get(rule.name, 0) + int(count)
        return found

    def _grow(self, *fields: str) -> None:
        arrays = {}
        for name in fields:
            old = getattr(self._store, name)
            arrays[name] = np.concatenate([old, np.zeros_like(old)])
        self._store = self._store._replace(**arrays)

    def _grow_table(self) -> None:
        size = 4 * len(self._store.table_index)
        bigger = self._store._replace(
            table_index=np.full(size, -1, np.int32), table_fact=np.zeros(size, np.int32)
        )
        rehash(self.program, self._store, bigger)
        self._store = bigger

    @property
    def n_facts(self) -> int:
        """How many facts there are."""
        return int(self._store.state[N_FACTS])

    @property
    def n_rows(self) -> int:
        """How many instances of rules there are."""
        return int(self._store.state[N_ROWS])

    @property
    def relation(self) -> Ints:
        """The number of each fact's relation."""
        return self._store.relation[: self.n_facts]

    @property
    def args(self) -> Ints:
        """The objects of each fact; those beyond its arity mean nothing."""
        return self._store.args[: self.n_facts]

    def instances(self, n_rules: int) -> list[Ints]:
        """For each rule a table of its instances: variables, facts of the conditions, facts of the heads."""
        owner = self._store.row_rule[: self.n_rows]
        starts = self._store.row_start[: self.n_rows]
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(n_rules + 1))
        tables = []
        for rule in range(n_rules):
            n_vars, n_body, _, n_heads = self.program.rules[rule]
            own = starts[order[bounds[rule] : bounds[rule + 1]]]
            tables.append(self._store.rows[own[:, None] + np.arange(n_vars + n_body + n_heads)])
        return tables

    def find(self, predicate: str, columns: Sequence[Ints], rows: int) -> Ints:
        """The fact of each row of arguments, -1 where there is none."""
        found = np.empty(rows, np.int32)
        width = max(len(columns), 1)
        table = np.zeros((rows, width), np.int32)
        for i, column in enumerate(columns):
            table[:, i] = column
        find(self.program, self._store, self.relations[predicate].number, table, found)
        return found


def _empty_store(program: Program, relations: Mapping[str, Relation], n_init: int) -> Store:
    indexes = int(np.diff(program.indexes).max(initial=1))
    width = max([1, *(r.arity for r in relations.values())])
    row = int((program.rules[:, 0] + program.rules[:, 1] + program.rules[:, 3]).max(initial=1))
    # `pointers` is also the room that the kernel asks for before it writes: enough for any one instance.
    pointers = max(len(program.steps), row, indexes) + 1
    facts = n_init + pointers + 1024
    table = 1 << int(4 * (n_init * indexes + pointers + 512)).bit_length()
    rows = 1024
    return Store(
        relation=np.zeros(facts, np.int32),
        args=np.zeros((facts, width), np.int32),
        chain=np.full((facts, indexes), -1, np.int32),
        table_index=np.full(table, -1, np.int32),
        table_fact=np.zeros(table, np.int32),
        row_rule=np.zeros(rows, np.int32),
        row_start=np.zeros(rows, np.int64),
        rows=np.zeros(rows * row + pointers, np.int32),
        pointers=np.zeros(pointers, np.int32),
        binding=np.zeros(row + 1, np.int32),
        matched=np.zeros(row + 1, np.int32),
        state=np.zeros(10, np.int64),
    )
