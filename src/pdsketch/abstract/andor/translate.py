"""Expressions of a sketch as formulas over codes.

Connectives, quantifiers and derived predicates stay what they are. An expression over values (a blank, an
external function, a comparison) becomes a static relation over the codes of what it reads, which the model's
own answers fill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.functions import CodeAxis, Evaluator, Inputs, Table
from pdsketch.abstract.andor.symbolic import (
    Scope,
    Symbols,
    conjoined,
    disjoined,
    some,
)
from pdsketch.abstract.andor.tabulate import tabulate
from pdsketch.kernels.arrays import Bools, Longs
from pdsketch.lang.domain import Domain
from pdsketch.lang.rewrite import unfold
from pdsketch.lang.terms import (
    FALSE,
    TRUE,
    Apply,
    BlankCall,
    Each,
    Equal,
    Expr,
    Logic,
    Quantified,
    Update,
    Value,
    Variable,
    walk,
)
from pdsketch.lang.types import BOOL, ObjectType, ValueType
from pdsketch.tensor.compile.node import Node
from pdsketch.tensor.detached import HELD
from pdsketch.tensor.model import Model

AGREEMENT: Final = 0.995
"""A set's function is taken to depend on one element at a time if it does so in this part of random sets."""

_SETS: Final = 2048
_ELEMENTS: Final = 4
"""Random sets on which that is tried, and their size at most."""


class NotAbstractableError(Exception):
    """An expression has no form over codes; says which, and why."""


@final
@dataclass(frozen=True, slots=True)
class Case:
    """One way in which a value comes about: where ``condition`` holds, it has the codes of ``table``."""

    condition: Expr
    variables: tuple[Variable, ...]
    table: Table


