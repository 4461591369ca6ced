"""The facts that can become true when nothing is ever deleted, and the instances of rules behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from pdsketch.budget import MEGABYTE, Budget, OutOfMemoryError, current
from pdsketch.core import Ints, Join, Program
from pdsketch.lang import Span
from pdsketch.task.program import JoinRelation
from pdsketch.task.rules import Rule


@final
class Database:
    """Facts by number: ``static`` ones, then the ``fluent`` ones of the initial state, then what is derived.

    ``program`` are the joins that derive facts, of ``relations`` by name.
    """

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
        self.n_init = len(static) + len(fluent)
        self._numbers = np.zeros(len(program.code), np.int32)
        self._numbers[list(program.relations.values())] = np.arange(len(relations))
        facts = np.full((self.n_init, 1 + program.n_args), -1, np.int32)
        for i, (name, args) in enumerate([*static, *fluent]):
            facts[i, : 1 + len(args)] = (program.relations[name], *args)
        self._join = Join(program, facts, len(static), current())
        self._facts: Ints = facts

    def saturate(self, rules: Sequence[Rule], budget: Budget, spans: Mapping[str, Span | None]) -> None:
        """Derive everything that can be derived, within the budget."""
        try:
            self._join.run(budget)
            self._facts = self._join.facts()
        except OutOfMemoryError:
            raise too_large(self.counts(rules), spans, budget) from None

    def counts(self, rules: Sequence[Rule]) -> dict[str, int]:
        """How many instances of the rules of each schema there are."""
        found: dict[str, int] = {}
        for rule, count in zip(rules, self._join.counts(), strict=True):
            found[rule.name] = found.get(rule.name, 0) + count
        return found

    @property
    def n_facts(self) -> int:
        """How many facts there are."""
        return len(self._facts)

    @property
    def relation(self) -> Ints:
        """The number of each fact's relation."""
        return self._numbers[self._facts[:, 0]]

    @property
    def args(self) -> Ints:
        """The objects of each fact; those beyond its arity mean nothing."""
        return self._facts[:, 1:]

    def take_instances(self, n_rules: int, budget: Budget) -> list[Ints]:
        """For each rule a table of its instances: variables, facts of the conditions, facts of the heads.

        They are not kept here as well.
        """
        return [self._join.take(rule, budget) for rule in range(n_rules)]

    def facts_of(self, predicate: str) -> Ints:
        """The arguments of the facts of a relation, a row each."""
        own = self._facts[:, 0] == self.program.relations[predicate]
        return self._facts[own, 1 : 1 + self.relations[predicate].arity]

    def find(self, predicate: str, columns: Sequence[Ints], rows: int) -> Ints:
        """The fact of each row of arguments, -1 where there is none."""
        table = np.zeros((rows, max(len(columns), 1)), np.int32)
        for i, column in enumerate(columns):
            table[:, i] = column
        found: Ints = self._join.find(self.program.relations[predicate], table, current())
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
