"""The symbolic domain of a model while it is being written: predicates over codes, relations, fresh names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import final

import numpy as np

from pdsketch.abstract.andor.codebooks import Codebook, Codebooks
from pdsketch.abstract.andor.functions import CodeAxis, CodeTable
from pdsketch.core import Bools
from pdsketch.lang import (
    BOOL,
    FALSE,
    TRUE,
    Action,
    Apply,
    BlankCall,
    Component,
    Domain,
    Equal,
    Expr,
    Fact,
    Logic,
    Object,
    ObjectType,
    Predicate,
    Quantified,
    Update,
    Variable,
    conjuncts,
    free_variables,
    map_children,
    substitute,
    unfold,
    walk,
)

Scope = dict[str, tuple[Variable, ...]]
"""The code variables, one a part, in the place of variables over values."""

_MOST_WRITTEN_OUT = 3
"""Codes of one variable that are written as a disjunction; more become a relation."""


ENTITY = "entity@"
"""The type above all of the model's own objects: ``?x - object`` of a sketch is not about codes."""


def apart(type_: ObjectType) -> ObjectType:
    """A type of the model in the symbolic domain, where it must not hold codes."""
    return ObjectType(tuple(ENTITY if name == "object" else name for name in type_.names))


def variables_apart(variables: Iterable[Variable]) -> tuple[Variable, ...]:
    """Variables over the model's own objects."""
    return tuple(replace(v, type=apart(v.type)) if isinstance(v.type, ObjectType) else v for v in variables)


def sort_of(book: Codebook) -> ObjectType:
    """The object type of the codes of a codebook."""
    return ObjectType((book.name,))


def code_name(book: Codebook, code: int) -> str:
    """The object that a code is."""
    return f"{book.name}@{code}"


def candidate_name(book: Codebook) -> str:
    """The predicate that says which codes arguments of actions may have."""
    return f"candidate@{book.name}"


def part_name(books: Codebooks, predicate: Predicate, place: int) -> str:
    """The predicate that says which code a part of a state variable has."""
    return predicate.name if len(books.parts(predicate.type)) == 1 else f"{predicate.name}.{place}"


def conjoined(parts: Iterable[Expr]) -> Expr:
    """All of the parts hold."""
    kept = [part for part in parts if part != TRUE]
    if FALSE in kept:
        return FALSE
    return kept[0] if len(kept) == 1 else Logic("and", tuple(kept)) if kept else TRUE


def disjoined(parts: Iterable[Expr]) -> Expr:
    """Some of the parts hold."""
    kept = [part for part in parts if part != FALSE]
    if TRUE in kept:
        return TRUE
    return kept[0] if len(kept) == 1 else Logic("or", tuple(kept)) if kept else FALSE


def negated(expr: Expr) -> Expr:
    """The part does not hold."""
    if expr in (TRUE, FALSE):
        return FALSE if expr == TRUE else TRUE
    return expr.args[0] if isinstance(expr, Logic) and expr.op == "not" else Logic("not", (expr,))


def some(variables: Sequence[Variable], body: Expr) -> Expr:
    """The body holds for some values of the variables."""
    return Quantified("exists", tuple(variables), body) if variables and body not in (TRUE, FALSE) else body


@final
@dataclass(frozen=True, slots=True)
class Case:
    """One way in which a value comes about: where ``condition`` holds, it has the codes of ``table``."""

    condition: Expr
    variables: tuple[Variable, ...]
    table: CodeTable


def hint_of(expr: Expr) -> str:
    """A short name for what an expression computes."""
    for node in walk(expr):
        if isinstance(node, BlankCall):
            kind, owner, blank = node.blank.split("::")
            del kind
            return f"{owner}.{blank}"
        if isinstance(node, Apply):
            return node.predicate
    return "test"


