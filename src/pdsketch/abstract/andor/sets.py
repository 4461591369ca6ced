"""Functions of sets, over codes: what the empty set gives, and how a single element changes it.

That one element decides is a hypothesis, which is tried on random sets of several; most functions that
are learned of sets are of this kind ("something that blocks is ahead").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.andor.behaviour import (
    AS_EMPTY,
    UNCHANGED,
    Behaviour,
    CodeFunction,
    CounterExample,
    SampledRules,
)
from pdsketch.abstract.andor.functions import (
    CodeAxis,
    CodeInputs,
    CodeTable,
    NotAbstractableError,
    TooManyCombinationsError,
    own_column,
)
from pdsketch.abstract.andor.sampled import SampleEvaluate
from pdsketch.abstract.andor.symbolic import (
    Case,
    Scope,
    Symbols,
    conjoined,
    disjoined,
    hint_of,
    negated,
    some,
)
from pdsketch.abstract.decision_lists.decision_list import AtLeast, CodeLiteral, HasCode, SameCode
from pdsketch.core import Bools, Longs
from pdsketch.lang import (
    BOOL,
    FALSE,
    TRUE,
    Apply,
    BlankCall,
    Each,
    Equal,
    Expr,
    Update,
    ValueType,
    Variable,
    rename_bound,
    substitute,
)
from pdsketch.tensor import HELD, Node

if TYPE_CHECKING:
    from pdsketch.abstract.andor.translate import Translator


# Decision lists as formulas over codes.


@final
class ListFormulas:
    """The formulas of a decision list's rules.

    ``sampled`` is the list with the axes of its arguments; relations over codes that its literals need are
    made in ``symbols``, and variables of ``scope`` stand for the codes of arguments. ``bools`` are the
    formulas of Boolean arguments; ``variables`` are those of an element of the set, which is in it where
    ``condition`` holds.
    """

    def __init__(
        self,
        symbols: Symbols,
        sampled: SampledRules,
        scope: Scope,
        bools: Mapping[Expr, Expr],
        variables: tuple[Variable, ...] = (),
        condition: Expr = FALSE,
    ) -> None:
        self._symbols = symbols
        self._sampled = sampled
        self._scope = scope
        self._bools = dict(bools)
        self._variables = variables
        self._condition = condition

    def where(self, label: int) -> Expr:
        """Where the list gives a label: the first rule that holds counts."""
        found = []
        rules = self._sampled.rules
        for at, rule in enumerate(rules.rules):
            if rule.label == label:
                earlier = [self._not(rules.rules[i].literals) for i in rules.overridden_by(at)]
                found.append(conjoined([*map(self._literal, rule.literals), *earlier]))
        if label == rules.default:
            others = [rule for rule in rules.rules if rule.label != label]
            found.append(conjoined([self._not(rule.literals) for rule in others]))
        return disjoined(found)

    def _not(self, literals: tuple[CodeLiteral, ...]) -> Expr:
        return disjoined([self._symbols.denied(self._literal(literal)) for literal in literals])

    def _literal(self, literal: CodeLiteral) -> Expr:
        if isinstance(literal, AtLeast):
            found = self._at_least(literal.elements, literal.count)
            return found if literal.positive else self._symbols.denied(found)
        return self._about(literal, self._sampled.axes)

    def _about(self, literal: HasCode | SameCode, axes: tuple[CodeAxis, ...]) -> Expr:
        """A literal about an argument, or about a column of an element, that ``axes`` say."""
        if isinstance(literal, HasCode):
            axis = axes[literal.argument]
            table = CodeTable((axis,), np.isin(axis.codes, literal.codes))
        else:
            left, right = axes[literal.left], self._sampled.axes[literal.right]
            table = CodeTable((left, right), left.codes[:, None] == right.codes[None])
        found = self._symbols.holds(table.reduced(), self._scope, "rule", self._bools)
        return found if literal.positive else self._symbols.denied(found)

    def _at_least(self, elements: tuple[HasCode | SameCode, ...], count: int) -> Expr:
        of = self._sampled.own
        own = conjoined([self._condition, *(self._about(element, of) for element in elements)])
        if count == 1:
            return some(self._variables, own)
        if not self._variables:
            return FALSE
        fresh = self._symbols.fresh
        others = {v.name: Variable(f"{v.name}@{next(fresh)}", v.type) for v in self._variables}
        renamed = rename_bound(own, lambda v: f"{v.name}@{next(fresh)}")
        second = substitute(renamed, others)
        differ = disjoined([negated(Equal(v, others[v.name], 0.0)) for v in self._variables])
        return some([*self._variables, *others.values()], conjoined([own, second, differ]))


AGREEMENT: Final = 0.995
"""A set's function is taken to depend on one element at a time if it does so in this part of random sets."""

