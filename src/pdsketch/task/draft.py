"""Instances of rules become operators, effects and axioms over numbered facts, before anything is pruned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from typing import final

import numpy as np

from pdsketch.budget import Budget
from pdsketch.core import (
    CSR,
    Bools,
    Draft,
    Floats,
    Ints,
    Longs,
    csr_of,
    distinct,
    gather,
    group,
    owners_of,
    repeated,
)
from pdsketch.lang import LARGEST_COST, Action, Problem, dataclass, error
from pdsketch.task.bodies import Bodies
from pdsketch.task.database import Database
from pdsketch.task.formula import Atom, Same
from pdsketch.task.numeric import Numbers
from pdsketch.task.residue import Bindings, Ground, Residues
from pdsketch.task.rules import Rule, mark


@final
@dataclass(slots=True)
class Lists:
    """Rows of literals, collected piece by piece."""

    budget: Budget
    rows: list[Ints] = field(default_factory=list)
    items: list[Ints] = field(default_factory=list)

    def add(self, rows: Ints, items: Ints) -> None:
        """Put ``items[i]`` into row ``rows[i]``."""
        self.rows.append(rows)
        self.items.append(items)

    def add_table(self, first: int, table: Ints) -> None:
        """Put each row of a table into a row of its own, from ``first`` on."""
        n, width = table.shape
        self.budget.reserve(4 * n * width)
        self.add(np.repeat(np.arange(first, first + n, dtype=np.int32), width), table.reshape(-1))

    def finish(self, n_rows: int) -> CSR:
        """The rows as flat arrays."""
        if not self.rows:
            return CSR(np.zeros(n_rows + 1, np.int32), np.zeros(0, np.int32))
        # Both columns in one piece, their order, and both in that order.
        self.budget.reserve(28 * sum(map(len, self.rows)))
        return group(np.concatenate(self.rows), np.concatenate(self.items), n_rows)


@final
class Drafter:
    """Turns tables of instances into a `Draft`.

    The instances are those of the rules in ``bodies``, for the objects of ``problem``; ``residues`` ground
    what joins left of their conditions. ``numbers`` evaluates what actions cost; ``budget`` is what all of it
    may take.
    """

    def __init__(
        self, problem: Problem, bodies: Bodies, residues: Residues, numbers: Numbers, budget: Budget
    ) -> None:
        self.problem = problem
        self.rules = bodies.rules
        self.bodies = bodies.bodies
        self.residues = residues
        self.numbers = numbers
        self.budget = budget
        self.database: Database = residues.database
        self.tables = self.database.take_instances(len(self.rules), budget)

    def draft(self, goal: Ground) -> Draft:
        """Everything, in the order actions, effects, axioms."""
        pre, heads = Lists(self.budget), Lists(self.budget)
        owner_rules, origins, costs, marks = [], [], [], []
        n_ops = 0
        for number, rule in enumerate(self.rules):
            if rule.kind != "action":
                continue
            priced = self._costs(rule, self.tables[number])
            # Where a cost has no value, the reference semantics refuses the step.
            kept, count = self._conditions(number, pre, n_ops, never=np.isnan(priced))
            table = self.tables[number][kept]
            self._heads(rule, table, n_ops, heads)
            owner_rules.append(np.full(count, number, np.int32))
            origins.append(np.nonzero(kept)[0].astype(np.int32))
            costs.append(priced[kept])
            marked = rule.heads and rule.heads[-1].predicate == mark(rule.name)
            marks.append(table[:, -1] if marked else np.full(count, -1, np.int32))
            n_ops += count
        owners, conditions = self._effects(_joined(marks), n_ops, heads)
        axiom_heads, bodies = self._axioms()
        return Draft(
            rules=_joined(owner_rules),
            origins=_joined(origins),
            costs=np.concatenate(costs) if costs else np.zeros(0),
            preconditions=pre.finish(n_ops),
            owners=owners,
            conditions=conditions.finish(len(owners)),
            heads=heads.finish(len(owners)),
            axiom_heads=axiom_heads,
            axiom_bodies=bodies,
            goal=distinct(goal.literals).astype(np.int32),
            possible=not goal.dead[0],
            groups=csr_of(self._groups(_joined(owner_rules), _joined(origins))),
        )

    def _groups(self, owner_rules: Ints, origins: Ints) -> list[list[int]]:
        """Operators that share their name with others."""
        names = Counter(rule.name for rule in self.rules if rule.kind == "action")
        found: dict[tuple[object, ...], list[int]] = {}
        for number, rule in enumerate(self.rules):
            if rule.kind == "action" and (names[rule.name] > 1 or len(rule.variables) > rule.n_named):
                own = np.arange(*np.searchsorted(owner_rules, [number, number + 1]))
                args = self.tables[number][origins[own], : rule.n_named].tolist()
                for operator, objects in zip(own.tolist(), args, strict=True):
                    self.budget.tick()
                    found.setdefault((rule.name, *objects), []).append(operator)
        return [group for group in found.values() if len(group) > 1]

    def _conditions(
        self, number: int, lists: Lists, first: int, skip: int = 0, never: Bools | None = None
    ) -> tuple[Bools, int]:
        """Collect the conditions of a rule's instances; which of them can hold, and how many."""
        rule, found = self.rules[number], self.tables[number]
        self.budget.reserve(2 * found.nbytes)
        n_vars, n_body, _ = self.database.program.widths[number]
        whole = Bindings({v: found[:, i] for i, v in enumerate(rule.variables)}, len(found))
        left = [*(item for item in rule.items if self._is_left(item)), *self.bodies[number].covered]
        grounds = [self.residues.ground(item, whole) for item in left]
        dead = np.zeros(len(found), np.bool_) if never is None else never
        for ground in grounds:
            dead = dead | ground.dead
        kept = ~dead
        count = int(kept.sum())
        lists.add_table(first, 2 * found[kept, n_vars + skip : n_vars + n_body])
        place = np.cumsum(kept, dtype=np.int32) - 1 + first
        for ground in grounds:
            alive = kept[ground.rows]
            lists.add(place[ground.rows[alive]].astype(np.int32), ground.literals[alive])
        return kept, count

    def _is_left(self, item: object) -> bool:
        """Whether the joins did not see to a condition already."""
        if isinstance(item, Same):
            return False
        if isinstance(item, Atom):
            return not item.positive and not self.database.relations[item.predicate].static
        return True

    def _heads(self, rule: Rule, table: Ints, first: int, heads: Lists) -> None:
        """Collect what the instances of a rule add and delete."""
        n_adds = len(rule.heads)
        adds = table[:, table.shape[1] - n_adds :]
        if rule.kind == "action" and rule.heads and rule.heads[-1].predicate == mark(rule.name):
            adds = adds[:, :-1]
        heads.add_table(first, 2 * adds)
        columns = Bindings({v: table[:, i] for i, v in enumerate(rule.variables)}, len(table))
        for atom in rule.deletes:
            found = self.database.find(atom.predicate, [columns.column(t) for t in atom.args], len(table))
            rows = np.nonzero(found >= 0)[0].astype(np.int32)
            heads.add(rows + np.int32(first), 2 * found[rows] + 1)

    def _effects(self, marks: Ints, n_ops: int, heads: Lists) -> tuple[Ints, Lists]:
        """Owners and conditions of all effects; a conditional one is copied to each operator it is of."""
        owners = [np.arange(n_ops, dtype=np.int32)]
        conditions, total = Lists(self.budget), n_ops
        order = np.argsort(marks, kind="stable").astype(np.int32)
        sorted_marks = marks[order]
        for number, rule in enumerate(self.rules):
            if rule.kind != "effect":
                continue
            whole_conditions, whole_heads = Lists(self.budget), Lists(self.budget)
            kept, count = self._conditions(number, whole_conditions, 0, skip=1)
            table = self.tables[number][kept]
            self._heads(rule, table, 0, whole_heads)
            own = table[:, len(rule.variables)]
            low, high = np.searchsorted(sorted_marks, own), np.searchsorted(sorted_marks, own, side="right")
            copies = high - low
            source, within = repeated(copies)
            owners.append(order[low[source] + within])
            _copy(whole_conditions.finish(count), source, total, conditions)
            _copy(whole_heads.finish(count), source, total, heads)
            total += len(source)
        return np.concatenate(owners), conditions

    def _axioms(self) -> tuple[Ints, CSR]:
        """The axioms of derived predicates, then those of the new disjunctions."""
        heads, bodies, total = [], Lists(self.budget), 0
        for number, rule in enumerate(self.rules):
            if rule.kind == "axiom":
                kept, count = self._conditions(number, bodies, total)
                heads.append(self.tables[number][kept][:, -1])
                total += count
        # By now every residue has been ground: their axioms are complete.
        for new_heads, rows, literals in self.residues.axioms:
            heads.append(new_heads)
            bodies.add(rows + np.int32(total), literals)
            total += len(new_heads)
        return _joined(heads), bodies.finish(total)

    def _costs(self, rule: Rule, table: Ints) -> Floats:
        action = self.problem.domain.actions[rule.name]
        if self.problem.metric == "unit":
            return np.ones(len(table))
        if action.cost is None:
            return np.zeros(len(table))
        scope = {p.name: table[:, i] for i, p in enumerate(action.parameters)}
        costs = self.numbers.value(action.cost, scope, len(table))
        wrong = np.flatnonzero((costs < 0) | (costs > LARGEST_COST))
        if len(wrong):
            raise self._wrong_cost(action, table[wrong[0]], float(costs[wrong[0]]))
        return costs

    def _wrong_cost(self, action: Action, row: Ints, cost: float) -> Exception:
        names = self.residues.words.names
        step = " ".join([action.name, *(names[row[i]] for i in range(len(action.parameters)))])
        span = action.cost.span if action.cost is not None else None
        return error(
            "negative-cost" if cost < 0 else "cost-too-large",
            f"`({step})` costs {cost:g}, and costs "
            + ("must not be negative" if cost < 0 else f"are {LARGEST_COST:g} at most"),
            span or action.span,
            help=f"make every increase of `total-cost` zero or more, and {LARGEST_COST:g} at most",
        )


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)


def _copy(rows: CSR, source: Longs, first: int, lists: Lists) -> None:
    """Put row ``source[i]`` into row ``first + i`` of the lists."""
    copied = gather(rows, source)
    lists.add((first + owners_of(copied)).astype(np.int32), copied.items)