@final
@dataclass(slots=True)
class Symbols:
    """Relations that were made so far, with their facts, and fresh names for variables."""

    domain: Domain
    books: Codebooks
    relations: dict[str, Predicate] = field(default_factory=dict)
    facts: dict[Fact, bool] = field(default_factory=dict)
    fresh: count[int] = field(default_factory=count)
    auxiliary: dict[str, Predicate] = field(default_factory=dict)
    _named: dict[Expr, Apply] = field(default_factory=dict)
    _known: dict[tuple[str, bytes, tuple[str, ...]], str] = field(default_factory=dict)

    def variable(self, book: Codebook) -> Variable:
        """A new variable over the codes of a codebook."""
        return Variable(f"?c{next(self.fresh)}@", sort_of(book))

    def read(self, axis: CodeAxis, scope: Scope) -> tuple[Variable, list[Variable], list[Expr]]:
        """The code of an axis: its variable, those to be quantified for it, and the atoms that bind it."""
        assert axis.part is not None
        source = axis.input.expr
        if isinstance(source, Variable):
            return scope[source.name][axis.place], [], []
        variable = self.variable(axis.part.book)
        if isinstance(source, Component):
            return self._read_component(source, variable)
        assert isinstance(source, Apply)
        return variable, [variable], [self.has_code(source, axis.place, variable)]

    def _read_component(
        self, source: Component, own: Variable
    ) -> tuple[Variable, list[Variable], list[Expr]]:
        """The code of one number of a state variable: a function of the variable's code."""
        assert isinstance(source.vector, Apply)
        (part,) = self.books.parts(source.vector.type)
        component, of_whole = self.books.component(source.vector.type, source.place)
        whole = self.variable(part.book)
        name = self.relation("number", [part.book, component.book], [*enumerate(of_whole.tolist())])
        atoms: list[Expr] = [self.has_code(source.vector, 0, whole), Apply(name, (whole, own), BOOL)]
        return own, [own, whole], atoms

    def has_code(self, source: Apply, place: int, code: Variable | Object) -> Apply:
        """The atom that says that a part of a state variable has a code."""
        predicate = self.domain.predicates[source.predicate]
        return Apply(part_name(self.books, predicate, place), (*source.args, code), BOOL)

    def relation(self, hint: str, books: Sequence[Codebook], rows: Iterable[Sequence[int]]) -> str:
        """A static relation over codes with these rows; equal relations are one."""
        listed = sorted({tuple(map(int, row)) for row in rows})
        sorts = tuple(book.name for book in books)
        key = ("", np.array(listed, np.int64).tobytes(), sorts)
        if key not in self._known:
            name = f"{hint}@{len(self.relations)}"
            self._known[key] = name
            parameters = tuple(Variable(f"?{i}", sort_of(book)) for i, book in enumerate(books))
            self.relations[name] = Predicate(name, parameters, BOOL, "observed")
            for row in listed:
                self.facts[name, *(code_name(b, c) for b, c in zip(books, row, strict=True))] = True
        return self._known[key]

    def denied(self, expr: Expr) -> Expr:
        """The negation of a formula. That something exists gets a predicate of its own before.

        Otherwise each condition would have a literal for each object.
        """
        return negated(self.named(expr))

    def named(self, expr: Expr) -> Expr:
        """A formula that something exists as an atom of a derived predicate; any other as it is."""
        if not isinstance(expr, Quantified) or expr.op != "exists":
            return expr
        if expr not in self._named:
            types = {v.name: v.type for v in walk(expr) if isinstance(v, Variable)}
            parameters = variables_apart(Variable(name, types[name]) for name in free_variables(expr))
            name = f"some@{len(self.auxiliary)}"
            self.auxiliary[name] = Predicate(name, parameters, BOOL, "derived", expr)
            self._named[expr] = Apply(name, parameters, BOOL)
        return self._named[expr]

    def holds(self, table: CodeTable, scope: Scope, hint: str, bools: dict[Expr, Expr]) -> Expr:
        """The formula that a table of truth amounts to. ``bools`` are the formulas of Boolean inputs.

        The variables of ``scope`` stand for the codes of the other inputs of ``table``; relations that are
        made for it have names that begin with ``hint``.
        """
        results: Bools = table.results.astype(np.bool_)
        if not results.size:
            return FALSE  # there is no value that it could be true of
        if not table.axes:
            return TRUE if bool(results) else FALSE
        for i, axis in enumerate(table.axes):
            if axis.is_bool:
                rest = (*table.axes[:i], *table.axes[i + 1 :])
                formula = bools[axis.input.expr]
                ways = [CodeTable(rest, np.asarray(results.take(sign, axis=i))).reduced() for sign in (0, 1)]
                low, high = (self.holds(way, scope, hint, bools) for way in ways)
                return disjoined([conjoined([self.denied(formula), low]), conjoined([formula, high])])
        if results.any() and results.mean() > 0.5:
            return self.denied(self._some_row(table.axes, ~results, scope, hint))
        return self._some_row(table.axes, results, scope, hint)

    def _some_row(self, axes: tuple[CodeAxis, ...], results: Bools, scope: Scope, hint: str) -> Expr:
        rows = np.argwhere(results)
        if len(axes) == 1 and len(rows) <= _MOST_WRITTEN_OUT and isinstance(axes[0].input.expr, Apply):
            axis = axes[0]
            codes = [self.constant(axis, int(at)) for at in rows[:, 0]]
            return disjoined(self.has_code(axes[0].input.expr, axis.place, code) for code in codes)
        variables, quantified, atoms = [], list[Variable](), list[Expr]()
        for axis in axes:
            variable, more, reads = self.read(axis, scope)
            variables.append(variable)
            quantified += more
            atoms += reads
        coded = [[int(axes[i].codes[at]) for i, at in enumerate(row)] for row in rows]
        books = [axis.part.book for axis in axes if axis.part is not None]
        name = self.relation(hint, books, coded)
        return some(quantified, conjoined([*atoms, Apply(name, tuple(variables), BOOL)]))

    def constant(self, axis: CodeAxis, at: int) -> Object:
        """A code of an axis as an object."""
        assert axis.part is not None
        book = axis.part.book
        return Object(code_name(book, int(axis.codes[at])), sort_of(book))


