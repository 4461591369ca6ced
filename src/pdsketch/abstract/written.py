"""A model's sketch with what was learned in the places of its blanks, as far as formulas can say it.

Forms are trees, tables, sums and counts over what a blank is given: as formulas they are the first-order
rules that AO plans by, `rules` prints and the export writes. A function of few truths is a formula, too,
whatever computes it. What is left are networks over values, and they stay blanks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, count, product
from math import prod
from typing import Final, final

import numpy as np
import torch

from pdsketch.abstract.andor.symbolic import conjoined, disjoined, negated
from pdsketch.abstract.decision_lists.decision_list import HasCode, exact_rules
from pdsketch.core import Bools, Longs
from pdsketch.lang import (
    BOOL,
    FALSE,
    FLOAT,
    TRUE,
    Action,
    Apply,
    Arithmetic,
    BlankCall,
    Compare,
    Component,
    Domain,
    Each,
    Equal,
    Expr,
    Logic,
    Predicate,
    Quantified,
    Update,
    Value,
    ValueType,
    Variable,
    map_children,
    rename_bound,
    substitute,
)
from pdsketch.nets import (
    Base,
    BlankForm,
    ClauseForm,
    Condition,
    CountForm,
    InputReading,
    LinearForm,
    Node,
    Signature,
    TableForm,
    TreeForm,
)
from pdsketch.tensor import Detached, Model

MOST_TRUTHS: Final = 14
"""Truths that a function may depend on to be written down: the inputs of the blank preconditions of published
domains, in `benchmarks/sketches.py`. Their 16,384 combinations take a fifth of a second."""

Cases = list[tuple[Expr, Expr]]
"""Values, each with the condition under which it is the one: at most one of these holds."""


class NotWrittenError(Exception):
    """A form has no formula."""


@final
@dataclass(frozen=True, slots=True)
class WrittenBlank:
    """What a blank of ``owner``, an action or a derived predicate, says where it is called.

    A truth (``target`` is None) is one formula; what is written to a target are values with their conditions.
    """

    owner: str
    call: BlankCall
    target: Apply | None
    cases: Cases


def written_out(model: Model) -> Domain:
    """The sketch with formulas in the places of blanks. Blanks that are left are networks over values."""
    return BlankWriter(model).domain()


def written_blanks(model: Model) -> list[WrittenBlank]:
    """The blanks of a model that formulas take the places of, where they are called."""
    sketch = BlankWriter(model)
    sketch.domain()
    return sketch.found


def formula_over(table: Longs, atoms: Sequence[Expr]) -> Expr:
    """The formula of a table of truths ``[2, 2, …]``, an axis an atom."""
    if not (table == 1).any():
        return FALSE
    if not (table == 0).any():
        return TRUE
    rules, default = exact_rules(table, ())
    ways = []
    for rule in rules:
        parts = []
        for literal in rule.literals:
            assert isinstance(literal, HasCode)
            atom = atoms[literal.argument]
            parts.append(atom if (1 in literal.codes) == literal.positive else negated(atom))
        ways.append(parts)
    if default == 0:
        return disjoined(map(conjoined, ways))
    return conjoined(disjoined(map(negated, parts)) for parts in ways)


def simplified(expr: Expr, known: Mapping[Expr, bool]) -> Expr:
    """The formula where some atoms have known truths, as short as it can be said."""
    expr = _assumed(expr, known)
    atoms = list(dict.fromkeys(_atoms(expr)))
    if len(atoms) > MOST_TRUTHS:
        return expr
    axes = dict(zip(atoms, np.indices((2,) * len(atoms), np.bool_), strict=True))
    table = np.broadcast_to(_truth(expr, axes), (2,) * len(atoms))
    return formula_over(table.astype(np.int64), atoms)


def _assumed(expr: Expr, known: Mapping[Expr, bool]) -> Expr:
    """The formula with known truths in the places of atoms."""
    if not isinstance(expr, Logic):
        return (TRUE if known[expr] else FALSE) if expr in known else expr
    parts = [_assumed(part, known) for part in expr.args]
    match expr.op:
        case "and":
            return conjoined(parts)
        case "or":
            return disjoined(parts)
        case "not":
            return negated(parts[0])
        case "implies":
            return disjoined([negated(parts[0]), parts[1]])


def _truth(expr: Expr, truths: Mapping[Expr, Bools]) -> Bools:
    """The truths of a formula for all truths of its atoms."""
    if not isinstance(expr, Logic):
        return np.asarray(expr == TRUE) if expr in (TRUE, FALSE) else truths[expr]
    parts = [_truth(part, truths) for part in expr.args]
    if expr.op == "not":
        return ~parts[0]
    if expr.op == "implies":
        return ~parts[0] | parts[1]
    join = np.logical_and if expr.op == "and" else np.logical_or
    return reduce(join, parts, np.asarray(expr.op == "and"))


def _atoms(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Logic):
        for part in expr.args:
            yield from _atoms(part)
    elif expr not in (TRUE, FALSE):
        yield expr


@final
class BlankWriter:
    """Writes the blanks of one model as formulas."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._forms = model.forms
        self._programs = Detached(model)
        self._fresh = count()
        self._owner = ""
        self.found: list[WrittenBlank] = []
        self._tables: dict[str, Longs | None] = {}

    def domain(self) -> Domain:
        """All of it."""
        own = self._model.domain
        with torch.inference_mode():
            predicates = {name: self._predicate(predicate) for name, predicate in own.predicates.items()}
            actions = {name: self._action(action) for name, action in own.actions.items()}
        return replace(own, predicates=predicates, actions=actions)

    def _predicate(self, predicate: Predicate) -> Predicate:
        self._owner = predicate.name
        return predicate if predicate.body is None else replace(predicate, body=self._expr(predicate.body))

    def _action(self, action: Action) -> Action:
        self._owner = action.name
        precondition = self._expr(action.precondition)
        effects = [new for update in action.effects for new in self._update(update)]
        return replace(action, precondition=precondition, effects=tuple(effects))

    def _expr(self, expr: Expr) -> Expr:
        expr = map_children(expr, self._expr)
        if not isinstance(expr, BlankCall):
            return expr
        if expr.type == BOOL:
            formula = self.formula(expr)
            if formula is not expr:
                self.found.append(WrittenBlank(self._owner, expr, None, [(TRUE, formula)]))
            return formula
        cases = self.cases(expr)
        return cases[0][1] if cases is not None and len(cases) == 1 else expr

    def _update(self, update: Update) -> Iterator[Update]:
        condition = self._expr(update.condition)
        if update.value is None:
            yield replace(update, condition=condition)
            return
        value = map_children(update.value, self._expr)
        cases = self.cases(value) if isinstance(value, BlankCall) and value.type != BOOL else None
        if cases is None:
            yield replace(update, condition=condition, value=self._expr(value))
            return
        assert isinstance(value, BlankCall)
        self.found.append(WrittenBlank(self._owner, value, update.target, cases))
        for when, own in cases:
            both = conjoined([condition, when])
            if both != FALSE and own != update.target:
                yield replace(update, condition=both, value=own)

    # -- truths ----------------------------------------------------------------------

    def formula(self, call: BlankCall) -> Expr:
        """The formula of a blank that is true or false; its call where there is none."""
        form = self._forms.get(call.blank)
        if form is not None:
            try:
                return truth_of(form, call.args, self._fresh)
            except NotWrittenError:
                return call
        if len(call.args) > MOST_TRUTHS or not all(arg.type == BOOL for arg in call.args):
            return call
        if any(isinstance(arg, Each) for arg in call.args):
            return call
        return simplified(formula_over(self._table(call), call.args), {})

    def _table(self, call: BlankCall) -> Longs:
        """What a function of truths says of each combination of them."""
        found = self._tables.get(call.blank)
        if found is None:
            variables = [Variable(f"?{i}@in", BOOL) for i in range(len(call.args))]
            node = self._programs.value(replace(call, args=tuple(variables)), BOOL, variables)
            shape = (2,) * len(variables)
            rows = torch.from_numpy(np.indices(shape, np.bool_).reshape(len(shape), prod(shape)).copy())
            given = {
                v.name: row[None].to(self._programs.device) for v, row in zip(variables, rows, strict=True)
            }
            truths = self._programs.run(node, given, prod(shape)).cpu().numpy()
            found = self._tables[call.blank] = truths.reshape(shape).astype(np.int64)
        return found

    # -- values ----------------------------------------------------------------------

    def cases(self, expr: Expr) -> Cases | None:
        """What a form of values gives, and where; nothing is written where its gate is shut."""
        form = self._forms.get(expr.blank) if isinstance(expr, BlankCall) else None
        if not isinstance(expr, BlankCall) or form is None:
            return None
        network = self._model.blanks.network(expr.blank)
        try:
            cases = values_of(form, expr)
            if getattr(network, "gate", None) is None:
                return cases
            gate = self._forms.get(f"{expr.blank}#gate")
            if gate is None:
                return None
            opens = truth_of(gate, expr.args, self._fresh)
            return [(conjoined([opens, when]), value) for when, value in cases]
        except NotWrittenError:
            return None


