"""A function of the model over codes: codes in, formula out.

A function is tabulated for all combinations of the codes of what it reads. Of a set, there are two tables:
what the empty set gives, and how a single element changes that; whether one element decides is tried on
random sets. Where tables are too large, or elements decide together, a decision list is learned from samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.andor import functions
from pdsketch.abstract.andor.functions import (
    AS_EMPTY,
    SAMPLES,
    UNCHANGED,
    ArgumentSampler,
    Behaviour,
    CodeAxis,
    CodeFunction,
    CodeInputs,
    CodeTable,
    CounterExample,
    NotAbstractableError,
    SampledRules,
    Tabulated,
    TooManyCombinationsError,
    learn_sampled,
    lists_of,
    own_column,
    portions,
)
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
    BlankCall,
    Each,
    Equal,
    Expr,
    Update,
    ValueType,
    Variable,
    formula_text,
    rename_bound,
    substitute,
    walk,
)
from pdsketch.tensor import CRISP, HELD, SURE, Node, largest_set, logic_of

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


@final
class ModelFunction:
    """A function of the model: a truth, or what an ``update`` writes, in an order of its type's parts.

    ``expr`` is its expression, in which the variables of ``scope`` are in reach; the ``translator`` knows the
    codes and the relations over them. ``axes`` are the codes of what it reads, ``own`` those of an element of
    its set, if it is a blank that is given one. ``key`` is the same in every process. A truth may be that the
    expression holds surely (``sure``), or surely does not (not ``sure``): by the form and all its rivals.
    """

    def __init__(
        self,
        translator: Translator,
        expr: Expr,
        scope: Scope,
        update: Update | None = None,
        *,
        sure: bool | None = None,
    ) -> None:
        self._t, self._scope, self._sure = translator, scope, sure
        self.expr, self.hint = expr, hint_of(expr)
        self.target = None if update is None else update.target
        self.type = None if self.target is None else translator.domain.predicates[self.target.predicate].type
        domain, evaluator, fresh = translator.domain, translator.evaluator, translator.symbols.fresh
        self._inputs = CodeInputs(domain, translator.books, fresh)
        self._elements = CodeInputs(domain, translator.books, fresh)
        args = expr.args if isinstance(expr, BlankCall) else ()
        sets = [a for a in args if isinstance(a, Each)]
        if len(sets) > 1:
            raise NotAbstractableError(f"`{self.hint}` is given several sets")
        self.set = sets[0] if sets else None
        bare = update is not None and update.condition == TRUE
        programs, largest = evaluator.programs, None
        if isinstance(expr, BlankCall) and self.set is not None:
            replaced = [None if a is self.set else self._inputs.replaced(a) for a in args]
            body = self._elements.replaced(self.set.body)
            reads = self._inputs.variables, self._elements.variables
            # A program for each size of sets.
            self._program = partial(programs.of_sets, expr, replaced, body, *reads)
            self._gated = bare and expr.blank in programs.gated
            before = [a.type for a in args[: args.index(self.set)] if isinstance(a.type, ValueType)]
            largest = largest_set(translator.model.notes, expr.blank, before)
        else:
            value = self._inputs.replaced(expr)
            logic = CRISP if sure is None else logic_of("godel")
            self._node = programs.value(value, self.type or BOOL, self._inputs.variables, logic)
            self._gate = programs.gate(update, value, self._inputs.variables) if update and bare else None
            self._gated = self._gate is not None
        self.axes = tuple(evaluator.axes(self._inputs.found.values()))
        self.own = tuple(evaluator.axes(self._elements.found.values()))
        self._bools = translator.formulas(self._inputs, scope)
        self._variables, more = translator.bound(self.set.variables if self.set else (), scope)
        self._inner = {**scope, **more}
        self._sampler = ArgumentSampler(self.axes, self.own, translator.books.seen, largest)
        self._identity = (expr, self.type, self._gated, sure)
        blanks = sorted({node.blank for node in walk(expr) if isinstance(node, BlankCall)})
        words = [formula_text(expr), *blanks, "" if self.type is None else f"-> {self.type}"]
        self.key = " ".join(words).strip()

    # -- codes in, codes out --------------------------------------------------------

    def results(self, rows: Longs, elements: Longs | None = None, held: Bools | None = None) -> Longs:
        """Its results on rows of codes, ``[n, parts]``: codes, or 0 and 1 of a truth.

        Of a set, ``elements`` are codes of what may be in it, ``[n, m, own]``, and ``held`` says what is.
        """
        evaluator, parts = self._t.evaluator, []
        for some_rows in portions(len(rows)):
            n = len(rows[some_rows])
            given, size = evaluator.parameters(self.axes, rows[some_rows]), 0
            if self.set is not None:
                assert elements is not None
                assert held is not None
                size = held.shape[1]
                flat = elements[some_rows].reshape(n * size, len(self.own))
                for name, tensor in evaluator.parameters(self.own, flat).items():
                    given[name] = tensor.reshape(1, n, size, *tensor.shape[2:])
                given[HELD] = torch.from_numpy(held[some_rows])[None].to(evaluator.programs.device)
            parts.append(self.answers(given, n, size))
        found = np.concatenate(parts)
        corrected = self.set is None and self._sure is None
        return self._t.corrections.applied(self, rows, found) if corrected else found

    def answers(self, given: Mapping[str, Tensor], n: int, size: int = 0) -> Longs:
        """What the model answers on values of what it reads, ``[1, n, …]`` each."""
        evaluator = self._t.evaluator
        node = self._node if self.set is None else self._program(size, self.type or BOOL)
        if self._sure is not None:
            degrees = evaluator.run_on(given, n, node).numpy()
            surely: Bools = degrees > SURE if self._sure else degrees < 1.0 - SURE
            return surely.astype(np.int64)[:, None]
        if self.type is None:
            return evaluator.truths_on(given, n, node).astype(np.int64)[:, None]
        values = evaluator.run_on(given, n, node)
        constant = self.set is None and not self.axes
        codes = evaluator.coded(values, self.type, constant=constant)
        gate: Node | None = None
        if self._gated:
            gate = self._gate if self.set is None else self._program(size, None)
        if gate is not None:
            codes[~evaluator.truths_on(given, n, gate)] = UNCHANGED
        return codes

    def _empty(self, rows: Longs) -> Longs:
        """Its results on the empty set."""
        elements = np.zeros((len(rows), 1, len(self.own)), np.int64)
        elements[:] = [int(axis.codes[0]) if len(axis.codes) else 0 for axis in self.own]
        return self.results(rows, elements, np.zeros((len(rows), 1), np.bool_))

    def _changed(self, rows: Longs) -> Longs:
        """How one element changes them: rows are the codes of all else, and those of the element."""
        ours, theirs = rows[:, : len(self.axes)], rows[:, len(self.axes) :]
        found = self.results(ours, theirs[:, None], np.ones((len(rows), 1), np.bool_))
        return np.where(found == self._empty(ours), AS_EMPTY, found)

    @property
    def has_tables(self) -> bool:
        """Whether its combinations of codes are few enough to be listed."""
        return prod(len(axis.codes) for axis in (*self.axes, *self.own)) <= functions.MOST_COMBINATIONS

    # -- its representation ------------------------------------------------------------

    def represented(self) -> list[CodeFunction]:
        """How it is represented, for each part of its type; it is noted."""
        found: list[CodeFunction] | None = None
        with suppress(TooManyCombinationsError):
            found = [*self._tables()]
        if found is None or found[0].behaviour.agreement < AGREEMENT:
            try:
                lists = [*self._lists()]
            except NotAbstractableError:
                if found is None:
                    raise
            else:
                worst = min(function.behaviour.agreement for function in lists)
                if found is None or worst > found[0].behaviour.agreement:
                    found = lists
        if self._sure is None:
            for function in found:
                self._t.note(function)
        return found

    def _tables(self) -> Iterator[CodeFunction]:
        """By tables; `TooManyCombinationsError` where these are too large."""
        if self.set is None:
            whole = self._t.tabulated(self._identity, self.axes, self.results, self.key)
            for place, table in enumerate(whole.tables):
                yield self._noted(place, self._behaviour(whole, int(table.results.size)), table=table)
            return
        agreement, wrong = self._agreement()
        empty = self._t.tabulated((self._identity, "empty"), self.axes, self._empty)
        single = self._t.tabulated((self._identity, "single"), [*self.axes, *self.own], self._changed)
        cases = SAMPLES if all(table.results.size for table in empty.tables) else 0
        behaviour = self._behaviour(single, cases, agreement, wrong)
        for place, (table, elements) in enumerate(zip(empty.tables, single.tables, strict=True)):
            changes = elements
            if self.type is None:
                changes = CodeTable(elements.axes, elements.results >= -1).reduced()
            yield self._noted(place, behaviour, table=table, elements=changes)

    def _behaviour(
        self, found: Tabulated, cases: int, agreement: float = 1.0, wrong: CounterExample | None = None
    ) -> Behaviour:
        return Behaviour(self.hint, self.set is None, agreement, cases, found.counts, wrong)

    def _noted(
        self,
        place: int,
        behaviour: Behaviour,
        *,
        table: CodeTable | None = None,
        elements: CodeTable | None = None,
        sampled: SampledRules | None = None,
    ) -> CodeFunction:
        return CodeFunction(self._t.owner, self, place, behaviour, table, elements, sampled)

    def _agreement(self) -> tuple[float, CounterExample | None]:
        """How often the result of random sets is what one of the elements makes of it, or the empty set."""
        if not self.own or any(not len(axis.codes) for axis in (*self.axes, *self.own)):
            return 1.0, None
        rows, elements, held = self._sampler.draw(SAMPLES)
        whole, empty = self.results(rows, elements, held), self._empty(rows)
        agreed = np.zeros(whole.shape, np.bool_)
        changed = np.zeros(whole.shape, np.bool_)
        for i in range(held.shape[1]):
            one = self.results(rows, elements[:, i : i + 1], np.ones((SAMPLES, 1), np.bool_))
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
            wrong = CounterExample(self.axes, row, self.own, members, result)
        return float(right.mean()), wrong

    def _lists(self) -> Iterator[CodeFunction]:
        """By decision lists that are learned from samples.

        Each says that a code is written, that nothing is, or that it is as of the empty set.
        """
        bases: tuple[CodeTable | None, ...] = (None,) * self._n_parts
        if self.set is not None and self.type is not None:
            with suppress(TooManyCombinationsError):
                bases = self._t.tabulated((self._identity, "empty"), self.axes, self._empty).tables
        for place, base in enumerate(bases):
            own = None if self.target is None else own_column(self.axes, self.target, place)
            varies = base is not None and bool(base.axes)

            def results(
                rows: Longs,
                elements: Longs,
                held: Bools,
                place: int = place,
                own: int | None = own,
                varies: bool = varies,
            ) -> Longs:
                codes = self.results(rows, elements, held)[:, place]
                if own is not None:
                    codes = np.where(codes == rows[:, own], UNCHANGED, codes)
                if varies:
                    same = (codes == self._empty(rows)[:, place]) & (codes != UNCHANGED)
                    codes = np.where(same, AS_EMPTY, codes)
                return codes

            known = lists_of(self._t.model)
            sampled, behaviour = learn_sampled(self.hint, self._sampler, results, known)
            yield self._noted(place, behaviour, table=base, sampled=sampled)

    @property
    def _n_parts(self) -> int:
        return 1 if self.type is None else len(self._t.books.parts(self.type))

    # -- formula out -------------------------------------------------------------------

    def truth(self) -> Expr:
        """The formula over codes of a truth."""
        (function,) = self.represented()
        if function.sampled is not None:
            return self._where(function.sampled, 1)
        assert function.table is not None
        symbols = self._t.symbols
        starts = symbols.holds(function.table, self._scope, self.hint, self._bools)
        if function.elements is None:
            return starts
        turned = self._element(function.elements)
        if starts == TRUE:
            return symbols.denied(turned)
        if starts == FALSE:
            return turned
        ways = [starts, symbols.denied(turned)], [symbols.denied(starts), turned]
        return disjoined(map(conjoined, ways))

    def cases(self) -> list[list[Case]]:
        """What is written: for each part of its type the cases; codes of -1 write nothing."""
        return [[*self._cases(function)] for function in self.represented()]

    def _cases(self, function: CodeFunction) -> Iterator[Case]:
        table, changes, sampled = function.table, function.elements, function.sampled
        starts: Expr = TRUE
        if sampled is not None:
            written = [code for code in sampled.meanings if code >= 0]
            yield from (Case(self._where(sampled, c), (), CodeTable((), np.array(c))) for c in written)
            starts = self._where(sampled, AS_EMPTY)
        elif changes is not None and bool((changes.results >= -1).any()):
            differs = CodeTable(changes.axes, changes.results >= -1)
            starts = self._t.symbols.denied(self._element(differs))
            for case in self._t.cases(changes, self._every_bool):
                held = conjoined([self._condition, case.condition])
                yield Case(held, (*self._variables, *case.variables), case.table)
        if table is not None and starts != FALSE:
            for case in self._t.cases(table, self._bools):
                yield Case(conjoined([starts, case.condition]), case.variables, case.table)

    @cached_property
    def _condition(self) -> Expr:
        """When an object is in the set."""
        return FALSE if self.set is None else self._t.truth(self.set.condition, self._inner)

    @cached_property
    def _every_bool(self) -> dict[Expr, Expr]:
        """The formulas of Boolean inputs, those of an element among them."""
        return {**self._bools, **self._t.formulas(self._elements, self._inner)}

    def _element(self, table: CodeTable) -> Expr:
        """Some element of the set has codes of which a table is true."""
        held = self._t.symbols.holds(table, self._inner, self.hint, self._every_bool)
        return some(self._variables, conjoined([self._condition, held]))

    def _where(self, sampled: SampledRules, meaning: int) -> Expr:
        """Where a list says so."""
        if meaning not in sampled.meanings:
            return FALSE
        about = self._every_bool, self._variables, self._condition
        formulas = ListFormulas(self._t.symbols, sampled, self._inner, *about)
        return formulas.where(sampled.meanings.index(meaning))