@final
@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a function of the model is represented: exactly, or how often it agreed where it was tried."""

    name: str
    exact: bool
    agreement: float
    cases: int


@final
class Translator:
    """Formulas over codes, for the expressions of one model."""

    def __init__(self, model: Model, books: Codebooks) -> None:
        self.model = model
        self.domain: Domain = model.domain
        self.books = books
        self.symbols = Symbols(model.domain, books)
        self.evaluator = Evaluator(model, books)
        self.behaviours: dict[str, Behaviour] = {}
        self._tables: dict[object, tuple[list[Table], bool]] = {}

    # -- truth ---------------------------------------------------------------------

    def truth(self, expr: Expr, scope: Scope) -> Expr:
        """The formula over codes of a Boolean expression."""
        match expr:
            case Value():
                return TRUE if expr.value else FALSE
            case Logic(op="not"):
                return self.symbols.denied(self.truth(expr.args[0], scope))
            case Logic(op="implies"):
                left, right = (self.truth(a, scope) for a in expr.args)
                return disjoined([self.symbols.denied(left), right])
            case Logic():
                join = conjoined if expr.op == "and" else disjoined
                return join([self.truth(a, scope) for a in expr.args])
            case Quantified():
                return self._quantified(expr, scope)
            case Equal() if isinstance(expr.left.type, ObjectType):
                return expr
            case Equal() if expr.left.type == BOOL:
                left, right = self.truth(expr.left, scope), self.truth(expr.right, scope)
                both = conjoined([left, right]), conjoined([self.symbols.denied(left), self.symbols.denied(right)])
                return disjoined(both)
            case Apply():
                return self._atom(expr, scope)
            case BlankCall() if any(isinstance(a, Each) for a in expr.args):
                return self._of_set(expr, scope)
            case _:
                return self._leaf(expr, scope)

    def _quantified(self, expr: Quantified, scope: Scope) -> Expr:
        variables, inner = self.bound(expr.variables, scope)
        body = self.truth(expr.body, inner)
        return Quantified(expr.op, variables, body) if body not in (TRUE, FALSE) or expr.variables else body

    def bound(self, variables: Sequence[Variable], scope: Scope) -> tuple[tuple[Variable, ...], Scope]:
        """Variables with code variables in the place of those over values."""
        found, inner = list[Variable](), dict(scope)
        for variable in variables:
            if isinstance(variable.type, ObjectType):
                found.append(variable)
                continue
            if variable.type.is_bool or len(self.books.parts(variable.type)) != 1:
                raise NotAbstractableError(f"`{variable.name}` ranges over values of several parts")
            self.books.know_choices(variable.type)
            inner[variable.name] = tuple(
                self.symbols.variable(part.book) for part in self.books.parts(variable.type)
            )
            found += inner[variable.name]
        return tuple(found), inner

    def _atom(self, atom: Apply, scope: Scope) -> Expr:
        predicate = self.domain.predicates[atom.predicate]
        over_objects = all(isinstance(a.type, ObjectType) for a in atom.args)
        if predicate.is_state or (predicate.role == "derived" and over_objects):
            return atom
        if predicate.role == "derived":
            return self.truth(unfold(atom, self.domain, self.symbols.fresh), scope)
        if predicate.role == "raw":
            raise NotAbstractableError(f"`{atom.predicate}` is read by the encoder alone")
        return self._leaf(atom, scope)

    def _leaf(self, expr: Expr, scope: Scope) -> Expr:
        """An expression over values: its truth for all codes of what it reads."""
        if any(isinstance(node, Each) for node in walk(expr)):
            raise NotAbstractableError("a set is given to a function inside of another")
        inputs = Inputs(self.domain, self.symbols.fresh)
        replaced = inputs.replaced(expr)
        axes = self.evaluator.axes(inputs.found.values())
        node = self.evaluator.programs.value(replaced, BOOL, inputs.variables)
        hint = _hint(expr)

        def evaluate(rows: Longs) -> Longs:
            return self.evaluator.run(axes, rows, node).numpy().astype(np.int64)[:, None]

        (table,), exact = self._tabulated((expr, "truth"), axes, evaluate)
        self._note(hint, exact, 1.0, table)
        return self.symbols.holds(table, scope, hint, self._formulas(inputs, scope))

    def _formulas(self, inputs: Inputs, scope: Scope) -> dict[Expr, Expr]:
        """The formulas of Boolean inputs, over codes."""
        return {e: self.truth(e, scope) for e, each in inputs.found.items() if each.type.is_bool}

    def _tabulated(
        self, key: object, axes: Sequence[CodeAxis], evaluate: Callable[[Longs], Longs]
    ) -> tuple[list[Table], bool]:
        whole = (key, tuple((len(axis.codes), len(axis.part.book) if axis.part else 2) for axis in axes))
        found = self._tables.get(whole)
        if found is None:
            found = self._tables[whole] = tabulate(axes, evaluate)
            return found
        # The expression is the same, and its inputs have other names now.
        by_place = {(a.input.expr, a.place): a for a in axes}
        tables = [
            Table(tuple(by_place[a.input.expr, a.place] for a in t.axes), t.results) for t in found[0]
        ]
        return tables, found[1]

    def _note(self, name: str, exact: bool, agreement: float, table: Table) -> None:
        self.behaviours[name] = Behaviour(name, exact, agreement, int(table.results.size))

    # -- values --------------------------------------------------------------------

    def written(self, update: Update, scope: Scope) -> list[list[Case]]:
        """What an update writes: for each part of the target's type the cases; codes of -1 write nothing."""
        predicate = self.domain.predicates[update.target.predicate]
        value = update.value
        assert value is not None
        hint = f"{_hint(value)}"
        if isinstance(value, BlankCall) and any(isinstance(a, Each) for a in value.args):
            return self._written_by_set(update, value, predicate.type, scope)
        inputs = Inputs(self.domain, self.symbols.fresh)
        replaced = inputs.replaced(value)
        axes = self.evaluator.axes(inputs.found.values())
        node = self.evaluator.programs.value(replaced, predicate.type, inputs.variables)
        gate = None
        if update.condition == TRUE:
            gate = self.evaluator.programs.gate(update, replaced, inputs.variables)

        def evaluate(rows: Longs) -> Longs:
            values = self.evaluator.run(axes, rows, node)
            codes = self.evaluator.coded(values, predicate.type, constant=not axes)
            if gate is not None:
                codes[~self.evaluator.run(axes, rows, gate).numpy().astype(np.bool_)] = -1
            return codes

        tables, exact = self._tabulated((value, "value", predicate.type, gate is None), axes, evaluate)
        for table in tables:
            self._note(hint, exact, 1.0, table)
        return [self._cases(table, self._formulas(inputs, scope)) for table in tables]

    def _cases(self, table: Table, bools: dict[Expr, Expr]) -> list[Case]:
        """A table without Boolean axes: one case for each combination of their truths."""
        for i, axis in enumerate(table.axes):
            if axis.is_bool:
                rest = (*table.axes[:i], *table.axes[i + 1 :])
                formula = bools[axis.input.expr]
                found = []
                for sign in (0, 1):
                    literal = formula if sign else self.symbols.denied(formula)
                    for case in self._cases(Table(rest, table.results.take(sign, axis=i)).reduced(), bools):
                        condition = conjoined([literal, case.condition])
                        if condition != FALSE:
                            found.append(Case(condition, case.variables, case.table))
                return found
        return [Case(TRUE, (), table)]

    # -- functions of sets -----------------------------------------------------------

    def _of_set(self, expr: BlankCall, scope: Scope) -> Expr:
        function = _SetFunction(self, expr, scope)

        def evaluate(rows: Longs, elements: Longs, held: Bools) -> Longs:
            return function.run(rows, elements, held).numpy().astype(np.int64)[:, None]

        (base,), (flips,) = self._one_at_a_time(expr, function, evaluate)
        starts = self.symbols.holds(base, scope, function.hint, function.bools)
        (flip,) = flips
        turned = function.element(flip, scope)
        if starts == TRUE:
            return self.symbols.denied(turned)
        if starts == FALSE:
            return turned
        return disjoined([conjoined([starts, self.symbols.denied(turned)]), conjoined([self.symbols.denied(starts), turned])])

    def _written_by_set(
        self, update: Update, value: BlankCall, type_: ValueType, scope: Scope
    ) -> list[list[Case]]:
        function = _SetFunction(self, value, scope, type_)
        gated = update.condition == TRUE and value.blank in self.evaluator.programs.gated

        def evaluate(rows: Longs, elements: Longs, held: Bools) -> Longs:
            codes = self.evaluator.coded(function.run(rows, elements, held), type_, constant=False)
            if gated:
                codes[~function.run(rows, elements, held, gate=True).numpy().astype(np.bool_)] = -1
            return codes

        bases, flips = self._one_at_a_time(value, function, evaluate)
        found = []
        for base, ways in zip(bases, flips, strict=True):
            (changes,) = ways
            moved = function.moved(changes)
            if moved is None:
                found.append(self._cases(base, function.bools))
                continue
            differs = Table(changes.axes, changes.results >= -1)
            still = self.symbols.denied(function.element(differs, scope))
            cases = [
                Case(conjoined([still, c.condition]), c.variables, c.table)
                for c in self._cases(base, function.bools)
            ]
            cases.append(Case(function.condition(scope), function.variables, changes))
            found.append(cases)
        return found

    def _one_at_a_time(
        self, expr: Expr, function: _SetFunction, evaluate: Callable[[Longs, Longs, Bools], Longs]
    ) -> tuple[list[Table], list[tuple[Table, ...]]]:
        """The function of the empty set, and how one element changes it; checked on sets of several.

        Codes of -2 in the second tables: the element changes nothing.
        """
        outer, inner = function.axes, function.own

        def empty(rows: Longs) -> Longs:
            elements = np.zeros((len(rows), 1, len(inner)), np.int64)
            for i, axis in enumerate(inner):
                elements[:, :, i] = axis.codes[0] if len(axis.codes) else 0
            return evaluate(rows, elements, np.zeros((len(rows), 1), np.bool_))

        def single(rows: Longs) -> Longs:
            ours, theirs = rows[:, : len(outer)], rows[:, len(outer) :]
            found = evaluate(ours, theirs[:, None], np.ones((len(rows), 1), np.bool_))
            return np.where(found == empty(ours), -2, found)

        bases, exact = self._tabulated((expr, "empty"), outer, empty)
        flips, exactly = self._tabulated((expr, "single"), [*outer, *inner], single)
        truth = function.type is None
        if truth:
            flips = [Table(t.axes, t.results >= -1) for t in flips]
        agreement = self._agreement(function, evaluate)
        self._note(function.hint, False, agreement, flips[0])
        if agreement < AGREEMENT:
            raise NotAbstractableError(
                f"`{function.hint}` depends on several elements of a set together "
                f"(one at a time explains {agreement:.3f} of random sets)"
            )
        return bases, [(t,) for t in flips]

    def _agreement(
        self, function: _SetFunction, evaluate: Callable[[Longs, Longs, Bools], Longs]
    ) -> float:
        """How often the function of random sets is what one of the elements makes of it, or the empty set."""
        rng = np.random.default_rng(0)
        outer, inner = function.axes, function.own
        if not inner or any(not len(axis.codes) for axis in (*outer, *inner)):
            return 1.0
        rows = np.stack([rng.choice(a.codes, _SETS) for a in outer], -1) if outer else np.zeros((_SETS, 0), np.int64)
        elements = np.stack([rng.choice(a.codes, (_SETS, _ELEMENTS)) for a in inner], -1)
        held = np.arange(_ELEMENTS)[None] < rng.integers(2, _ELEMENTS + 1, (_SETS, 1))
        whole = evaluate(rows, elements, held)
        empty = evaluate(rows, elements[:, :1], np.zeros((_SETS, 1), np.bool_))
        agreed = np.zeros(whole.shape, np.bool_)
        changed = np.zeros(whole.shape, np.bool_)
        for i in range(_ELEMENTS):
            one = evaluate(rows, elements[:, i : i + 1], np.ones((_SETS, 1), np.bool_))
            here = held[:, i : i + 1] & (one != empty)
            changed |= here
            agreed |= here & (one == whole)
        agreed |= ~changed & (whole == empty)
        return float(agreed.all(1).mean())


