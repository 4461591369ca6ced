"""Expressions of a sketch as formulas over codes.

Connectives, quantifiers and derived predicates stay what they are. An expression over values (a blank, an
external function, a comparison) becomes a static relation over the codes of what it reads, which the model's
own answers fill.

Rules are corrected by what the model was seen to do, where a code stands for values that behave differently.
A function over codes is asked for the values that its codes stand for. Where a plan shows that it gives
something else for the values of a state, that result is put in the place of the other for these codes, and
remembered with the model (counterexample-guided refinement; Clarke et al., 2003). Results that contradict
each other correct nothing: then the codes are too coarse, and what they stand for counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import product
from math import prod
from typing import Any, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.abstraction import with_names
from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.functions import (
    SAMPLES,
    Behaviour,
    CodeAxis,
    CodeEvaluator,
    CodeFunction,
    CodeInput,
    CodeInputs,
    CodeTable,
    Counts,
    Evaluate,
    NotAbstractableError,
    Tabulated,
    TooManyCombinationsError,
    tables_of,
)
from pdsketch.abstract.andor.model_function import ModelFunction
from pdsketch.abstract.andor.symbolic import Case, Scope, Symbols, conjoined, disjoined, variables_apart
from pdsketch.abstract.written import BlankWriter, NotWrittenError, truth_of
from pdsketch.core import Longs
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
    ValueType,
    Variable,
    free_variables,
    unfold,
    walk,
)
from pdsketch.tensor import CORRECTIONS, ENTRIES, WEIGHTS, Model, StateBatch

MOST: Final = 1024
"""Corrections that a model remembers; then the oldest go. Set by hand."""

Numbers = tuple[tuple[float, ...], ...]
"""Codes as the numbers that they stand for; a truth is 0 or 1, and nothing is written: ``()``."""


@final
class Corrections:
    """The corrections of a model's functions: for codes of their axes, other results.

    An entry whose results contradicted each other is None.
    """

    def __init__(self, model: Model, books: Codebooks) -> None:
        self._model = model
        self._books = books
        self._entries: dict[tuple[str, Numbers], Numbers | None] = {}
        kept = model.notes.get(CORRECTIONS, {})
        if kept and kept.get(WEIGHTS) == _digest(model):
            for key, given, result in kept[ENTRIES]:
                self._entries[key, _tuples(given)] = None if result is None else _tuples(result)

    def count(self, key: str) -> int:
        """How many cases of a function are corrected."""
        return sum(own == key and result is not None for (own, _), result in self._entries.items())

    def applied(self, function: ModelFunction, rows: Longs, results: Longs) -> Longs:
        """The results of a function on rows of codes with its corrections in their place."""
        for (own, given), right in self._entries.items():
            if own != function.key or right is None or len(given) != len(function.axes):
                continue
            codes = [_code(axis, numbers) for axis, numbers in zip(function.axes, given, strict=True)]
            result = self._coded(function.type, right)
            if None not in codes and None not in result and len(result) == results.shape[1]:
                results[(rows == np.array(codes, np.int64)).all(1)] = np.array(result, np.int64)
        return results

    def add(self, function: ModelFunction, row: Longs, result: Longs) -> bool:
        """Correct one case; False where it was corrected otherwise before."""
        given = tuple(_numbers(axis, int(code)) for axis, code in zip(function.axes, row, strict=True))
        right = self._values(function.type, result.tolist())
        known = self._entries.get((function.key, given), right)
        agrees = known == right
        self._entries[function.key, given] = right if agrees else None
        while len(self._entries) > MOST:
            del self._entries[next(iter(self._entries))]
        self._remember()
        return agrees

    def _remember(self) -> None:
        listed = [
            [key, [*map(list, given)], None if right is None else [*map(list, right)]]
            for (key, given), right in self._entries.items()
        ]
        self._model.notes[CORRECTIONS] = {WEIGHTS: _digest(self._model), ENTRIES: listed}

    def _values(self, type_: ValueType | None, codes: Sequence[int]) -> Numbers:
        if type_ is None:
            return tuple((float(code),) for code in codes)
        books = [part.book for part in self._books.parts(type_)]
        return tuple(
            tuple(book.values[code].tolist()) if code >= 0 else ()
            for book, code in zip(books, codes, strict=True)
        )

    def _coded(self, type_: ValueType | None, values: Numbers) -> list[int | None]:
        """The codes that results are now; None: there is none."""
        if type_ is None:
            return [int(numbers[0]) for numbers in values]
        parts = self._books.parts(type_)
        found: list[int | None] = []
        for part, numbers in zip(parts, values, strict=False):
            near = np.array([numbers]) if len(numbers) == len(part.dimensions) else None
            if near is None:
                found.append(-1 if not numbers else None)
            else:
                code = int(part.book.nearest(near)[0] if part.book.fixed else part.book.admit(near)[0])
                found.append(code if part.book.is_near(near)[0] else None)
        return found


def _numbers(axis: CodeAxis, code: int) -> tuple[float, ...]:
    return (float(code),) if axis.part is None else tuple(axis.part.book.values[code].tolist())


def _code(axis: CodeAxis, numbers: tuple[float, ...]) -> int | None:
    if axis.part is None:
        return int(numbers[0])
    book = axis.part.book
    if len(numbers) != len(axis.part.dimensions) or not book.is_near(np.array([numbers]))[0]:
        return None
    return int(book.nearest(np.array([numbers]))[0])


def _tuples(listed: Sequence[Sequence[float]]) -> Numbers:
    return tuple(tuple(map(float, numbers)) for numbers in listed)


def _digest(model: Model) -> str:
    """What the weights are: those of other ones are not corrected."""
    digest = sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


# Where functions over codes say something else than the model does in a state.

WrongCase = tuple[ModelFunction, Longs, Longs]
"""A function, the codes on its axes, and its results there."""


def counter_examples(
    translator: Translator,
    state: StateBatch,
    owners: Collection[str],
    arguments: Mapping[str, Any],
    names: Mapping[str, str],
) -> list[WrongCase]:
    """The cases that one state shows to be wrong, of functions of some actions and derived predicates.

    ``owners`` are the names of these actions and predicates, whose functions ``translator`` has put into
    rules; ``state`` is a batch of one, encoded. ``arguments`` are those of the action's parameters: objects
    and values. ``names`` are the objects of the state by the names that formulas have for them.
    """
    known = translator.functions.values()
    asked = {f.function.key: f.function for f in known if f.owner in owners and f.function.set is None}
    found = []
    for function in asked.values():
        inputs = list(dict.fromkeys(axis.input for axis in function.axes))
        given = _values(translator.model, state, inputs, arguments, names)
        if given is None:
            continue
        n = len(next(iter(given.values()))) if given else 1
        columns = [_column(axis, given[axis.input.variable.name]) for axis in function.axes]
        rows = np.stack(columns, -1) if columns else np.zeros((n, 0), np.int64)
        device = translator.evaluator.programs.device
        said = function.results(rows)
        done = function.answers({name: values[None].to(device) for name, values in given.items()}, n)
        differ = np.flatnonzero((said != done).any(1))
        cases = {(*rows[i].tolist(), *done[i].tolist()): i for i in differ.tolist()}
        found += [(function, rows[i], done[i]) for i in cases.values()]
    return found


def _values(
    model: Model,
    state: StateBatch,
    inputs: Sequence[CodeInput],
    arguments: Mapping[str, Any],
    names: Mapping[str, str],
) -> dict[str, Tensor] | None:
    """The values of inputs in a state, ``[n, *shape]`` each, for all objects; None: they are not known."""
    engine, universe = model.engine, state.universe(0)
    read = [node for each in inputs for node in walk(each.expr) if isinstance(node, Variable)]
    free = {name for each in inputs for name in free_variables(each.expr)}
    objects = {v.name: v for v in read if v.name in free and isinstance(v.type, ObjectType)}
    members = [universe.members(v.type) for v in objects.values() if isinstance(v.type, ObjectType)]
    n = prod(map(len, members))
    if n > SAMPLES:  # as many as are looked at elsewhere
        return None
    rows = product(*members)
    fits = [all(arguments.get(v, o) == o for v, o in zip(objects, row, strict=True)) for row in rows]
    kept = torch.tensor([i for i, fit in enumerate(fits) if fit], dtype=torch.int64)
    found, run = {}, engine.open(state)
    for each in inputs:
        if isinstance(each.expr, Variable):
            if each.expr.name not in arguments:
                return None
            value = torch.as_tensor(arguments[each.expr.name])
            found[each.variable.name] = value.expand(len(kept), *value.shape)
            continue
        table = engine.table(run, with_names(each.expr, names), list(objects.values()))[0]
        found[each.variable.name] = table.reshape(n, *table.shape[len(members) :]).cpu()[kept]
    return found


def _column(axis: CodeAxis, values: Tensor) -> Longs:
    """The codes of values on an axis."""
    if axis.part is None:
        return (values.reshape(-1) > 0.5).numpy().astype(np.int64)
    numbers = values.double().reshape(len(values), -1).numpy()
    return axis.part.book.nearest(numbers[:, list(axis.part.dimensions)])


def is_guessed(model: Model) -> bool:
    """Whether preconditions of a model call blanks whose forms have rivals."""
    actions, analysis = model.domain.actions.values(), model.domain.analysis
    return any(model.blanks.guesses(analysis.blanks(action.precondition)) for action in actions)


@final
class Translator:
    """Formulas over codes, for the expressions of one model.

    ``owner`` is the action or the derived predicate whose expressions are looked at; ``functions`` are the
    functions of the model that these call.
    """

    def __init__(self, model: Model, books: Codebooks) -> None:
        self.model = model
        self.domain: Domain = model.domain
        self._writer = BlankWriter(model)
        self.books = books
        self.symbols = Symbols(self.domain, books)
        self.evaluator = CodeEvaluator(model, books)
        self.corrections = Corrections(model, books)
        self.owner = ""
        self.functions: dict[tuple[str, Expr, Apply | None, int], CodeFunction] = {}
        self.behaviours: dict[str, Behaviour] = {}
        self._tables: dict[object, Tabulated | None] = {}

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
            case BlankCall():
                return self._blank(expr, scope)
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

    def _blank(self, call: BlankCall, scope: Scope) -> Expr:
        """A blank: a form of sets, and what few truths decide, are formulas; all else is tabulated."""
        formula = self._writer.formula(call)
        if formula is call or self.is_table(call, scope):
            return self._leaf(call, scope)
        return self.truth(formula, scope)

    def is_table(self, call: BlankCall, scope: Scope, update: Update | None = None) -> bool:
        """Whether a function that is a formula, too, is tabulated.

        It is one relation then. Its formula compares numbers one by one: on a model of rooms that was learned
        from 1,000 demonstrations, the task of all these comparisons did not fit into memory.
        """
        if any(isinstance(a, Each) for a in call.args) or all(a.type == BOOL for a in call.args):
            return False
        return ModelFunction(self, call, scope, update).has_tables

    def _leaf(self, expr: Expr, scope: Scope) -> Expr:
        """An expression over values: its truth for all codes of what it reads."""
        return ModelFunction(self, expr, scope).truth()

    def formulas(self, inputs: CodeInputs, scope: Scope) -> dict[Expr, Expr]:
        """The formulas of Boolean inputs, over codes."""
        return {e: self.truth(e, scope) for e, each in inputs.found.items() if each.type.is_bool}

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
            counts = evaluator.counts = Counts(corrected=self.corrections.count(name))
            try:
                tables = tables_of(axes, evaluate)
            except TooManyCombinationsError:
                self._tables[whole] = None
                raise
            made = self._tables[whole] = Tabulated(tables, counts)
            return made
        found = self._tables[whole]
        if found is None:
            raise TooManyCombinationsError
        # The expression is the same, and its inputs have other names now.
        return replace(
            found, tables=tuple(CodeTable(_renamed(t.axes, axes), t.results) for t in found.tables)
        )

    def note(self, function: CodeFunction) -> None:
        """Remember a function, and how well it is represented."""
        own = function.function
        self.functions[self.owner, own.expr, own.target, function.place] = function
        self.behaviours[function.behaviour.name] = function.behaviour

    # -- certainty -------------------------------------------------------------------

    def surely(self, expr: Expr, scope: Scope, holds: bool = True) -> Expr:
        """The formula over codes of where an expression surely holds or, not ``holds``, surely does not.

        Forms and all their rivals agree there. What an action needs surely is the safe end of its
        precondition: plans within it rest on no guess.
        """
        if not self.model.blanks.guesses(self.domain.analysis.blanks(expr)):
            found = self.truth(expr, scope)
            return found if holds else self.symbols.denied(found)
        match expr:
            case Logic(op="not"):
                return self.surely(expr.args[0], scope, not holds)
            case Logic():
                signs = [not holds, holds] if expr.op == "implies" else [holds] * len(expr.args)
                parts = [self.surely(part, scope, sign) for part, sign in zip(expr.args, signs, strict=True)]
                return conjoined(parts) if (expr.op == "and") == holds else disjoined(parts)
            case Quantified():
                variables, inner = self.bound(expr.variables, scope)
                op = expr.op if holds else "forall" if expr.op == "exists" else "exists"
                return Quantified(op, variables, self.surely(expr.body, inner, holds))
            case Apply() if self.domain.predicates[expr.predicate].role == "derived":
                if expr.predicate not in self.domain.recursive:
                    return self.surely(unfold(expr, self.domain, self.symbols.fresh), scope, holds)
            case BlankCall() if (said := self._rivals(expr)) and not self.is_table(expr, scope):
                every = [self.truth(formula, scope) for formula in said]
                return conjoined(every if holds else map(self.symbols.denied, every))
            case _:
                pass
        truth = self.truth(expr, scope)
        plain = truth if holds else self.symbols.denied(truth)
        if any(isinstance(node, Each) for node in walk(expr)):
            return plain
        return conjoined([plain, ModelFunction(self, expr, scope, sure=holds).truth()])

    def _rivals(self, call: BlankCall) -> list[Expr]:
        """What the form of a blank and its rivals say of what it is given; none: they have no formulas."""
        network = self.model.blanks.network(call.blank)
        form = getattr(network, "form", None)
        forms = [] if form is None else [form, *getattr(network, "rivals", ())]
        try:
            return [truth_of(each, call.args, self.symbols.fresh) for each in forms]
        except NotWrittenError:
            return []

    # -- values --------------------------------------------------------------------

    def written(self, update: Update, scope: Scope) -> list[list[Case]]:
        """What an update writes: for each part of the target's type the cases; codes of -1 write nothing."""
        value, type_ = update.value, self.domain.predicates[update.target.predicate].type
        assert value is not None
        written = self._writer.cases(value) if isinstance(value, BlankCall) else None
        if written is None or not isinstance(value, BlankCall) or self.is_table(value, scope, update):
            return ModelFunction(self, value, scope, update).cases()
        found: list[list[Case]] = [[] for _ in self.books.parts(type_)]
        for when, own in written:
            condition = self.truth(when, scope)
            if condition == FALSE or own == update.target:
                continue
            for place, cases in enumerate(ModelFunction(self, own, scope, update).cases()):
                found[place] += [replace(c, condition=conjoined([condition, c.condition])) for c in cases]
        return found

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


def _sizes(axes: Sequence[CodeAxis]) -> tuple[tuple[int, int], ...]:
    return tuple((len(axis.codes), len(axis.part.book) if axis.part else 2) for axis in axes)


def _renamed(kept: Sequence[CodeAxis], axes: Sequence[CodeAxis]) -> tuple[CodeAxis, ...]:
    """The axes that stand for some kept ones now."""
    by_place = {(a.input.expr, a.place): a for a in axes}
    return tuple(by_place[a.input.expr, a.place] for a in kept)