def truth_of(form: BlankForm, args: Sequence[Expr], fresh: Iterator[int]) -> Expr:
    """The formula of a form that is true or false, of arguments; bound variables are renamed by ``fresh``."""
    match form:
        case TreeForm():
            return _tree_where(form, args, {at for at, leaf in enumerate(form.leaves) if leaf[0] > 0.5})
        case TableForm():
            rows = [(_row(form, row, args), value[0] > 0.5) for row, value in form.rows.items()]
            if form.otherwise[0] > 0.5:
                return conjoined(negated(row) for row, held in rows if not held)
            return disjoined(row for row, held in rows if held)
        case ClauseForm():
            clauses = [[_test(one, args, form.signature) for one in clause] for clause in form.clauses]
            return conjoined(disjoined(clause) for clause in clauses)
        case LinearForm():
            return _threshold(form, args)
        case CountForm():
            return _counted(form, args, fresh)
        case _:
            raise NotWrittenError


def values_of(form: BlankForm, call: BlankCall) -> Cases:
    """The values of a form in the place of a call, each with its condition."""
    args, type_ = call.args, call.type
    match form:
        case TreeForm():
            found = []
            for at, leaf in enumerate(form.leaves):
                where = _tree_where(form, args, {at})
                found += [
                    (conjoined([where, when]), value) for when, value in _leaf(form.base, leaf, args, type_)
                ]
            return found
        case TableForm():
            found, others = [], []
            for row, own in form.rows.items():
                where = _row(form, row, args)
                others.append(negated(where))
                found += [(conjoined([where, w]), v) for w, v in _leaf(form.base, own, args, type_)]
            rest = conjoined(others)
            return found + [
                (conjoined([rest, w]), v) for w, v in _leaf(form.base, form.otherwise, args, type_)
            ]
        case LinearForm():
            (start,) = _leaf(form.base, form.matrix[0], args, type_)
            parts = [start[1]]
            for (reading, value), by in zip(form.columns, form.matrix[1:], strict=True):
                if value is not None or type_.prim != "float32":
                    raise NotWrittenError
                parts.append(Arithmetic("*", (_number(reading, args), _value(by, type_)), type_))
            return [(TRUE, parts[0] if len(parts) == 1 else Arithmetic("+", tuple(parts), type_))]
        case _:
            raise NotWrittenError