@final
class _SetFunction:
    """A blank that is given a set: the axes of its values, those of an element, and its program."""

    def __init__(
        self, translator: Translator, expr: BlankCall, scope: Scope, type_: ValueType | None = None
    ) -> None:
        sets = [a for a in expr.args if isinstance(a, Each)]
        if len(sets) != 1:
            raise NotAbstractableError(f"`{expr.blank}` is given several sets")
        self._t = translator
        self.type = type_
        self.hint = _hint(expr)
        self.set = sets[0]
        symbols, evaluator = translator.symbols, translator.evaluator
        self.inputs = Inputs(translator.domain, symbols.fresh)
        self.elements = Inputs(translator.domain, symbols.fresh)
        replaced = [None if isinstance(a, Each) else self.inputs.replaced(a) for a in expr.args]
        body = self.elements.replaced(self.set.body)
        self.axes = evaluator.axes(self.inputs.found.values())
        self.own = evaluator.axes(self.elements.found.values())
        self.bools = translator._formulas(self.inputs, scope)
        self.variables, self._inner = translator.bound(self.set.variables, scope)
        self._condition: Expr | None = None
        self._expr, self._replaced, self._body = expr, replaced, body

    def condition(self, scope: Scope) -> Expr:
        """When an object is in the set."""
        if self._condition is None:
            inner = {**scope, **self._inner}
            self._condition = self._t.truth(self.set.condition, inner)
        return self._condition

    def element(self, table: Table, scope: Scope) -> Expr:
        """Some element of the set has codes of which a table is true."""
        bools = {**self.bools, **self._t._formulas(self.elements, {**scope, **self._inner})}
        held = self._t.symbols.holds(table, {**scope, **self._inner}, self.hint, bools)
        return some(self.variables, conjoined([self.condition(scope), held]))

    def moved(self, changes: Table) -> Table | None:
        """The changes of one element; None if there are none."""
        return changes if bool((changes.results >= -1).any()) else None

    def run(self, rows: Longs, elements: Longs, held: Bools, *, gate: bool = False) -> Tensor:
        """The function on rows of codes with sets of elements ``[n, m, axes]``."""
        evaluator = self._t.evaluator
        n, m = held.shape
        flat = elements.reshape(n * m, -1)
        given = {
            name: tensor[0].reshape(n, m, *tensor.shape[2:])
            for name, tensor in evaluator.parameters(self.own, flat).items()
        }
        given[HELD] = torch.from_numpy(held).to(self._t.evaluator.programs.device)
        node = self._node(m, gate)
        return evaluator.run(self.axes, rows, node, given)

    def _node(self, size: int, gate: bool) -> Node:
        return self._t.evaluator.programs.of_sets(
            self._expr,
            self._replaced,
            self._body,
            self.inputs.variables,
            self.elements.variables,
            size,
            None if gate else self.type or BOOL,
        )


def _hint(expr: Expr) -> str:
    """A short name for what an expression computes."""
    for node in walk(expr):
        if isinstance(node, BlankCall):
            kind, owner, blank = node.blank.split("::")
            del kind
            return f"{owner}.{blank}"
        if isinstance(node, Apply):
            return node.predicate
    return "test"
