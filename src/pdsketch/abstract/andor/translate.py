"""Expressions of a sketch as formulas over codes.

Connectives, quantifiers and derived predicates stay what they are. An expression over values (a blank, an
external function, a comparison) becomes a static relation over the codes of what it reads, which the model's
own answers fill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from pdsketch.abstract.andor import sets
from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.functions import (
    CodeAxis,
    CodeEvaluator,
    CodeInputs,
    CodeTable,
    NotAbstractableError,
)
from pdsketch.abstract.andor.symbolic import (
    Case,
    Scope,
    Symbols,
    conjoined,
    disjoined,
    hint_of,
)
from pdsketch.abstract.andor.tabulate import tabulate
from pdsketch.kernels.arrays import Longs
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
from pdsketch.lang.types import BOOL, ObjectType
from pdsketch.tensor.model import Model


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
        self.evaluator = CodeEvaluator(model, books)
        self.behaviours: dict[str, Behaviour] = {}
        self._tables: dict[object, tuple[list[CodeTable], bool]] = {}

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
                both = (
                    conjoined([left, right]),
                    conjoined([self.symbols.denied(left), self.symbols.denied(right)]),
                )
                return disjoined(both)
            case Apply():
                return self._atom(expr, scope)
            case BlankCall() if any(isinstance(a, Each) for a in expr.args):
                return sets.truth_of_set(self, expr, scope)
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
        inputs = CodeInputs(self.domain, self.symbols.fresh)
        replaced = inputs.replaced(expr)
        axes = self.evaluator.axes(inputs.found.values())
        node = self.evaluator.programs.value(replaced, BOOL, inputs.variables)
        hint = hint_of(expr)

        def evaluate(rows: Longs) -> Longs:
            return self.evaluator.run(axes, rows, node).numpy().astype(np.int64)[:, None]

        (table,), exact = self.tabulated((expr, "truth"), axes, evaluate)
        self.note(hint, exact, 1.0, table)
        return self.symbols.holds(table, scope, hint, self.formulas(inputs, scope))

    def formulas(self, inputs: CodeInputs, scope: Scope) -> dict[Expr, Expr]:
        """The formulas of Boolean inputs, over codes."""
        return {e: self.truth(e, scope) for e, each in inputs.found.items() if each.type.is_bool}

    def tabulated(
        self, key: object, axes: Sequence[CodeAxis], evaluate: Callable[[Longs], Longs]
    ) -> tuple[list[CodeTable], bool]:
        """`tabulate`, computed once for each number of codes."""
        whole = (key, tuple((len(axis.codes), len(axis.part.book) if axis.part else 2) for axis in axes))
        found = self._tables.get(whole)
        if found is None:
            found = self._tables[whole] = tabulate(axes, evaluate)
            return found
        # The expression is the same, and its inputs have other names now.
        by_place = {(a.input.expr, a.place): a for a in axes}
        tables = [
            CodeTable(tuple(by_place[a.input.expr, a.place] for a in t.axes), t.results) for t in found[0]
        ]
        return tables, found[1]

    def note(self, name: str, exact: bool, agreement: float, table: CodeTable) -> None:
        """Remember how well a function is represented."""
        self.behaviours[name] = Behaviour(name, exact, agreement, int(table.results.size))

    # -- values --------------------------------------------------------------------

    def written(self, update: Update, scope: Scope) -> list[list[Case]]:
        """What an update writes: for each part of the target's type the cases; codes of -1 write nothing."""
        predicate = self.domain.predicates[update.target.predicate]
        value = update.value
        assert value is not None
        hint = f"{hint_of(value)}"
        if isinstance(value, BlankCall) and any(isinstance(a, Each) for a in value.args):
            return sets.written_by_set(self, update, value, predicate.type, scope)
        inputs = CodeInputs(self.domain, self.symbols.fresh)
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

        tables, exact = self.tabulated((value, "value", predicate.type, gate is None), axes, evaluate)
        for table in tables:
            self.note(hint, exact, 1.0, table)
        return [self.cases(table, self.formulas(inputs, scope)) for table in tables]

    def cases(self, table: CodeTable, bools: dict[Expr, Expr]) -> list[Case]:
        """A table without Boolean axes: one case for each combination of their truths."""
        results: Longs = table.results.astype(np.int64)
        for i, axis in enumerate(table.axes):
            if axis.is_bool:
                rest = (*table.axes[:i], *table.axes[i + 1 :])
                formula = bools[axis.input.expr]
                found = []
                for sign in (0, 1):
                    literal = formula if sign else self.symbols.denied(formula)
                    for case in self.cases(
                        CodeTable(rest, results.take([sign], axis=i).squeeze(i)).reduced(), bools
                    ):
                        condition = conjoined([literal, case.condition])
                        if condition != FALSE:
                            found.append(Case(condition, case.variables, case.table))
                return found
        return [Case(TRUE, (), table)]