def _tree_where(form: TreeForm, args: Sequence[Expr], leaves: set[int]) -> Expr:
    """Where a tree ends in some of its leaves."""
    tests = [_test(test, args, form.signature) for test in form.tests]
    if len(tests) <= MOST_TRUTHS:
        axes = np.indices((2,) * len(tests), np.bool_)

        def leaf(node: Node) -> Bools:
            if isinstance(node, tuple):
                return np.where(axes[node[0]], leaf(node[1]), leaf(node[2]))
            return np.asarray(node in leaves)

        table = np.broadcast_to(leaf(form.node), (2,) * len(tests)).astype(np.int64)
        return formula_over(table, tests)

    def formula(node: Node) -> Expr:
        if not isinstance(node, tuple):
            return TRUE if node in leaves else FALSE
        test, yes, no = tests[node[0]], formula(node[1]), formula(node[2])
        return disjoined([conjoined([test, yes]), conjoined([negated(test), no])])

    return formula(form.node)


def _row(form: TableForm, row: Sequence[int], args: Sequence[Expr]) -> Expr:
    keys = zip(form.keys, row, strict=True)
    return conjoined(_test(Condition(key, float(code), 0.25), args, form.signature) for key, code in keys)


def _threshold(form: LinearForm, args: Sequence[Expr]) -> Expr:
    """A sum that is above 0: a comparison of numbers for each combination of the truths in it."""
    (constant,), *slopes = form.matrix
    each = [(reading, value, by) for (reading, value), (by,) in zip(form.columns, slopes, strict=True)]
    truths = [(_test(Condition(r, v), args, form.signature), by) for r, v, by in each if v is not None]
    numbers = [(r, by) for r, v, by in each if v is None]
    if len(truths) > MOST_TRUTHS or (numbers and len(truths) > 3):
        raise NotWrittenError
    sums = constant + sum(
        (axis * by for axis, (_, by) in zip(np.indices((2,) * len(truths)), truths, strict=True)),
        np.zeros((2,) * len(truths)),
    )
    if not numbers:
        return formula_over((sums > 0).astype(np.int64), [test for test, _ in truths])
    terms = [Arithmetic("*", (_number(r, args), Value(by, FLOAT)), FLOAT) for r, by in numbers]
    whole = terms[0] if len(terms) == 1 else Arithmetic("+", tuple(terms), FLOAT)
    ways = []
    for signs in product((0, 1), repeat=len(truths)):
        own = [test if sign else negated(test) for (test, _), sign in zip(truths, signs, strict=True)]
        ways.append(conjoined([*own, Compare(">", whole, Value(-float(sums[signs]), FLOAT))]))
    return disjoined(ways)