_SETS: Final = 2048
_ELEMENTS: Final = 4
"""Random sets on which that is tried, and their size at most."""


_OfSets = Callable[[Longs, Longs, Bools], Longs]
"""Rows of codes, elements ``[n, m, axes]`` and which of these are in the set → results ``[n, k]``."""


@final
class SetFunction:
    """A blank that is given a set: the axes of its values, those of an element, and its program.

    ``expr`` is its call, in which the variables of ``scope`` are in reach; ``translator`` knows the codes of
    its arguments. ``type_`` is that of what it is assigned to; None: it is a truth.
    """

    def __init__(
        self, translator: Translator, expr: BlankCall, scope: Scope, type_: ValueType | None = None
    ) -> None:
        sets = [a for a in expr.args if isinstance(a, Each)]
        if len(sets) != 1:
            raise NotAbstractableError(f"`{expr.blank}` is given several sets")
        self._t = translator
        self.type = type_
        self.hint = hint_of(expr)
        self.set = sets[0]
        symbols, evaluator = translator.symbols, translator.evaluator
        self.inputs = CodeInputs(translator.domain, translator.books, symbols.fresh)
        self.elements = CodeInputs(translator.domain, translator.books, symbols.fresh)
        replaced = [None if isinstance(a, Each) else self.inputs.replaced(a) for a in expr.args]
        body = self.elements.replaced(self.set.body)
        self.axes = evaluator.axes(self.inputs.found.values())
        self.own = evaluator.axes(self.elements.found.values())
        self.bools = translator.formulas(self.inputs, scope)
        self.variables, self._inner = translator.bound(self.set.variables, scope)
        self._condition: Expr | None = None
        self._expr, self._replaced, self._body = expr, replaced, body

    def condition(self, scope: Scope) -> Expr:
        """When an object is in the set."""
        if self._condition is None:
            inner = {**scope, **self._inner}
            self._condition = self._t.truth(self.set.condition, inner)
        return self._condition

    def element(self, table: CodeTable, scope: Scope) -> Expr:
        """Some element of the set has codes of which a table is true."""
        bools = {**self.bools, **self._t.formulas(self.elements, {**scope, **self._inner})}
        held = self._t.symbols.holds(table, {**scope, **self._inner}, self.hint, bools)
        return some(self.variables, conjoined([self.condition(scope), held]))

    def cases(self, table: CodeTable, scope: Scope) -> list[Case]:
        """What elements of the set write: cases of a table of their codes, and of truths."""
        bools = {**self.bools, **self._t.formulas(self.elements, {**scope, **self._inner})}
        held = self.condition(scope)
        return [
            Case(conjoined([held, c.condition]), (*self.variables, *c.variables), c.table)
            for c in self._t.cases(table, bools)
        ]

    def listed(self, sampled: SampledRules, scope: Scope) -> ListFormulas:
        """The formulas of rules that were learned from samples."""
        inner = {**scope, **self._inner}
        bools = {**self.bools, **self._t.formulas(self.elements, inner)}
        condition = self.condition(scope)
        return ListFormulas(self._t.symbols, sampled, inner, bools, self.variables, condition)

    def moved(self, changes: CodeTable) -> CodeTable | None:
        """The changes of one element; None if there are none."""
        return changes if bool((changes.results >= -1).any()) else None

    def run(self, rows: Longs, elements: Longs, held: Bools, *, gate: bool = False) -> Tensor:
        """The function on rows of codes with sets of elements ``[n, m, axes]``.

        ``rows`` are the codes of its single arguments, ``[n, axes]``; ``held`` says which of the ``elements``
        are in the set, ``[n, m]``. ``gate``: whether it writes, and not what.
        """
        evaluator = self._t.evaluator
        n, m = held.shape
        flat = elements.reshape(n * m, len(self.own))
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