# What effects rule out, asked of the codes that they read.
#
# An effect that reads where a robot is, and asks that nothing blocks it, asks that nothing blocks it *there*.
# A state variable has one code at a time, so that within the condition of an effect its reads stand for the
# variable: a predicate that is denied is derived anew with these codes as arguments. It then depends on less
# of the state, most of it can be settled while grounding, and a relaxed plan can no longer deny it by what is
# true elsewhere. Without it, twelve doors of a room of 7 by 7 take 325 expanded states in place of 82
# (`benchmarks/abstract.py`).

Read = tuple[str, tuple[Expr, ...]]
"""A part of a state variable, and its objects."""


@final
@dataclass(slots=True)
class BoundReads:
    """Rewrites conditions of effects. ``parts`` are the predicates that say which code something has."""

    domain: Domain
    symbols: Symbols
    parts: frozenset[str]
    _fresh: count[int] = field(default_factory=count)
    _known: dict[tuple[Expr, frozenset[tuple[Read, Expr]]], Expr] = field(default_factory=dict)

    def action(self, action: Action) -> Action:
        """The action with the conditions of its effects rewritten."""
        return replace(action, effects=tuple(map(self._update, action.effects)))

    def _update(self, update: Update) -> Update:
        parts = conjuncts(update.condition)
        reads = {
            (part.predicate, part.args[:-1]): part.args[-1]
            for part in parts
            if isinstance(part, Apply) and part.predicate in self.parts
        }
        if not reads:
            return update
        return replace(update, condition=conjoined(self._denied(part, reads) for part in parts))

    def _denied(self, part: Expr, reads: Mapping[Read, Expr]) -> Expr:
        if not (isinstance(part, Logic) and part.op == "not"):
            return part
        key = (part, frozenset(reads.items()))
        if key not in self._known:
            (inner,) = part.args
            found = self._at(inner, reads)
            self._known[key] = part if found is inner else negated(self.symbols.named(found))
        return self._known[key]

    def _at(self, expr: Expr, reads: Mapping[Read, Expr]) -> Expr:
        """The formula where the state variables have these codes; itself if it does not read them."""
        match expr:
            case Apply() if expr.predicate in self.parts:
                code = reads.get((expr.predicate, expr.args[:-1]))
                return expr if code is None else _same(expr.args[-1], code)
            case Apply() if self._is_derived(expr.predicate):
                body = unfold(expr, self.domain, self._fresh)
                found = self._at(body, reads)
                return expr if found is body else found
            # A variable that is equal to a known code need not be quantified any more: that is what makes
            # rules small.
            case Quantified(op="exists"):
                body = self._at(expr.body, reads)
                return expr if body is expr.body else _without_equals(expr.variables, body)
            case _:
                return map_children(expr, lambda part: self._at(part, reads))

    def _is_derived(self, name: str) -> bool:
        predicate = self.domain.predicates.get(name)
        return predicate is not None and predicate.body is not None and name not in self.domain.recursive


def _same(left: Expr, right: Expr) -> Expr:
    if left == right:
        return TRUE
    return FALSE if isinstance(left, Object) and isinstance(right, Object) else Equal(left, right, 0.0)


def _without_equals(variables: Sequence[Variable], body: Expr) -> Expr:
    """That something exists, without the variables that are said to be equal to something else."""
    left = list(variables)
    parts = conjuncts(body)
    inner = [part for part in parts if isinstance(part, Quantified) and part.op == "exists"]
    # Bound variables have names of their own: what exists in a part exists outside as well.
    left += [variable for part in inner for variable in part.variables]
    parts = [p for part in parts for p in (conjuncts(part.body) if part in inner else [part])]
    for part in [part for part in parts if isinstance(part, Equal)]:
        for own, other in ((part.left, part.right), (part.right, part.left)):
            if isinstance(own, Variable) and own in left and part in parts:
                left.remove(own)
                parts.remove(part)
                parts = [substitute(p, {own.name: other}) for p in parts]
    return some(left, conjoined(parts))