def _counted(form: CountForm, args: Sequence[Expr], fresh: Iterator[int]) -> Expr:
    """That there are so many elements of a set, all different."""
    each = args[form.set]
    if not isinstance(each, Each) or form.against is not None:
        raise NotWrittenError
    found = []
    for _ in range(form.count):
        new = {v.name: replace(v, name=f"{v.name}${next(fresh)}") for v in each.variables}
        own = rename_bound(each.body, lambda v: f"{v.name}${next(fresh)}")
        given = [substitute(own, new) if at == form.set else arg for at, arg in enumerate(args)]
        held = conjoined([substitute(each.condition, new), truth_of(form.element, given, fresh)])
        found.append((tuple(new.values()), held))
    apart = [
        disjoined(negated(Equal(a, b, 0.0)) for a, b in zip(one, other, strict=True))
        for (one, _), (other, _) in combinations(found, 2)
    ]
    variables = tuple(v for own, _ in found for v in own)
    body = conjoined([*(held for _, held in found), *apart])
    some = Quantified("exists", variables, body) if variables and body not in (TRUE, FALSE) else body
    return negated(some) if form.few else some


def _test(test: Condition, args: Sequence[Expr], signature: Signature) -> Expr:
    """The formula of a test."""
    reading, spec = test.reading, signature.inputs[test.reading.first].spec
    if reading.kind in ("distance", "length"):
        return _near(test, args, signature)
    if reading.kind == "turn":
        choices = spec.choices or 1
        wanted = [at for at in range(choices) if (at <= test.value if test.order else at == test.value)]
        if choices**2 > 64:
            raise NotWrittenError
        one, other = (_component(args[at], reading.place) for at in (reading.first, reading.second))
        type_ = ValueType("int64")
        return disjoined(
            conjoined([Equal(one, Value((b + at) % choices, type_), 0.0), Equal(other, Value(b, type_), 0.0)])
            for at in wanted
            for b in range(choices)
        )
    if reading.kind == "code" and spec.prim == "bool":
        truth = _component(args[reading.first], reading.place)
        held = [value for value in (0, 1) if _fits(test, value)]
        return truth if held == [1] else negated(truth) if held == [0] else TRUE if held else FALSE
    return _compared(_number(reading, args), test)


