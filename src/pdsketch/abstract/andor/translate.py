"""Expressions of a sketch as formulas over codes.

Connectives, quantifiers and derived predicates stay what they are. An expression over values (a blank, an
external function, a comparison) becomes a static relation over the codes of what it reads, which the model's
own answers fill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import final

import numpy as np
from torch import Tensor

from pdsketch.abstract.andor import sets
from pdsketch.abstract.andor.behaviour import UNCHANGED, Behaviour, CodeFunction, SampledRules
from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.corrections import Corrections, NetworkFunction, key_of
from pdsketch.abstract.andor.functions import (
    CodeAxis,
    CodeEvaluator,
    CodeInputs,
    CodeTable,
    Evaluate,
    NotAbstractableError,
    Tabulated,
    TooManyCombinationsError,
    own_column,
    tables_of,
)
from pdsketch.abstract.andor.sampled import SampleEvaluate, learn_sampled, lists_of
from pdsketch.abstract.andor.sets import ListFormulas
from pdsketch.abstract.andor.symbolic import (
    Case,
    Scope,
    Symbols,
    conjoined,
    disjoined,
    hint_of,
    variables_apart,
)
from pdsketch.abstract.written import written_out
from pdsketch.core import Bools, Longs
from pdsketch.lang import (
    BOOL,
    FALSE,
    TRUE,
    Apply,
    BlankCall,
    Domain,
    Each,
    Equal,
    Expr,
    Logic,
    ObjectType,
    Quantified,
    Update,
    Value,
    Variable,
    unfold,
    walk,
)
from pdsketch.tensor import Model


@final
class Translator:
    """Formulas over codes, for the expressions of one model.

    ``owner`` is the action or the derived predicate whose expressions are looked at; ``functions`` are the
    functions of the model that these call.
    """

    def __init__(self, model: Model, books: Codebooks) -> None:
        self.model = model
        self.domain: Domain = written_out(model)
        self.books = books
        self.symbols = Symbols(self.domain, books)
        self.evaluator = CodeEvaluator(model, books)
        self.corrections = Corrections(model, books)
        self.owner = ""
        self.functions: dict[tuple[str, Expr, Apply | None, int], CodeFunction] = {}
        self.behaviours: dict[str, Behaviour] = {}
        self._tables: dict[object, Tabulated | None] = {}
        self._sampled: dict[object, tuple[SampledRules, Behaviour]] = {}

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
                found += variables_apart([variable])
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
        inputs = CodeInputs(self.domain, self.books, self.symbols.fresh)
        replaced = inputs.replaced(expr)
        axes = self.evaluator.axes(inputs.found.values())
        node = self.evaluator.programs.value(replaced, BOOL, inputs.variables)
        hint = hint_of(expr)

        def answers(parameters: Mapping[str, Tensor], n: int) -> Longs:
            return self.evaluator.truths_on(parameters, n, node).astype(np.int64)[:, None]

        network = NetworkFunction(key_of(expr, None), tuple(axes), None, answers)
        evaluate = self.corrected(network)
        try:
            found = self.tabulated((expr, "truth"), axes, evaluate, network.key)
        except TooManyCombinationsError:
            return self._sampled_truth(expr, inputs, axes, evaluate, scope)
        (table,) = found.tables
        behaviour = behaviour_of(hint, found, table)
        self.note(CodeFunction(self.owner, expr, None, None, 0, behaviour, table, network=network))
        return self.symbols.holds(table, scope, hint, self.formulas(inputs, scope))

    def _sampled_truth(
        self,
        expr: Expr,
        inputs: CodeInputs,
        axes: Sequence[CodeAxis],
        evaluate: Evaluate,
        scope: Scope,
    ) -> Expr:
        """The same by rules that are learned from samples."""

        def results(rows: Longs, _elements: Longs, _held: Bools) -> Longs:
            return evaluate(rows)[:, 0]

        sampled, behaviour = self.sampled((expr, "truth"), hint_of(expr), axes, (), results)
        self.note(CodeFunction(self.owner, expr, None, None, 0, behaviour, sampled=sampled))
        return self._where(
            sampled, 1, ListFormulas(self.symbols, sampled, scope, self.formulas(inputs, scope))
        )

    @staticmethod
    def _where(sampled: SampledRules, meaning: int, formulas: ListFormulas) -> Expr:
        return formulas.where(sampled.meanings.index(meaning)) if meaning in sampled.meanings else FALSE

    def formulas(self, inputs: CodeInputs, scope: Scope) -> dict[Expr, Expr]:
        """The formulas of Boolean inputs, over codes."""
        return {e: self.truth(e, scope) for e, each in inputs.found.items() if each.type.is_bool}

    def corrected(self, network: NetworkFunction) -> Evaluate:
        """A function on rows of codes, with what is known to be otherwise."""

        def evaluate(rows: Longs) -> Longs:
            parts = [network.answers(*given) for given in self.evaluator.portions(network.axes, rows)]
            return self.corrections.applied(network, rows, np.concatenate(parts))

        return evaluate

    def correct(self) -> None:
        """Functions are to be asked again, because some were corrected."""
        self._tables.clear()

    def tabulated(
        self, key: object, axes: Sequence[CodeAxis], evaluate: Evaluate, name: str = ""
    ) -> Tabulated:
        """`tables_of`, computed once for each number of codes; ``name`` is that of its corrections.

        ``key`` is the function's identity, ``axes`` are the codes of its arguments, and ``evaluate`` computes
        it on rows of them.
        """
        whole = (key, _sizes(axes))
        if whole not in self._tables:
            evaluator = self.evaluator
            evaluator.not_finite = evaluator.off = evaluator.unseen = 0
            try:
                tables = tables_of(axes, evaluate)
            except TooManyCombinationsError:
                self._tables[whole] = None
                raise
            made = Tabulated(
                tables,
                evaluator.not_finite,
                evaluator.off,
                evaluator.unseen,
                self.corrections.count(name),
            )
            self._tables[whole] = made
            return made
        found = self._tables[whole]
        if found is None:
            raise TooManyCombinationsError
        # The expression is the same, and its inputs have other names now.
        return replace(
            found, tables=tuple(CodeTable(_renamed(t.axes, axes), t.results) for t in found.tables)
        )

    def sampled(
        self,
        key: object,
        name: str,
        axes: Sequence[CodeAxis],
        own: Sequence[CodeAxis],
        evaluate: SampleEvaluate,
    ) -> tuple[SampledRules, Behaviour]:
        """`learn_sampled`, computed once for each number of codes.

        ``key`` is the function's identity, ``name`` its name in messages; ``axes`` are the codes of its
        values, ``own`` those of an element of its set, and ``evaluate`` computes it on rows of both.
        """
        whole = (key, _sizes((*axes, *own)))
        if whole not in self._sampled:
            known = lists_of(self.model)
            found = learn_sampled(name, (axes, own), evaluate, self.books.seen, known)
            self._sampled[whole] = found
            return found
        rules, behaviour = self._sampled[whole]
        return replace(rules, axes=_renamed(rules.axes, axes), own=_renamed(rules.own, own)), behaviour

    def note(self, function: CodeFunction) -> None:
        """Remember a function, and how well it is represented."""
        self.functions[self.owner, function.expr, function.target, function.place] = function
        self.behaviours[function.behaviour.name] = function.behaviour

    # -- values --------------------------------------------------------------------

    def written(self, update: Update, scope: Scope) -> list[list[Case]]:
        """What an update writes: for each part of the target's type the cases; codes of -1 write nothing."""
        predicate = self.domain.predicates[update.target.predicate]
        value = update.value
        assert value is not None
        hint = f"{hint_of(value)}"
        if isinstance(value, BlankCall) and any(isinstance(a, Each) for a in value.args):
            return sets.written_by_set(self, update, value, predicate.type, scope)
        inputs = CodeInputs(self.domain, self.books, self.symbols.fresh)
        replaced = inputs.replaced(value)
        axes = self.evaluator.axes(inputs.found.values())
        node = self.evaluator.programs.value(replaced, predicate.type, inputs.variables)
        gate = None
        if update.condition == TRUE:
            gate = self.evaluator.programs.gate(update, replaced, inputs.variables)

        def answers(parameters: Mapping[str, Tensor], n: int) -> Longs:
            values = self.evaluator.run_on(parameters, n, node)
            codes = self.evaluator.coded(values, predicate.type, constant=not axes)
            if gate is not None:
                codes[~self.evaluator.truths_on(parameters, n, gate)] = UNCHANGED
            return codes

        network = NetworkFunction(key_of(value, predicate.type), tuple(axes), predicate.type, answers)
        evaluate = self.corrected(network)
        key = (value, "value", predicate.type, gate is None)
        try:
            found = self.tabulated(key, axes, evaluate, network.key)
        except TooManyCombinationsError:
            return self._sampled_cases(update, key, inputs, axes, evaluate, scope)
        for place, table in enumerate(found.tables):
            behaviour = behaviour_of(hint, found, table)
            written = (update.target, predicate.type, place)
            self.note(CodeFunction(self.owner, value, *written, behaviour, table, network=network))
        return [self.cases(table, self.formulas(inputs, scope)) for table in found.tables]

    def _sampled_cases(
        self,
        update: Update,
        key: object,
        inputs: CodeInputs,
        axes: Sequence[CodeAxis],
        evaluate: Evaluate,
        scope: Scope,
    ) -> list[list[Case]]:
        """The same by rules that are learned from samples: one case for each code that is written."""
        value, type_ = update.value, self.domain.predicates[update.target.predicate].type
        assert value is not None
        found = []
        for place in range(len(self.books.parts(type_))):
            own = own_column(axes, update.target, place)

            def results(
                rows: Longs, _e: Longs, _h: Bools, place: int = place, own: int | None = own
            ) -> Longs:
                codes = evaluate(rows)[:, place]
                return codes if own is None else np.where(codes == rows[:, own], UNCHANGED, codes)

            sampled, behaviour = self.sampled((key, place), hint_of(value), axes, (), results)
            self.note(
                CodeFunction(self.owner, value, update.target, type_, place, behaviour, sampled=sampled)
            )
            formulas = ListFormulas(self.symbols, sampled, scope, self.formulas(inputs, scope))
            found.append(self.listed_cases(sampled, formulas))
        return found

    def listed_cases(self, sampled: SampledRules, formulas: ListFormulas) -> list[Case]:
        """One case for each code that a list says is written."""
        written = [code for code in sampled.meanings if code >= 0]
        return [
            Case(self._where(sampled, code, formulas), (), CodeTable((), np.array(code))) for code in written
        ]

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


def behaviour_of(name: str, found: Tabulated, table: CodeTable) -> Behaviour:
    """A table says exactly what a function does; the combinations that matter count."""
    cases = int(table.results.size)
    counts = (found.not_finite, found.off, found.unseen, found.corrected)
    return Behaviour(name, True, 1.0, cases, *counts)


def _sizes(axes: Sequence[CodeAxis]) -> tuple[tuple[int, int], ...]:
    return tuple((len(axis.codes), len(axis.part.book) if axis.part else 2) for axis in axes)


def _renamed(kept: Sequence[CodeAxis], axes: Sequence[CodeAxis]) -> tuple[CodeAxis, ...]:
    """The axes that stand for some kept ones now."""
    by_place = {(a.input.expr, a.place): a for a in axes}
    return tuple(by_place[a.input.expr, a.place] for a in kept)