def truth_of_set(translator: Translator, expr: BlankCall, scope: Scope) -> Expr:
    """The formula over codes of a Boolean blank that is given a set."""
    function = SetFunction(translator, expr, scope)

    def evaluate(rows: Longs, elements: Longs, held: Bools) -> Longs:
        truths: Bools = function.run(rows, elements, held).numpy().astype(np.bool_)
        return (truths & ~translator.evaluator.broken).astype(np.int64)[:, None]

    single = _one_at_a_time(translator, expr, function, evaluate)
    if single is None:
        sampled = _sampled(translator, expr, function, lambda *a: evaluate(*a)[:, 0], "truth", None, 0)
        yes = sampled.meanings.index(1) if 1 in sampled.meanings else -1
        return function.listed(sampled, scope).where(yes)
    (base,), (flip,), behaviour = single
    flip = CodeTable(flip.axes, flip.results >= -1).reduced()
    translator.note(CodeFunction(translator.owner, expr, None, None, 0, behaviour, base, flip, function.set))
    starts = translator.symbols.holds(base, scope, function.hint, function.bools)
    turned = function.element(flip, scope)
    if starts == TRUE:
        return translator.symbols.denied(turned)
    if starts == FALSE:
        return turned
    return disjoined(
        [
            conjoined([starts, translator.symbols.denied(turned)]),
            conjoined([translator.symbols.denied(starts), turned]),
        ]
    )


def written_by_set(
    translator: Translator, update: Update, value: BlankCall, type_: ValueType, scope: Scope
) -> list[list[Case]]:
    """What an update writes whose value is that of a blank that is given a set.

    ``value`` is that blank's call in ``update``, with the variables of ``scope`` in reach; ``type_`` is the
    type of the variable that is written. ``translator`` makes the relations over codes. A list of cases for
    each part of the type.
    """
    function = SetFunction(translator, value, scope, type_)
    gated = update.condition == TRUE and value.blank in translator.evaluator.programs.gated

    def evaluate(rows: Longs, elements: Longs, held: Bools) -> Longs:
        codes = translator.evaluator.coded(function.run(rows, elements, held), type_, constant=False)
        if gated:
            writes: Bools = function.run(rows, elements, held, gate=True).numpy().astype(np.bool_)
            codes[~writes | translator.evaluator.broken] = UNCHANGED
        return codes

    single = _one_at_a_time(translator, value, function, evaluate)
    if single is None:
        return _sampled_cases(translator, update, value, function, evaluate, scope)
    bases, flips, behaviour = single
    found = []
    for place, (base, changes) in enumerate(zip(bases, flips, strict=True)):
        translator.note(
            CodeFunction(
                translator.owner, value, update.target, type_, place, behaviour, base, changes, function.set
            )
        )
        moved = function.moved(changes)
        if moved is None:
            found.append(translator.cases(base, function.bools))
            continue
        differs = CodeTable(changes.axes, changes.results >= -1)
        still = translator.symbols.denied(function.element(differs, scope))
        cases = [
            Case(conjoined([still, c.condition]), c.variables, c.table)
            for c in translator.cases(base, function.bools)
        ]
        cases += function.cases(changes, scope)
        found.append(cases)
    return found


def _sampled_cases(
    translator: Translator,
    update: Update,
    value: BlankCall,
    function: SetFunction,
    evaluate: _OfSets,
    scope: Scope,
) -> list[list[Case]]:
    """The same by rules that are learned from samples.

    Each says that a code is written, that nothing is, or that it is as of the empty set.
    """
    assert function.type is not None
    empty = _of_empty(function, evaluate)
    try:
        bases = translator.tabulated((value, "empty"), function.axes, empty).tables
    except TooManyCombinationsError:
        bases = ()
    found = []
    for place in range(len(translator.books.parts(function.type))):
        own = own_column(function.axes, update.target, place)

        def results(
            rows: Longs, elements: Longs, held: Bools, place: int = place, own: int | None = own
        ) -> Longs:
            codes = evaluate(rows, elements, held)[:, place]
            if own is not None:
                codes = np.where(codes == rows[:, own], UNCHANGED, codes)
            if bases and bases[place].axes:
                same = (codes == empty(rows)[:, place]) & (codes != UNCHANGED)
                codes = np.where(same, AS_EMPTY, codes)
            return codes

        sampled = _sampled(translator, value, function, results, "value", update.target, place)
        formulas = function.listed(sampled, scope)
        cases = translator.listed_cases(sampled, formulas)
        if AS_EMPTY in sampled.meanings:
            when = formulas.where(sampled.meanings.index(AS_EMPTY))
            cases += [
                Case(conjoined([when, c.condition]), c.variables, c.table)
                for c in translator.cases(bases[place], function.bools)
            ]
        found.append(cases)
    return found


