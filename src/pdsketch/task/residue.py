"""Conditions that joins leave over are ground here, over whole tables of instances at once.

The result is a conjunction of ground literals for each row. What stays a
disjunction becomes a derived fact of its own, with one axiom for each way to
make it true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod
from typing import final

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import Budget
from pdsketch.core import Bools, Ints, gather, group, owners_of, repeated
from pdsketch.lang import dataclass
from pdsketch.task.database import Database, too_large
from pdsketch.task.formula import (
    Atom,
    Conjunction,
    Disjunction,
    Every,
    Formula,
    Same,
    Some,
    Term,
    Test,
    variables_of,
)
from pdsketch.task.normal import Vocabulary
from pdsketch.task.numeric import Numbers

_FACT_BYTES = 200
"""About what the name of a fact takes."""


@final
@dataclass(frozen=True, slots=True)
class Bindings:
    """Columns of objects, by variable."""

    columns: Mapping[str, Ints]
    rows: int

    def column(self, term: Term) -> Ints:
        """The objects that a term stands for, row by row."""
        return self.columns[term] if isinstance(term, str) else np.full(self.rows, term, np.int32)


@final
@dataclass(frozen=True, slots=True)
class Ground:
    """A conjunction for each row: ``literals[i]`` belongs to row ``rows[i]``; ``dead`` rows are false."""

    rows: Ints
    literals: Ints
    dead: Bools


@final
@dataclass(slots=True)
class Residues:
    """Grounds formulas, and collects the disjunctions that became facts.

    ``axioms`` come in batches: the head of each, and its body, where literal
    ``i`` belongs to axiom ``rows[i]`` of the batch.
    """

    words: Vocabulary
    database: Database
    numbers: Numbers
    budget: Budget
    facts: list[tuple[str, ...]] = field(default_factory=list)
    axioms: list[tuple[Ints, Ints, Ints]] = field(default_factory=list)
    parents: dict[str, Formula] = field(default_factory=dict)
    owners: list[str] = field(default_factory=list)

    def ground(self, formula: Formula, table: Bindings) -> Ground:
        """The conjunction of ground literals that the formula amounts to, row by row."""
        match formula:
            case Atom():
                return self._atom(formula, table)
            case Same():
                same = table.column(formula.left) == table.column(formula.right)
                return _tested(same == formula.positive)
            case Test():
                return _tested(self.numbers.holds(formula, table.columns, table.rows))
            case Conjunction():
                return _joined([self.ground(part, table) for part in formula.parts], table.rows)
            case Every():
                return self._projected(formula, table, self._every)
            case Disjunction():
                return self._projected(formula, table, self._either)
            case Some():
                raise AssertionError("existential quantifiers are gone")

    def _atom(self, atom: Atom, table: Bindings) -> Ground:
        """Static atoms are true or false; others are literals, if they can become true at all."""
        self.budget.reserve(table.rows * (4 * len(atom.args) + 16))
        found = self.database.find(atom.predicate, [table.column(t) for t in atom.args], table.rows)
        if self.database.relations[atom.predicate].static:
            return _tested((found >= 0) == atom.positive)
        rows = np.nonzero(found >= 0)[0].astype(np.int32)
        literals = 2 * found[rows] + (0 if atom.positive else 1)
        dead: Bools = np.less(found, 0) & np.bool_(atom.positive)
        return Ground(rows, literals, dead)

    def _projected(self, formula: Formula, table: Bindings, ground: object) -> Ground:
        """Ground a formula once for each combination of the objects it depends on."""
        free = variables_of(formula)
        self.budget.reserve(table.rows * 48)
        key = np.zeros(table.rows, np.int64)
        for name in free:
            # Numbered anew after each column, so that the key cannot overflow.
            key = np.unique(key * len(self.words.names) + table.columns[name], return_inverse=True)[1]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        small = Bindings({name: table.columns[name][first] for name in free}, len(first))
        assert callable(ground)
        return _spread(ground(formula, small), inverse.astype(np.int64))

    def _every(self, formula: Every, table: Bindings) -> Ground:
        """The body for all objects; a conjunction part by part, each over the variables it mentions."""
        domains = [self.words.members(self.words.types[v]) for v in formula.variables]
        if not all(domains):
            return _tested(np.ones(table.rows, np.bool_))
        if isinstance(formula.body, Conjunction):
            return _joined([self._over(formula.variables, p, table) for p in formula.body.parts], table.rows)
        return self._over(formula.variables, formula.body, table)

    def _over(self, variables: Sequence[str], body: Formula, table: Bindings) -> Ground:
        """The body for all objects of those variables that it mentions."""
        free = set(variables_of(body))
        left = [v for v in variables if v in free]
        wide, source = table, np.arange(table.rows)
        parts = body.parts if isinstance(body, Disjunction) else (body,)
        for part in parts:
            # Where a static antecedent fails there is nothing to ask: only its facts matter.
            if isinstance(part, Atom) and not part.positive and self._joinable(part, left):
                wide, more = self._join(part, wide)
                source = source[more]
                left = [v for v in left if v not in wide.columns]
        wide, more = self._product(left, wide)
        inner = self.ground(body, wide)
        source = source[more]
        dead = np.zeros(table.rows, np.bool_)
        dead[source[inner.dead]] = True
        return Ground(source[inner.rows].astype(np.int32), inner.literals, dead)

    def _joinable(self, atom: Atom, left: Sequence[str]) -> bool:
        return self.database.relations[atom.predicate].static and any(v in left for v in atom.args)

    def _join(self, atom: Atom, table: Bindings) -> tuple[Bindings, NDArray[np.int64]]:
        """The rows, once for each fact that agrees with them; also which row each came from."""
        facts = self.database.facts_of(atom.predicate)
        places: dict[str, int] = {}
        bound = []
        for i, term in enumerate(atom.args):
            if isinstance(term, int):
                facts = facts[facts[:, i] == term]
            elif term in places:
                facts = facts[facts[:, i] == facts[:, places[term]]]
            else:
                places[term] = i
                bound += [term] if term in table.columns else []
                members = self.words.members(self.words.types[term])
                facts = facts[np.isin(facts[:, i], members)]
        own, theirs = np.zeros(table.rows, np.int64), np.zeros(len(facts), np.int64)
        for term in bound:
            both = np.concatenate([table.columns[term], facts[:, places[term]]])
            key = np.concatenate([own, theirs]) * len(self.words.names) + both
            # Numbered anew after each column, so that the key cannot overflow.
            number = np.unique(key, return_inverse=True)[1]
            own, theirs = number[: table.rows], number[table.rows :]
        order = np.argsort(theirs, kind="stable")
        low, high = (np.searchsorted(theirs[order], own, side=side) for side in ("left", "right"))
        source, within = repeated(high - low)
        self._guard(len(source), len(table.columns) + len(places), list(places))
        chosen = facts[order[low[source] + within]]
        columns = {name: column[source] for name, column in table.columns.items()}
        columns |= {term: chosen[:, i] for term, i in places.items() if term not in columns}
        return Bindings(columns, len(source)), source

    def _product(self, variables: Sequence[str], table: Bindings) -> tuple[Bindings, NDArray[np.int64]]:
        """The rows, once for each combination of objects; also which row each came from."""
        domains = [self.words.members(self.words.types[v]) for v in variables]
        size = prod(map(len, domains))
        self._guard(size * table.rows, len(table.columns) + len(domains), variables)
        columns = {name: np.repeat(column, size) for name, column in table.columns.items()}
        grid = np.meshgrid(*(np.array(d, np.int32) for d in domains), indexing="ij")
        for name, axis in zip(variables, grid, strict=True):
            columns[name] = np.tile(axis.reshape(-1), table.rows)
        return Bindings(columns, size * table.rows), np.repeat(np.arange(table.rows), size)

    def _guard(self, rows: int, columns: int, variables: Sequence[Term]) -> None:
        """Refuse a table that would not fit: its columns, and where each row came from."""
        self.budget.check()
        if not self.budget.fits(rows * (4 * columns + 8)):
            names = " ".join(str(v).split("~")[0] for v in variables)
            raise too_large({f"forall ({names})": rows}, {}, self.budget)

    def _either(self, formula: Disjunction, table: Bindings) -> Ground:
        """True where a part is; the one part that can hold, where there is only one; else a new fact."""
        self.budget.reserve(table.rows * 2 * len(formula.parts))
        true = np.zeros(table.rows, np.bool_)
        parts = []
        # What never changes goes first: where it decides, nothing else needs to be looked up.
        for formula_part in sorted(formula.parts, key=self._is_fluent):
            ground = self._among(formula_part, table, ~true)
            decided = ~ground.dead
            decided[ground.rows] = False
            true |= decided
            parts.append(ground)
        alive = np.array([~part.dead & ~true for part in parts]).reshape(len(parts), table.rows)
        ways = alive.sum(axis=0)
        single, many = ways == 1, ways > 1
        rows, literals = [], []
        for part, live in zip(parts, alive, strict=True):
            kept = (single & live)[part.rows]
            rows.append(part.rows[kept])
            literals.append(part.literals[kept])
        chosen = np.nonzero(many)[0].astype(np.int32)
        rows.append(chosen)
        literals.append(2 * self._new_facts(formula, table, chosen, parts, alive))
        dead: Bools = (ways == 0) & ~true
        return Ground(np.concatenate(rows), np.concatenate(literals), dead)

    def _is_fluent(self, part: Formula) -> bool:
        static = isinstance(part, Atom) and self.database.relations[part.predicate].static
        return not (static or isinstance(part, Same | Test))

    def _among(self, part: Formula, table: Bindings, wanted: Bools) -> Ground:
        """A part ground for the wanted rows alone; the others count as dead."""
        if wanted.all():
            return self.ground(part, table)
        rows = np.nonzero(wanted)[0].astype(np.int32)
        few = self.ground(part, Bindings({v: c[rows] for v, c in table.columns.items()}, len(rows)))
        dead = np.ones(table.rows, np.bool_)
        dead[rows] = few.dead
        return Ground(rows[few.rows], few.literals, dead)

    def _new_facts(
        self, formula: Disjunction, table: Bindings, chosen: Ints, parts: Sequence[Ground], alive: Bools
    ) -> Ints:
        """A fact for each chosen row, with an axiom for each part that can hold there."""
        free = variables_of(formula)
        self.budget.reserve(len(chosen) * _FACT_BYTES)
        name = f"or#{len(self.words.types)}.{len(self.parents)}"
        self.parents[name] = formula
        first = self.database.n_facts + len(self.facts)
        names = np.array([*self.words.names, ""], object)
        objects = [names[table.columns[v][chosen]].tolist() for v in free]
        self.facts += zip([name] * len(chosen), *objects, strict=True)
        self.owners += [name] * len(chosen)
        number = np.full(table.rows, -1, np.int32)
        number[chosen] = np.arange(first, first + len(chosen), dtype=np.int32)
        for part, live in zip(parts, alive, strict=True):
            with_axiom = live & (number >= 0)
            place = np.cumsum(with_axiom, dtype=np.int32) - 1
            kept = with_axiom[part.rows]
            self.axioms.append((number[with_axiom], place[part.rows[kept]], part.literals[kept]))
        return number[chosen]


def _tested(true: Bools) -> Ground:
    empty = np.zeros(0, np.int32)
    return Ground(empty, empty, ~true)


def _joined(parts: Sequence[Ground], rows: int) -> Ground:
    if not parts:
        return _tested(np.ones(rows, np.bool_))
    return Ground(
        np.concatenate([p.rows for p in parts]),
        np.concatenate([p.literals for p in parts]),
        np.logical_or.reduce([p.dead for p in parts]),
    )


def _spread(ground: Ground, inverse: NDArray[np.int64]) -> Ground:
    """The ground conjunctions of distinct rows, handed to all rows that share them."""
    shared = gather(group(ground.rows, ground.literals, len(ground.dead)), inverse)
    return Ground(owners_of(shared).astype(np.int32), shared.items, ground.dead[inverse])
