"""The rules of one function of a model, as text: what it gives, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import floor
from typing import Any, Final, final

import numpy as np

from pdsketch.abstract.andor.codebooks import Codebook, Codebooks
from pdsketch.abstract.andor.functions import (
    AS_EMPTY,
    UNCHANGED,
    CodeAxis,
    CodeFunction,
    CodeTable,
    CounterExample,
    own_column,
)
from pdsketch.abstract.decision_lists.decision_list import AtLeast, CodeLiteral, HasCode, SameCode
from pdsketch.abstract.decision_lists.exact import exact_rules
from pdsketch.abstract.written import WrittenBlank
from pdsketch.core import Longs
from pdsketch.lang import (
    FALSE,
    TRUE,
    Apply,
    Component,
    Domain,
    Expr,
    Logic,
    Value,
    Variable,
    formula_text,
    map_children,
)

# How codes and what has them are called where people read them.


def value_name(book: Codebook, code: int) -> str:
    """What stands behind the ``@``: the value, where the code has a single known one; else its number."""
    if book.fixed:
        return str(code)
    numbers = [f"{float(number):.4g}" for number in book.values[code]]
    numbers = ["0" if number == "-0" else number for number in numbers]
    return numbers[0] if len(numbers) == 1 else f"({','.join(numbers)})"


def shown_code(book: Codebook, code: int) -> str:
    """A code as a value: ``pose@(3,4)``."""
    return f"{book.name}@{value_name(book, code)}"


def axis_text(axis: CodeAxis) -> str:
    """What has the codes of an axis: ``(robot-pose ?r)``, ``(item-feature.1 ?o)``."""
    return _with(axis.input.expr, f".{axis.place}" if _is_split(axis) else "")


def fact_text(axis: CodeAxis, code: int) -> str:
    """It has a code: ``(robot-pose@(3,4) ?r)``; of a formula, it is true or false."""
    source = axis.input.expr
    if axis.part is None:
        return formula_text(source) if code else f"(not {formula_text(source)})"
    name = value_name(axis.part.book, code)
    if isinstance(source, Variable):
        return f"(= {axis_text(axis)} {name})"
    return _with(source, f"{f'.{axis.place}' if _is_split(axis) else ''}@{name}")


def _is_split(axis: CodeAxis) -> bool:
    """Whether what it reads has more than one part."""
    assert axis.part is not None
    return not isinstance(axis.input.expr, Component) and axis.part.book.name != str(axis.input.type)


def _with(source: Expr, suffix: str) -> str:
    if not isinstance(source, Apply):
        return formula_text(source) + suffix
    return f"({' '.join([source.predicate + suffix, *map(formula_text, source.args)])})"


@final
class LiteralText:
    """Writes literals over axes: about their places in the ``axes``, or about codes (``coded``).

    ``own`` are the axes of an element of a set; a literal about elements says that some element satisfies
    them: one that the ``variables`` stand for, where ``condition`` (as text) holds.
    """

    def __init__(
        self,
        axes: Sequence[CodeAxis],
        own: Sequence[CodeAxis] = (),
        variables: Sequence[Variable] = (),
        condition: str = "",
        *,
        coded: bool = False,
    ) -> None:
        self._axes, self._own, self._coded = axes, own, coded
        self._variables, self._condition = variables, condition

    def body(self, literals: Sequence[CodeLiteral]) -> str:
        """All of the literals hold."""
        return conjunction([self.literal(literal) for literal in literals]) if literals else "true"

    def literal(self, literal: CodeLiteral) -> str:
        """A literal as a formula."""
        if not isinstance(literal, AtLeast):
            return self._about(literal, self._axes)
        parts = [self._about(element, self._own) for element in literal.elements]
        within = conjunction([self._condition, *parts] if self._condition else parts)
        some = "exists" if literal.count == 1 else f"at-least-{literal.count}"
        typed = " ".join(f"{v.name} - {v.type}" for v in self._variables)
        text = f"({some} ({typed}) {within})"
        return text if literal.positive else f"(not {text})"

    def _about(self, literal: HasCode | SameCode, axes: Sequence[CodeAxis]) -> str:
        """One about an argument, or a column of an element, that ``axes`` say."""
        if isinstance(literal, HasCode):
            axis = axes[literal.argument]
            codes = literal.codes if self._coded else np.asarray(axis.codes)[[*literal.codes]].tolist()
            text = disjunction([fact_text(axis, code) for code in codes])
        else:
            text = f"(= {axis_text(axes[literal.left])} {axis_text(self._axes[literal.right])})"
        return text if literal.positive else f"(not {text})"


def conjunction(parts: list[str]) -> str:
    """All of the parts hold."""
    return parts[0] if len(parts) == 1 else f"(and{''.join(' ' + part for part in parts)})"


def disjunction(parts: list[str]) -> str:
    """Some of the parts hold."""
    if not parts:
        return "false"
    return parts[0] if len(parts) == 1 else f"(or{''.join(' ' + part for part in parts)})"


UNCHANGED_TEXT: Final = "unchanged"

_OTHERWISE: Final = "otherwise"

WRITTEN: Final = "nothing: it is the function itself"
"""What rules are compared on that are what the model answers by."""

_WIDE: Final = 240
"""Characters of one rule, where not all is wanted."""


@final
@dataclass(frozen=True, slots=True)
class FunctionRules:
    """What one function of the model does, over codes.

    - ``owner``: the action or derived predicate that it belongs to; ``blank`` its name there.
    - ``head``: what it says: a formula, or a state variable that is written (``writes``).
    - ``rules``: results with their conditions, the first that holds counts; the last holds otherwise.
    - ``exact``: computed on all ``cases`` combinations of codes; else ``agreement`` is the share of so many
      held-out cases. ``compared_on`` says what these are.
    """

    owner: str
    blank: str
    head: str
    writes: bool
    rules: tuple[tuple[str, str], ...]
    exact: bool
    agreement: float
    cases: int
    compared_on: str
    not_finite: int = 0
    off: int = 0
    unseen: int = 0
    corrected: int = 0
    counter_example: str | None = None

    def lines(self, most: int | None = None) -> list[str]:
        """The rules and how well they agree, at most so many rules."""
        shown = self.rules if most is None or len(self.rules) <= most else self.rules[: most - 1]
        found = []
        if not self.writes:
            found.append(f"{self.head} = {_cut(_formula(self.rules, most), most)}")
        elif len(self.rules) == 1:
            found.append(f"{self.head} <- {self.rules[0][0]}")
        else:
            found.append(f"{self.head} <-")
            found += [f"  {_cut(f'{result} {_when(condition)}', most)}" for result, condition in shown]
            if len(shown) < len(self.rules):
                left = len(self.rules) - len(shown) - 1
                found.append(f"  … {left:,} more rules")
                found.append(f"  {self.rules[-1][0]} {_when(self.rules[-1][1])}")
        return [*found, *(f"  ; {remark}" for remark in self.remarks())]

    def remarks(self) -> list[str]:
        """How well the rules agree with the model, and what else is to be known of them."""
        lines = []
        if self.compared_on == WRITTEN:
            lines.append("exact: this is what answers")
        elif not self.cases:
            lines.append("no values of what it reads are known: train the model, or give a state")
        elif self.exact:
            constant = "always" if self.writes else "a constant"
            of_codes = f"all {self.cases:,} combinations of codes"
            lines.append(f"exact: {constant if self.cases == 1 else of_codes}")
        else:
            lines.append(f"agrees with {_percent(self.agreement)} of {self.cases:,} {self.compared_on}")
        if self.counter_example is not None:
            lines.append(f"counter-example: {self.counter_example}")
        if self.corrected:
            lines.append(f"corrected in {_cases(self.corrected)} by what the model did in plans")
        if self.not_finite:
            what = "nothing is written" if self.writes else "it counts as false"
            lines.append(f"NaN from the network in {self.not_finite:,} cases: {what}")
        if self.off:
            lines.append(f"uncertain: in {self.off:,} cases the value is off every code, the nearest counts")
        if self.unseen:
            lines.append(f"nothing is written in {self.unseen:,} cases, whose values no data had")
        return lines

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        rules = [{"result": result, "when": when} for result, when in self.rules]
        return {**asdict(self), "rules": rules}


def _cut(text: str, most: int | None) -> str:
    """The text, or so much of it that it can be read, where not all is wanted."""
    if most is None or len(text) <= _WIDE:
        return text
    return f"{text[: text.rindex(' ', 0, _WIDE)]} …"


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count:,} cases"


def _when(condition: str) -> str:
    return condition if condition == _OTHERWISE else f"when {condition}"


def _formula(rules: Sequence[tuple[str, str]], most: int | None) -> str:
    """Rules of a truth as one formula."""
    if len(rules) == 1:
        return rules[0][0]
    parts = [condition for _, condition in rules[:-1]]
    if len({result for result, _ in rules[:-1]}) > 1:
        listed = [f"{result} when {condition}" for result, condition in rules[:-1]]
        return "; ".join([*_some(listed, most), f"{rules[-1][0]} otherwise"])
    text = disjunction(_some(parts, most))
    return text if rules[0][0] == "true" else f"(not {text})"


def _some(parts: list[str], most: int | None) -> list[str]:
    if most is None or len(parts) <= most:
        return parts
    return [*parts[:most], f"… {len(parts) - most:,} more"]


def _percent(share: float) -> str:
    """Rounded down: 100 % means all."""
    return f"{floor(1000 * share + 1e-9) / 10:.1f} %"


@final
class RuleWriter:
    """Writes the rules of functions as text."""

    def __init__(self, domain: Domain, books: Codebooks) -> None:
        self._domain = domain
        self._books = books

    def rules(self, function: CodeFunction) -> FunctionRules:
        """All that is known of a function."""
        behaviour = function.behaviour
        if function.sampled is not None:
            rules, on = self._listed(function), "held-out samples"
        elif function.elements is not None:
            rules, on = self._of_set(function), "random sets"
        else:
            assert function.table is not None
            rules, on = self._of_table(function, function.table), "all combinations"
        return FunctionRules(
            function.owner,
            behaviour.name,
            self._head(function),
            function.function.target is not None,
            tuple(rules),
            behaviour.exact,
            behaviour.agreement,
            behaviour.cases,
            on,
            counter_example=self._counter_example(function, behaviour.counter_example),
            **asdict(behaviour.counts),
        )

    def written(self, blank: WrittenBlank) -> FunctionRules:
        """The same of a blank that is written down: its formula, or the values that it writes."""
        call, cases = blank.call, [(_short(when), _short(value)) for when, value in blank.cases]
        name = blank.call.blank.split("::", 2)[2]
        if blank.target is not None:
            head = formula_text(blank.target)
            rules = [(_value_text(value, blank.target), formula_text(when)) for when, value in cases]
            rules = [(said, _OTHERWISE if when == "true" else when) for said, when in rules]
            rules += [] if rules[-1][1] == _OTHERWISE else [(UNCHANGED_TEXT, _OTHERWISE)]
        else:
            ((_, formula),) = cases
            owner = self._domain.predicates.get(blank.owner)
            is_body = owner is not None and owner.body == call
            head = _named(blank.owner, owner.parameters) if owner and is_body else formula_text(call)
            parts = formula.args if isinstance(formula, Logic) and formula.op == "or" else (formula,)
            rules = [("true", formula_text(part)) for part in parts] + [("false", _OTHERWISE)]
            if formula in (TRUE, FALSE):
                rules = [(formula_text(formula), _OTHERWISE)]
        return FunctionRules(
            blank.owner,
            f"{blank.owner}.{name}",
            head,
            blank.target is not None,
            tuple(rules),
            True,
            1.0,
            0,
            WRITTEN,
        )

    def _head(self, function: CodeFunction) -> str:
        if function.function.target is not None:
            assert function.function.type is not None
            split = len(self._books.parts(function.function.type)) > 1
            name = function.function.target.predicate + (f".{function.place}" if split else "")
            return f"({' '.join([name, *map(formula_text, function.function.target.args)])})"
        owner = self._domain.predicates.get(function.owner)
        if owner is not None and owner.body == function.function.expr:
            return _named(owner.name, owner.parameters)
        return formula_text(function.function.expr)

    def _result(self, function: CodeFunction, meaning: int) -> str:
        if function.function.type is None:
            return "true" if meaning else "false"
        if meaning == UNCHANGED:
            return UNCHANGED_TEXT
        if meaning == AS_EMPTY:
            return "as of no elements"
        return shown_code(self._books.parts(function.function.type)[function.place].book, meaning)

    def _of_table(self, function: CodeFunction, table: CodeTable) -> list[tuple[str, str]]:
        if not table.results.size:
            return [("unknown", _OTHERWISE)]
        results = _kept_is_unchanged(function, table)
        labels = np.unique(results)
        default = UNCHANGED if function.function.type is not None and UNCHANGED in labels else None
        boxes, other = _boxes(table.axes, results, default)
        names = LiteralText(table.axes)
        return self._grouped(function, boxes, other, names)

    def _grouped(
        self,
        function: CodeFunction,
        boxes: list[tuple[int, tuple[CodeLiteral, ...]]],
        default: int,
        names: LiteralText,
    ) -> list[tuple[str, str]]:
        """Rules by their result: their order does not matter."""
        found: dict[int, list[str]] = {}
        for meaning, literals in boxes:
            found.setdefault(meaning, []).append(names.body(literals))
        if function.function.type is None:
            listed = [(self._result(function, m), part) for m, parts in found.items() for part in parts]
        else:
            listed = [(self._result(function, m), disjunction(parts)) for m, parts in found.items()]
        return [*listed, (self._result(function, default), _OTHERWISE)]

    def _of_set(self, function: CodeFunction) -> list[tuple[str, str]]:
        """How one element changes it comes first, then what the empty set gives."""
        table, elements, each = function.table, function.elements, function.function.set
        assert table is not None
        assert elements is not None
        assert each is not None
        base = self._of_table(function, table)
        truth = function.function.type is None
        results = elements.results.astype(np.int64)
        if not truth:
            own = (
                own_column(elements.axes, function.function.target, function.place)
                if function.function.target
                else None
            )
            if own is not None:
                results = np.where(results == _codes_along(elements, own), UNCHANGED, results)
        nothing = 0 if truth else AS_EMPTY
        boxes, _ = _boxes(elements.axes, results, nothing) if results.size else ([], nothing)
        if not boxes:
            return base
        typed = " ".join(f"{v.name} - {v.type}" for v in each.variables)
        member = [] if each.condition == TRUE else [formula_text(each.condition)]
        names = LiteralText(elements.axes)
        found: dict[int, list[str]] = {}
        for meaning, literals in boxes:
            found.setdefault(meaning, []).append(names.body(literals))
        some = {}
        for meaning, parts in found.items():
            body = conjunction([*member, disjunction(parts)])
            some[meaning] = f"(exists ({typed}) {body})" if each.variables else body
        if not truth:
            return [*((self._result(function, m), text) for m, text in some.items()), *base]
        turned = some[1]
        if len(base) == 1:
            start = base[0][0]
            return [("false" if start == "true" else "true", turned), (start, _OTHERWISE)]
        starts = _formula(base, None)
        either = disjunction(
            [conjunction([starts, f"(not {turned})"]), conjunction([f"(not {starts})", turned])]
        )
        return [("true", either), ("false", _OTHERWISE)]

    def _listed(self, function: CodeFunction) -> list[tuple[str, str]]:
        sampled = function.sampled
        assert sampled is not None
        each = function.function.set
        names = LiteralText(
            sampled.axes,
            sampled.own,
            each.variables if each else (),
            "" if each is None or each.condition == TRUE else formula_text(each.condition),
            coded=True,
        )
        listed = [
            (self._result(function, sampled.meanings[rule.label]), names.body(rule.literals))
            for rule in sampled.rules.rules
        ]
        return [*listed, (self._result(function, sampled.meanings[sampled.rules.default]), _OTHERWISE)]

    def _counter_example(self, function: CodeFunction, example: CounterExample | None) -> str | None:
        if example is None:
            return None
        parts = [fact_text(axis, code) for axis, code in zip(example.axes, example.codes, strict=True)]
        elements = [
            conjunction([fact_text(axis, code) for axis, code in zip(example.own, one, strict=True)])
            for one in example.elements
        ]
        if example.own:
            parts.append(f"elements {{{', '.join(elements)}}}")
        place = min(function.place, len(example.result) - 1)
        return f"{', '.join(parts)}: the model says {self._result(function, example.result[place])}"


def _named(name: str, parameters: Sequence[Variable]) -> str:
    return f"({' '.join([name, *(p.name for p in parameters)])})"


def _short(expr: Expr) -> Expr:
    """An expression with four digits of each number."""
    if isinstance(expr, Value) and isinstance(expr.value, float):
        return replace(expr, value=float(f"{expr.value:.4g}"))
    return map_children(expr, _short)


def _value_text(value: Expr, target: Apply) -> str:
    """What is written; what was there is no news."""
    return UNCHANGED_TEXT if value == target else formula_text(value)


def _boxes(
    axes: tuple[CodeAxis, ...], results: Longs, default: int | None
) -> tuple[list[tuple[int, tuple[CodeLiteral, ...]]], int]:
    """Rules for all cells of a table but those of the default, whose order does not matter."""
    meanings, labels = np.unique(results, return_inverse=True)
    wanted = None
    if default is not None:
        if default not in meanings:
            meanings = np.append(meanings, default)
        wanted = int(np.flatnonzero(meanings == default)[0])
    pairs = [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(axes), 2)
        if a.part is not None and b.part is not None and a.part.book is b.part.book
        if np.array_equal(a.codes, b.codes)
    ]
    rules, other = exact_rules(labels.reshape(results.shape), pairs, wanted)
    return [(int(meanings[rule.label]), rule.literals) for rule in rules], int(meanings[other])


def _kept_is_unchanged(function: CodeFunction, table: CodeTable) -> Longs:
    """The results; writing the code that is there already is to change nothing."""
    results: Longs = table.results.astype(np.int64)
    if function.function.target is None:
        return results
    own = own_column(table.axes, function.function.target, function.place)
    if own is None:
        return results
    return np.where(results == _codes_along(table, own), UNCHANGED, results)


def _codes_along(table: CodeTable, own: int) -> Longs:
    """The codes of an axis, in the shape of the table."""
    shape = [1] * len(table.axes)
    shape[own] = -1
    return np.broadcast_to(table.axes[own].codes.reshape(shape), table.results.shape)