def _fits(test: Condition, value: float) -> bool:
    return value <= test.value if test.order else abs(value - test.value) <= test.tolerance


def _compared(number: Expr, test: Condition) -> Expr:
    assert isinstance(number.type, ValueType)
    if number.type.prim == "int64" and not test.order:
        fits = [n for n in (round(test.value),) if abs(n - test.value) <= max(test.tolerance, 1e-6)]
        return Equal(number, Value(fits[0], ValueType("int64")), 0.0) if fits else FALSE
    if test.order:
        return Compare("<=", number, Value(test.value, FLOAT))
    low, high = test.value - test.tolerance, test.value + test.tolerance
    return conjoined([Compare(">=", number, Value(low, FLOAT)), Compare("<=", number, Value(high, FLOAT))])


def _near(test: Condition, args: Sequence[Expr], signature: Signature) -> Expr:
    """That two vectors are so far apart, or one is so long: of squares, for the language has no root."""
    reading = test.reading
    size = signature.inputs[reading.first].spec.size
    squares = []
    for place in range(size):
        own: Expr = _component(args[reading.first], place)
        if reading.second >= 0:
            own = Arithmetic("-", (own, _component(args[reading.second], place)), FLOAT)
        squares.append(Arithmetic("*", (own, own), FLOAT))
    whole = squares[0] if size == 1 else Arithmetic("+", tuple(squares), FLOAT)
    low, high = test.value - test.tolerance, test.value + test.tolerance
    if high < 0:
        return FALSE
    parts: list[Expr] = [Compare("<=", whole, Value(high * high, FLOAT))]
    if not test.order and low > 0:
        parts.append(Compare(">=", whole, Value(low * low, FLOAT)))
    return conjoined(parts)


def _number(reading: InputReading, args: Sequence[Expr]) -> Expr:
    """The number that is read."""
    if reading.kind not in ("code", "number", "difference", "sum", "gap"):
        raise NotWrittenError
    one = _component(args[reading.first], reading.place)
    if reading.second < 0:
        return one
    other = _component(args[reading.second], reading.other if reading.kind == "gap" else reading.place)
    assert isinstance(one.type, ValueType)
    type_ = replace(one.type, choices=None, alias=None)
    if reading.kind == "sum":
        one = Arithmetic("+", (one, _component(args[reading.other], reading.place)), type_)
    return Arithmetic("-", (one, other), type_)


def _component(arg: Expr, place: int) -> Expr:
    type_ = arg.type
    if (
        isinstance(arg, Each)
        or not isinstance(type_, ValueType)
        or type_.shape is None
        or len(type_.shape) > 1
    ):
        raise NotWrittenError
    return Component(arg, place, replace(type_, shape=(), alias=None)) if type_.shape else arg


def _leaf(base: Base | None, leaf: Sequence[float], args: Sequence[Expr], type_: ValueType) -> Cases:
    """A value, or what comes of adding it to an argument."""
    if base is None:
        return [(TRUE, _value(leaf, type_))]
    own = args[base.argument] if base.place is None else _component(args[base.argument], base.place)
    if not any(leaf):
        return [(TRUE, own)]
    if type_.prim == "float32":
        return [(TRUE, Arithmetic("+", (own, _value(leaf, type_)), type_))]
    choices = type_.choices
    if choices is None or type_.shape or choices > 16:
        raise NotWrittenError
    by = round(leaf[0])
    return [
        (Equal(own, Value(n, ValueType("int64")), 0.0), _value([(n + by) % choices], type_))
        for n in range(choices)
    ]


def _value(numbers: Iterable[float], type_: ValueType) -> Value:
    if type_.shape is None or len(type_.shape) > 1 or type_.prim == "bool":
        raise NotWrittenError
    listed = [n if type_.prim == "float32" else round(n) for n in numbers]
    return Value(tuple(listed) if type_.shape else listed[0], type_)
