"""The symbolic domain of a model: its actions over codes, until no new codes come about."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from pdsketch.abstract.andor.codebooks import Codebook, Codebooks
from pdsketch.abstract.andor.functions import (
    Behaviour,
    CodeTable,
    NotAbstractableError,
    TooManyCombinationsError,
    own_column,
)
from pdsketch.abstract.andor.symbolic import (
    ENTITY,
    BoundReads,
    Case,
    Scope,
    Symbols,
    apart,
    candidate_name,
    code_name,
    conjoined,
    part_name,
    some,
    sort_of,
    variables_apart,
)
from pdsketch.abstract.andor.translate import Translator
from pdsketch.budget import current
from pdsketch.core import Longs
from pdsketch.lang import (
    BOOL,
    FALSE,
    Action,
    Apply,
    Arithmetic,
    Domain,
    Expr,
    Fact,
    Hierarchy,
    Object,
    ObjectType,
    Predicate,
    Source,
    Update,
    Value,
    ValueType,
    Variable,
    action_reads,
    closure,
    components,
    map_children,
    names_in,
    walk,
)
from pdsketch.task import GoalFormula
from pdsketch.tensor import Model


@final
@dataclass(frozen=True, slots=True, eq=False)
class SymbolicDomain:
    """A model as an ordinary domain over codes.

    ``facts`` are those of the static relations. ``translator`` makes formulas over codes of goals.
    ``left_out`` says which actions or derived predicates have no form over codes, and why.
    """

    domain: Domain
    facts: Mapping[Fact, bool]
    translator: Translator
    left_out: Mapping[str, str]

    @property
    def books(self) -> Codebooks:
        """The codes."""
        return self.translator.books

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """How each function of the model is represented."""
        return self.translator.behaviours


def constants_of(expressions: Iterable[Expr]) -> Iterator[Value]:
    """The values that stand in expressions."""
    for expr in expressions:
        for node in walk(expr):
            if isinstance(node, Value) and not node.type.is_bool:
                yield node


def know_constants(books: Codebooks, values: Iterable[Value]) -> None:
    """Give the values that formulas mention a code, in the codebooks of all types that they fit."""
    types = {str(p.type): p.type for p in books.domain.state_predicates if not p.type.is_bool}
    for value in values:
        numbers = np.array(value.value, np.float64).reshape(-1)
        for type_ in types.values():
            parts = books.parts(type_)
            if sum(len(part.dimensions) for part in parts) == len(numbers):
                for part in parts:
                    part.book.know(numbers[None, list(part.dimensions)])


def symbolic_domain(
    model: Model, books: Codebooks, translator: Translator | None = None, *, sure: bool = False
) -> SymbolicDomain:
    """The symbolic domain of a ``model``, with all codes that come about from those of the ``books``.

    A ``translator`` knows tables already, of the same codebooks. ``sure``: preconditions hold only where that
    is no guess.
    """
    translator = translator or Translator(model, books)
    domain = translator.domain
    bodies = [p.body for p in domain.predicates.values() if p.body is not None]
    effects = [e for a in domain.actions.values() for u in a.effects for e in (u.condition, u.value) if e]
    know_constants(
        books, constants_of([*bodies, *effects, *(a.precondition for a in domain.actions.values())])
    )
    with torch.inference_mode():
        sizes = None
        while books.sizes != sizes:  # they only grow, and up to a limit
            current().check()
            sizes = books.sizes
            _write_codes(translator)
        return _written(translator, sure)


def _write_codes(translator: Translator) -> None:
    """What effects write of the codes that there are; it may make new ones."""
    translator.symbols = Symbols(translator.domain, translator.books)
    for action in translator.domain.actions.values():
        translator.owner = action.name
        with suppress(NotAbstractableError, TooManyCombinationsError):
            _, scope = translator.bound(action.parameters, {})
            for update in action.effects:
                deque(_effects(translator, update, scope), maxlen=0)


def _written(translator: Translator, sure: bool) -> SymbolicDomain:
    """The domain over the codes that there are."""
    translator.symbols = Symbols(translator.domain, translator.books)
    translator.functions.clear()
    left_out: dict[str, str] = {}
    actions = dict(_actions(translator, left_out, sure))
    derived = dict(_derived(translator, left_out))
    translator.owner = ""
    whole = _domain(translator, actions, derived)
    parts = frozenset(name for name, _, _ in _parts(translator))
    bound = BoundReads(whole, translator.symbols, parts)
    actions = {name: bound.action(action) for name, action in actions.items()}
    domain = _domain(translator, actions, derived)
    return SymbolicDomain(domain, translator.symbols.facts, translator, left_out)


def goal_over_codes(symbolic: SymbolicDomain, goal: Expr) -> GoalFormula:
    """A goal as a formula over codes, with relations and derived predicates of its own."""
    translator = symbolic.translator
    outer, books = translator.symbols, translator.books
    own = Symbols(translator.domain, books, fresh=outer.fresh)
    translator.symbols = own
    try:
        formula = _in_steps(translator.truth(goal, {}), own)
    finally:
        translator.symbols = outer
    codes = {code_name(book, i): sort_of(book) for book in books.books() for i in range(len(book))}
    return GoalFormula(formula, {**own.relations, **own.auxiliary}, own.facts, codes)


def _in_steps(expr: Expr, symbols: Symbols) -> Expr:
    """A formula in which everything that exists has a predicate of its own."""
    return symbols.named(map_children(expr, lambda part: _in_steps(part, symbols)))


def _actions(translator: Translator, left_out: dict[str, str], sure: bool) -> Iterator[tuple[str, Action]]:
    for action in translator.domain.actions.values():
        translator.owner = action.name
        try:
            parameters, scope = translator.bound(action.parameters, {})
            allowed = [
                Apply(candidate_name(b), scope[p.name], BOOL) for p, b in arguments(translator.books, action)
            ]
            needed = action.precondition
            could = translator.surely(needed, scope) if sure else translator.truth(needed, scope)
            precondition = conjoined([*allowed, could])
            effects = [e for update in action.effects for e in _effects(translator, update, scope)]
        except (NotAbstractableError, TooManyCombinationsError) as why:
            left_out[action.name] = str(why) or "its effects depend on too many combinations of codes"
            continue
        yield action.name, Action(action.name, parameters, precondition, tuple(effects))


def arguments(books: Codebooks, action: Action) -> Iterator[tuple[Variable, Codebook]]:
    """The value parameters of an action that has a form over codes, and what their codes are in."""
    for parameter in action.parameters:
        if isinstance(parameter.type, ValueType):
            yield parameter, books.parts(parameter.type)[0].book


def _derived(translator: Translator, left_out: dict[str, str]) -> Iterator[tuple[str, Predicate]]:
    for predicate in translator.domain.predicates.values():
        over_objects = all(isinstance(p.type, ObjectType) for p in predicate.parameters)
        if predicate.role != "derived" or not predicate.type.is_bool or not over_objects:
            continue
        assert predicate.body is not None
        translator.owner = predicate.name
        try:
            body = translator.truth(predicate.body, {})
        except (NotAbstractableError, TooManyCombinationsError) as why:
            left_out[predicate.name] = str(why) or "it depends on too many combinations of codes"
            body = FALSE
        yield (
            predicate.name,
            Predicate(predicate.name, predicate.parameters, BOOL, "derived", body, predicate.span),
        )


def _effects(translator: Translator, update: Update, scope: Scope) -> Iterator[Update]:
    """The updates of codes that an update of values is."""
    variables, inner = translator.bound(update.variables, scope)
    condition = translator.truth(update.condition, inner)
    predicate = translator.domain.predicates[update.target.predicate]
    if condition == FALSE:
        return
    if predicate.type.is_bool:
        if update.op == "assign":
            assert update.value is not None
            value = translator.truth(update.value, inner)
            yield Update("assign", update.target, value, variables, condition, update.span)
        else:
            yield Update(update.op, update.target, None, variables, condition, update.span)
        return
    for place, cases in enumerate(translator.written(_assigning(update, predicate.type), inner)):
        for case in cases:
            yield from _case_effects(translator, update, place, case, inner, variables, condition)


def _assigning(update: Update, type_: ValueType) -> Update:
    """A numeric change as an assignment."""
    if update.op == "assign":
        return update
    assert update.value is not None
    signs = {"increase": "+", "decrease": "-", "scale-up": "*", "scale-down": "/"}
    value = Arithmetic(signs[update.op], (update.target, update.value), type_)  # type: ignore[arg-type]
    return Update("assign", update.target, value, update.variables, update.condition, update.span)


def _case_effects(
    translator: Translator,
    update: Update,
    place: int,
    case: Case,
    scope: Scope,
    variables: tuple[Variable, ...],
    condition: Expr,
) -> Iterator[Update]:
    """What one case of an update adds and deletes of one part of its target."""
    symbols, books, table = translator.symbols, translator.books, case.table
    predicate = translator.domain.predicates[update.target.predicate]
    book = books.parts(predicate.type)[place].book
    name = part_name(books, predicate, place)
    rows, out = _written_rows(table, update.target, place)
    if book.closed and table.axes:
        known = [o in books.domains[predicate.name][place] for o in out]
        rows = [row for row, fits in zip(rows, known, strict=True) if fits]
        out = [o for o, fits in zip(out, known, strict=True) if fits]
    books.domains[predicate.name][place].update(dict.fromkeys(out))
    if not out:
        return
    everything = (*variables, *case.variables)
    read = [symbols.read(axis, scope) for axis in table.axes]
    quantified = [v for _, more, _ in read for v in more]
    atoms = [atom for _, _, reads in read for atom in reads]
    codes = tuple(variable for variable, _, _ in read)
    at = own_column(table.axes, update.target, place)
    own = None if at is None else codes[at]
    distinct, whole = set(out), len(rows) == table.results.size
    given = not atoms and [axis.part and axis.part.book for axis in table.axes] == [book]
    new: Variable | Object
    if whole and (len(distinct) == 1 or (given and rows == [[o] for o in out])):
        # The same code whatever is read, or an argument of the action.
        new = Object(code_name(book, out[0]), sort_of(book)) if len(distinct) == 1 else codes[0]
        when = conjoined([condition, case.condition])
        yield Update("add", Apply(name, (*update.target.args, new), BOOL), None, everything, when)
    else:
        new = symbols.variable(book)
        books_read = [axis.part.book for axis in table.axes if axis.part is not None]
        relation = symbols.relation(
            f"{update.target.predicate}",
            [*books_read, book],
            [[*r, o] for r, o in zip(rows, out, strict=True)],
        )
        fits = Apply(relation, (*codes, new), BOOL)
        when = conjoined([condition, case.condition, *atoms, fits])
        inner = (*everything, *quantified, new)
        yield Update("add", Apply(name, (*update.target.args, new), BOOL), None, inner, when)
        if own is not None:
            gone = Apply(name, (*update.target.args, own), BOOL)
            yield Update("delete", gone, None, inner, when)
            return
        if not whole:
            # Only where something is written; named, so that what is deleted is not joined with what is read.
            written = symbols.named(some((*quantified, new), conjoined([*atoms, fits])))
            condition = conjoined([condition, written])
    old = symbols.variable(book)
    gone = Apply(name, (*update.target.args, old), BOOL)
    when = conjoined([condition, case.condition, gone])
    yield Update("delete", gone, None, (*everything, old), when)


def _written_rows(table: CodeTable, target: Apply, place: int) -> tuple[list[list[int]], list[int]]:
    """The rows of codes in which something is written that is not there already, and what."""
    results: Longs = table.results.astype(np.int64)
    index = np.argwhere(results >= 0)
    columns = [axis.codes[index[:, i]] for i, axis in enumerate(table.axes)]
    out = results[results >= 0].reshape(-1)
    own = own_column(table.axes, target, place)
    keep = np.ones(len(out), np.bool_) if own is None else columns[own] != out
    rows = np.stack(columns, -1)[keep] if columns else np.zeros((int(keep.sum()), 0), np.int64)
    return rows.tolist(), out[keep].tolist()


def _parts(translator: Translator) -> Iterator[tuple[str, Predicate, Codebook]]:
    """The predicates over codes, the state variables that they are parts of, and their codebooks."""
    books = translator.books
    for predicate in translator.domain.state_predicates:
        if not predicate.type.is_bool:
            for place, part in enumerate(books.parts(predicate.type)):
                yield part_name(books, predicate, place), predicate, part.book


def _domain(
    translator: Translator, actions: Mapping[str, Action], derived: Mapping[str, Predicate]
) -> Domain:
    """All of it as a `Domain`; codes are constants."""
    domain, books, symbols = translator.domain, translator.books, translator.symbols
    predicates: dict[str, Predicate] = {}
    for predicate in domain.state_predicates:
        if predicate.type.is_bool:
            own = variables_apart(predicate.parameters)
            predicates[predicate.name] = Predicate(predicate.name, own, BOOL, "observed", span=predicate.span)
    for name, predicate, book in _parts(translator):
        own = (*variables_apart(predicate.parameters), Variable("?code", sort_of(book)))
        predicates[name] = Predicate(name, own, BOOL, "observed", span=predicate.span)
    for action in domain.actions.values():
        for _, book in arguments(books, action):
            name = candidate_name(book)
            predicates[name] = Predicate(name, (Variable("?code", sort_of(book)),), BOOL, "observed")
    names = [book.name for book in books.books()]
    above = {
        name: apart(ObjectType(parents)).names
        for name, parents in domain.hierarchy.parents.items()
        if name != "object"
    }
    hierarchy = Hierarchy({ENTITY: ("object",), **above, **dict.fromkeys(names, ("object",))})
    constants = {name: apart(type_) for name, type_ in domain.constants.items()}
    codes = {code_name(book, i): sort_of(book) for book in books.books() for i in range(len(book))}
    own_bodies = {**derived, **symbols.auxiliary}
    reads = {n: names_in(p.body) & own_bodies.keys() for n, p in own_bodies.items() if p.body is not None}
    used = closure({*derived, *(n for action in actions.values() for n in action_reads(action))}, reads)
    auxiliary = {name: predicate for name, predicate in symbols.auxiliary.items() if name in used}
    reads = {name: reads[name] for name in reads if name in used}
    return Domain(
        name=f"{domain.name}-codes",
        source=Source("<abstraction>", ""),
        requirements=(":adl", ":derived-predicates"),
        hierarchy=hierarchy,
        value_types={},
        constants={**constants, **codes},
        predicates={**predicates, **symbols.relations, **derived, **auxiliary},
        actions=actions,
        blanks={},
        components=tuple(components(reads)),
        recursive=frozenset(n for n in domain.recursive if n in derived),
    )