def _sampled(
    translator: Translator,
    expr: Expr,
    function: SetFunction,
    results: SampleEvaluate,
    kind: str,
    target: Apply | None,
    place: int,
) -> SampledRules:
    """Rules that are learned from samples of a function, which is noted."""
    sampled, behaviour = translator.sampled(
        (expr, kind, target, place), function.hint, function.axes, function.own, results
    )
    translator.note(
        CodeFunction(
            translator.owner,
            expr,
            target,
            function.type,
            place,
            behaviour,
            set=function.set,
            sampled=sampled,
        )
    )
    return sampled


def _of_empty(function: SetFunction, evaluate: _OfSets) -> Callable[[Longs], Longs]:
    """The function of the empty set."""
    inner = function.own

    def empty(rows: Longs) -> Longs:
        elements = np.zeros((len(rows), 1, len(inner)), np.int64)
        for i, axis in enumerate(inner):
            elements[:, :, i] = axis.codes[0] if len(axis.codes) else 0
        return evaluate(rows, elements, np.zeros((len(rows), 1), np.bool_))

    return empty


def _one_at_a_time(
    translator: Translator, expr: Expr, function: SetFunction, evaluate: _OfSets
) -> tuple[tuple[CodeTable, ...], tuple[CodeTable, ...], Behaviour] | None:
    """The function of the empty set, and how one element changes it; checked on sets of several.

    Codes of `AS_EMPTY` in the second tables: the element changes nothing. None: elements decide together, or
    there are too many combinations.
    """
    outer, inner = function.axes, function.own
    empty = _of_empty(function, evaluate)

    def single(rows: Longs) -> Longs:
        ours, theirs = rows[:, : len(outer)], rows[:, len(outer) :]
        found = evaluate(ours, theirs[:, None], np.ones((len(rows), 1), np.bool_))
        return np.where(found == empty(ours), AS_EMPTY, found)

    agreement, wrong = _agreement(function, evaluate)
    if agreement < AGREEMENT:
        return None
    try:
        bases = translator.tabulated((expr, "empty"), outer, empty)
        flips = translator.tabulated((expr, "single"), [*outer, *inner], single)
    except TooManyCombinationsError:
        return None
    cases = _SETS if all(table.results.size for table in bases.tables) else 0
    behaviour = Behaviour(
        function.hint,
        False,
        agreement,
        cases,
        flips.not_finite,
        flips.off,
        flips.unseen,
        counter_example=wrong,
    )
    return bases.tables, flips.tables, behaviour


def _agreement(function: SetFunction, evaluate: _OfSets) -> tuple[float, CounterExample | None]:
    """How often the function of random sets is what one of the elements makes of it, or the empty set."""
    rng = np.random.default_rng(0)
    outer, inner = function.axes, function.own
    if not inner or any(not len(axis.codes) for axis in (*outer, *inner)):
        return 1.0, None
    rows = (
        np.stack([rng.choice(a.codes, _SETS) for a in outer], -1) if outer else np.zeros((_SETS, 0), np.int64)
    )
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
    right: Bools = np.asarray(agreed.all(1))
    at = int(right.argmin())
    wrong = None
    if not right[at]:
        members = tuple(tuple(map(int, e)) for e in elements[at][held[at]])
        row, result = tuple(map(int, rows[at])), tuple(map(int, whole[at]))
        wrong = CounterExample(tuple(outer), row, tuple(inner), members, result)
    return float(right.mean()), wrong
