"""``pds.rules``: what a model has learned, as first-order rules over codes.

Conditions are formulas over atoms such as ``(robot-pose@(3,4) ?r)``: it has the code of that value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product
from math import floor
from typing import Any, Final, final

import numpy as np
import torch

from pdsketch.abstract.andor.codebooks import Codebook, Codebooks
from pdsketch.abstract.andor.domain import symbolic_domain
from pdsketch.abstract.andor.functions import (
    AS_EMPTY,
    UNCHANGED,
    CodeAxis,
    CodeFunction,
    CodeTable,
    CounterExample,
    own_column,
)
from pdsketch.abstract.andor.symbolic import conjoined, disjoined, negated, part_name, some
from pdsketch.abstract.decision_lists.decision_list import (
    AtLeast,
    CodeLiteral,
    HasCode,
    SameCode,
    exact_rules,
)
from pdsketch.abstract.written import WrittenBlank, written_blanks
from pdsketch.core import Longs
from pdsketch.lang import (
    FALSE,
    TRUE,
    Apply,
    BlankCall,
    Component,
    Domain,
    Equal,
    Expr,
    Logic,
    Object,
    ObjectType,
    Predicate,
    Value,
    Variable,
    formula_text,
    map_children,
    show_atom,
    walk,
)
from pdsketch.progress import ticking
from pdsketch.tensor import COUNTS, Model, State

MOST_RULES: Final = 8
"""Rules of one function that are printed where not all are asked for; of each, so many times 30 characters.
Set by hand."""

UNCHANGED_TEXT: Final = "unchanged"

_OTHERWISE: Final = "otherwise"

WRITTEN: Final = "nothing: it is the function itself"
"""What rules are compared on that are what the model answers by."""

Rules = list[tuple[str, str]]
"""Results with their conditions: the first that holds counts."""


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


def _read(axis: CodeAxis, code: str = "") -> Expr:
    """What has the codes of an axis, ``(item-feature.1 ?o)``, or that it has a ``code``."""
    source, part = axis.input.expr, axis.part
    is_split = part is not None and part.book.name != str(axis.input.type)
    own = f".{axis.place}" if is_split and not isinstance(source, Component) else ""
    if isinstance(source, Apply):
        return replace(source, predicate=f"{source.predicate}{own}{code}")
    return Object(f"{formula_text(source)}{own}{code}", ObjectType(("object",)))


def _fact(axis: CodeAxis, code: int) -> Expr:
    """An axis has a code; of a formula, it is true or false."""
    source = axis.input.expr
    if axis.part is None:
        return source if code else negated(source)
    name = value_name(axis.part.book, code)
    if isinstance(source, Variable):
        return Equal(_read(axis), Object(name, ObjectType(("object",))), 0.0)
    return _read(axis, f"@{name}")


@final
class LiteralFormulas:
    """Literals of rules over axes as formulas that can be read.

    They are about places in ``axes``, or about codes (``coded``). ``own`` are the axes of an element of a
    set; a literal about elements says that some element satisfies it: one that the ``variables`` stand for,
    where ``condition`` holds.
    """

    def __init__(
        self,
        axes: Sequence[CodeAxis],
        own: Sequence[CodeAxis] = (),
        variables: Sequence[Variable] = (),
        condition: Expr = TRUE,
        *,
        coded: bool = False,
    ) -> None:
        self._axes, self._own, self._coded = axes, own, coded
        self._variables, self._condition = variables, condition

    def all(self, literals: Sequence[CodeLiteral]) -> Expr:
        """All of the literals hold."""
        return conjoined([self._literal(literal) for literal in literals])

    def _literal(self, literal: CodeLiteral) -> Expr:
        if not isinstance(literal, AtLeast):
            return self._about(literal, self._axes)
        parts = [self._about(element, self._own) for element in literal.elements]
        found = some(self._variables, conjoined([self._condition, *parts]))
        if literal.count > 1:
            text = formula_text(found).replace("(exists ", f"(at-least-{literal.count} ", 1)
            found = Object(text, ObjectType(("object",)))
        return found if literal.positive else negated(found)

    def _about(self, literal: HasCode | SameCode, axes: Sequence[CodeAxis]) -> Expr:
        """One about an argument, or a column of an element, that ``axes`` say."""
        if isinstance(literal, SameCode):
            found: Expr = Equal(_read(axes[literal.left]), _read(self._axes[literal.right]), 0.0)
        else:
            axis = axes[literal.argument]
            codes = literal.codes if self._coded else axis.codes[[*literal.codes]].tolist()
            found = disjoined([_fact(axis, code) for code in codes])
        return found if literal.positive else negated(found)


@final
@dataclass(frozen=True, slots=True)
class FunctionRules:
    """What one function of the model does, over codes.

    - ``owner``: the action or derived predicate that it belongs to; ``blank`` its name there.
    - ``head``: what it says: a formula, or a state variable that is written (``writes``).
    - ``rules``: results with their conditions, the first that holds counts; the last holds otherwise.
    - ``exact``: computed on all ``cases`` combinations of codes; else ``agreement`` is the share of so many
      held-out cases. ``compared_on`` says what these are. The others are those of `Counts`.
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
    counter_example: str | None = None
    not_finite: int = 0
    off: int = 0
    unseen: int = 0
    corrected: int = 0

    def lines(self, most: int | None = None) -> list[str]:
        """The rules and how well they agree, at most so many rules."""
        if not self.writes:
            found = [f"{self.head} = {_cut(self._formula(most), most)}"]
        elif len(self.rules) == 1:
            found = [f"{self.head} <- {self.rules[0][0]}"]
        else:
            each = [f"  {_cut(f'{result} {_when(condition)}', most)}" for result, condition in self.rules]
            if most is not None and len(each) > most:
                each[most - 1 : -1] = [f"  … {len(each) - most:,} more rules"]
            found = [f"{self.head} <-", *each]
        return [*found, *(f"  ; {remark}" for remark in self.remarks())]

    def _formula(self, most: int | None) -> str:
        """Rules of a truth as one formula."""
        *before, (last, _) = self.rules
        parts = [condition for _, condition in before[:most]]
        more = [f"… {len(before) - most:,} more"] if most is not None and len(before) > most else []
        results = [result for result, _ in before]
        if not before:
            return last
        if len({*results}) > 1:
            listed = [f"{result} when {part}" for result, part in zip(results, parts, strict=False)]
            return "; ".join([*listed, *more, f"{last} otherwise"])
        text = parts[0] if len(before) == 1 else f"(or {' '.join([*parts, *more])})"
        return text if results[0] == "true" else f"(not {text})"

    def remarks(self) -> list[str]:
        """How well the rules agree with the model, and what else is to be known of them."""
        constant = "always" if self.writes else "a constant"
        if self.compared_on == WRITTEN:
            lines = ["exact: this is what answers"]
        elif not self.cases:
            lines = ["no values of what it reads are known: train the model, or give a state"]
        elif self.exact:
            of_codes = f"all {self.cases:,} combinations of codes"
            lines = [f"exact: {constant if self.cases == 1 else of_codes}"]
        else:
            share = floor(1000 * self.agreement + 1e-9) / 10  # rounded down: 100 % means all
            lines = [f"agrees with {share:.1f} % of {self.cases:,} {self.compared_on}"]
        if self.counter_example is not None:
            lines.append(f"counter-example: {self.counter_example}")
        if self.corrected:
            times = "1 case" if self.corrected == 1 else f"{self.corrected:,} cases"
            lines.append(f"corrected in {times} by what the model did in plans")
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
    if most is None or len(text) <= 30 * most:
        return text
    return f"{text[: text.rindex(' ', 0, 30 * most)]} …"


def _when(condition: str) -> str:
    return condition if condition == _OTHERWISE else f"when {condition}"


@final
class RuleWriter:
    """Writes the rules of functions as text."""

    def __init__(self, domain: Domain, books: Codebooks) -> None:
        self._domain = domain
        self._books = books

    def rules(self, known: CodeFunction) -> FunctionRules:
        """All that is known of a function."""
        behaviour, asked = known.behaviour, known.function
        if known.sampled is not None:
            rules, on = self._listed(known), "held-out samples"
        elif known.elements is not None:
            rules, on = self._of_set(known, known.elements), "random sets"
        else:
            rules, on = self._of_table(known), "all combinations"
        owner = self._domain.predicates.get(known.owner)
        if asked.target is not None:
            assert asked.type is not None
            split = len(self._books.parts(asked.type)) > 1
            suffix = f".{known.place}" if split else ""
            head = formula_text(replace(asked.target, predicate=f"{asked.target.predicate}{suffix}"))
        else:
            head = _head(owner, asked.expr)
        return FunctionRules(
            known.owner,
            behaviour.name,
            head,
            asked.target is not None,
            tuple(rules),
            behaviour.exact,
            behaviour.agreement,
            behaviour.cases,
            on,
            self._counter_example(known, behaviour.counter_example),
            **asdict(behaviour.counts),
        )

    def written(self, blank: WrittenBlank) -> FunctionRules:
        """The same of a blank that is written down: its formula, or the values that it writes."""
        call, cases = blank.call, [(_short(when), _short(value)) for when, value in blank.cases]
        rules: Rules
        if blank.target is not None:
            head = formula_text(blank.target)
            said = [UNCHANGED_TEXT if value == blank.target else formula_text(value) for _, value in cases]
            when = [_OTHERWISE if condition == TRUE else formula_text(condition) for condition, _ in cases]
            rules = [*zip(said, when, strict=True)]
            rules += [] if when[-1] == _OTHERWISE else [(UNCHANGED_TEXT, _OTHERWISE)]
        else:
            ((_, formula),) = cases
            head = _head(self._domain.predicates.get(blank.owner), call)
            parts = formula.args if isinstance(formula, Logic) and formula.op == "or" else (formula,)
            rules = [("true", formula_text(part)) for part in parts] + [("false", _OTHERWISE)]
            if formula in (TRUE, FALSE):
                rules = [(formula_text(formula), _OTHERWISE)]
        name = f"{blank.owner}.{call.blank.split('::', 2)[2]}"
        writes = blank.target is not None
        return FunctionRules(blank.owner, name, head, writes, tuple(rules), True, 1.0, 0, WRITTEN)

    def _result(self, known: CodeFunction, meaning: int) -> str:
        type_ = known.function.type
        if type_ is None:
            return "true" if meaning else "false"
        if meaning in (UNCHANGED, AS_EMPTY):
            return UNCHANGED_TEXT if meaning == UNCHANGED else "as of no elements"
        return shown_code(self._books.parts(type_)[known.place].book, meaning)

    def _of_table(self, known: CodeFunction) -> Rules:
        assert known.table is not None
        if not known.table.results.size:
            return [("unknown", _OTHERWISE)]
        results = _kept_is_unchanged(known, known.table)
        default = UNCHANGED if known.function.type is not None and UNCHANGED in results else None
        found, other = _cases(known.table.axes, results, default)
        if known.function.type is None:
            ways = [(meaning, part) for meaning, parts in found.items() for part in parts]
        else:
            ways = [(meaning, disjoined(parts)) for meaning, parts in found.items()]
        listed = [(self._result(known, meaning), formula_text(when)) for meaning, when in ways]
        return [*listed, (self._result(known, other), _OTHERWISE)]

    def _of_set(self, known: CodeFunction, elements: CodeTable) -> Rules:
        """How one element changes it comes first, then what the empty set gives."""
        each = known.function.set
        assert each is not None
        base, truth = self._of_table(known), known.function.type is None
        nothing = 0 if truth else AS_EMPTY
        found: dict[int, list[Expr]] = {}
        if elements.results.size:
            found, _ = _cases(elements.axes, _kept_is_unchanged(known, elements), nothing)
        held = {
            meaning: formula_text(some(each.variables, conjoined([each.condition, disjoined(parts)])))
            for meaning, parts in found.items()
        }
        if not truth or not held:
            return [*((self._result(known, meaning), text) for meaning, text in held.items()), *base]
        turned = held[1]
        if len(base) == 1:
            start = base[0][0]
            return [("false" if start == "true" else "true", turned), (start, _OTHERWISE)]
        starts = [when for _, when in base[:-1]]
        start = starts[0] if len(starts) == 1 else f"(or {' '.join(starts)})"
        start = start if base[0][0] == "true" else f"(not {start})"
        either = f"(or (and {start} (not {turned})) (and (not {start}) {turned}))"
        return [("true", either), ("false", _OTHERWISE)]

    def _listed(self, known: CodeFunction) -> Rules:
        sampled, each = known.sampled, known.function.set
        assert sampled is not None
        own = ((), TRUE) if each is None else (each.variables, each.condition)
        formulas = LiteralFormulas(sampled.axes, sampled.own, *own, coded=True)
        listed = [
            (self._result(known, sampled.meanings[rule.label]), formula_text(formulas.all(rule.literals)))
            for rule in sampled.rules.rules
        ]
        return [*listed, (self._result(known, sampled.meanings[sampled.rules.default]), _OTHERWISE)]

    def _counter_example(self, known: CodeFunction, example: CounterExample | None) -> str | None:
        if example is None:
            return None

        def facts(axes: Sequence[CodeAxis], codes: Sequence[int]) -> list[Expr]:
            return [_fact(axis, code) for axis, code in zip(axes, codes, strict=True)]

        parts = [formula_text(fact) for fact in facts(example.axes, example.codes)]
        elements = [formula_text(conjoined(facts(example.own, one))) for one in example.elements]
        parts += [f"elements {{{', '.join(elements)}}}"] if example.own else []
        place = min(known.place, len(example.result) - 1)
        return f"{', '.join(parts)}: the model says {self._result(known, example.result[place])}"


def _head(owner: Predicate | None, expr: Expr) -> str:
    """What a truth is called: as the derived predicate whose body it is, else as it is written."""
    if owner is not None and owner.body == expr:
        return f"({' '.join([owner.name, *(p.name for p in owner.parameters)])})"
    return formula_text(expr)


def _short(expr: Expr) -> Expr:
    """An expression with four digits of each number."""
    if isinstance(expr, Value) and isinstance(expr.value, float):
        return replace(expr, value=float(f"{expr.value:.4g}"))
    return map_children(expr, _short)


def _cases(
    axes: tuple[CodeAxis, ...], results: Longs, default: int | None
) -> tuple[dict[int, list[Expr]], int]:
    """When a table has each of its results but the default, in any order; and the default."""
    meanings = np.unique(results)
    if default is not None:
        meanings = np.union1d(meanings, [default])
    labels = np.searchsorted(meanings, results)
    pairs = [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(axes), 2)
        if a.part is not None and b.part is not None and a.part.book is b.part.book
        if np.array_equal(a.codes, b.codes)
    ]
    wanted = None if default is None else int(np.searchsorted(meanings, default))
    rules, other = exact_rules(labels, pairs, wanted)
    formulas, found = LiteralFormulas(axes), dict[int, list[Expr]]()
    for rule in rules:
        found.setdefault(int(meanings[rule.label]), []).append(formulas.all(rule.literals))
    return found, int(meanings[other])


def _kept_is_unchanged(known: CodeFunction, table: CodeTable) -> Longs:
    """The results; writing the code that is there already is to change nothing."""
    results: Longs = table.results.astype(np.int64)
    target = known.function.target
    own = None if target is None else own_column(table.axes, target, known.place)
    if own is None:
        return results
    shape = [1] * len(table.axes)
    shape[own] = -1
    return np.where(results == table.axes[own].codes.reshape(shape), UNCHANGED, results)


@final
@dataclass(frozen=True, slots=True)
class CodebookSummary:
    """One codebook: how it came about, what its codes stand for, and which state variables have them.

    ``error`` is how far values that were seen are from their codes: the root of the mean square, in units of
    their standard deviation; None where nothing was recorded.
    """

    name: str
    kind: str
    codes: tuple[str, ...]
    used_by: tuple[str, ...]
    error: float | None

    def line(self) -> str:
        """One line."""
        named = [] if self.kind == "k-means" else list(self.codes[: 2 * MOST_RULES])
        more = ["…"] if named and len(self.codes) > len(named) else []
        error = "" if self.error is None else f", quantisation error {100 * self.error:.2g} %"
        values = f": {' '.join([*named, *more])}" if named else ""
        count = f"{len(self.codes)} {'code' if len(self.codes) == 1 else 'codes'}"
        return f"{self.name}: {count} ({self.kind}), of {', '.join(self.used_by)}{error}{values}"


@final
@dataclass(frozen=True, slots=True)
class ModelRules:
    """The rules of a model. ``print`` it, or read ``functions``.

    - ``functions``: each blank and each effect, with its rules and how well they agree.
    - ``codebooks``: the codes that rules are about.
    - ``left_out``: actions and derived predicates that have no rules, and why.
    - ``untrained``: blanks that no training reached: what they say is a guess.
    - ``facts``: the codes of a state, where one was given; ``uncertain`` are those that are only the nearest.
    """

    functions: tuple[FunctionRules, ...]
    codebooks: tuple[CodebookSummary, ...]
    left_out: Mapping[str, str]
    untrained: tuple[str, ...]
    facts: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()

    def text(self, *, full: bool = False, codes: bool = False) -> str:
        """For people: all rules if ``full``, else the first few of each function; the codebooks if wanted."""
        lines = [book.line() for book in self.codebooks] if codes else []
        lines += [""] if codes and self.functions else []
        owner = ""
        for function in self.functions:
            if function.owner != owner:
                lines += [""] if owner else []
                lines.append(f"{function.owner}:")
                owner = function.owner
            lines += [f"  {line}" for line in function.lines(None if full else MOST_RULES)]
        for name, why in self.left_out.items():
            lines += ["", f"{name}: left out: {why}"]
        if self.facts:
            lines += ["", "the state:"]
            lines += [f"  {fact}" for fact in self.facts]
            lines += [f"  ; uncertain: {fact} is the nearest code" for fact in self.uncertain]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def warnings(self) -> tuple[str, ...]:
        """What to beware of, a sentence each."""
        said = [f"`{name}` was never trained: its rules are a guess" for name in self.untrained]
        broken = [f for f in self.functions if f.not_finite]
        said += [f"`{f.blank}` returned NaN in {f.not_finite:,} of the cases it was asked" for f in broken]
        return tuple(dict.fromkeys(said))

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "functions": [function.as_json() for function in self.functions]}


@ticking("reading rules")
def rules(model: Model, state: State | None = None, *, codes: Mapping[str, int] | None = None) -> ModelRules:
    """The first-order rules over codes of what a model has learned.

    ``state`` adds the codes of its values: needed where no fit has recorded any. ``codes`` says how many
    codes types have, e.g. ``{"pose": 64}``, instead of as many as the data ask for. Lists that were learned
    from samples are kept in the model's notes, and saved with it.
    """
    books = Codebooks(model.domain, model.notes, codes, bins=state is None)
    facts, uncertain = _facts(model, books, state) if state is not None else ((), ())
    symbolic = symbolic_domain(model, books)
    writer = RuleWriter(model.domain, books)
    written = written_blanks(model)
    functions = [writer.written(blank) for blank in written]
    formulas = {blank.call.blank for blank in written}
    owners = {blank.owner for blank in written}
    functions += [
        writer.rules(function)
        for function in symbolic.translator.functions.values()
        if function.owner not in owners or _asks(model.domain, function.function.expr, formulas)
    ]
    order = {name: i for i, name in enumerate((*model.domain.predicates, *model.domain.actions))}
    known = {*model.notes.get("trained", ()), *model.blanks.given}
    return ModelRules(
        tuple(sorted(functions, key=lambda f: order[f.owner])),
        tuple(_summaries(books)),
        symbolic.left_out,
        tuple(name for name in model.domain.blanks if name not in known),
        facts,
        uncertain,
    )


def _asks(domain: Domain, expr: Expr, formulas: Set[str]) -> bool:
    """Whether an expression asks a blank that is no formula, or an external function."""
    return any(
        (isinstance(node, BlankCall) and node.blank not in formulas)
        or (isinstance(node, Apply) and domain.predicates[node.predicate].role == "external")
        for node in walk(expr)
    )


def _summaries(books: Codebooks) -> list[CodebookSummary]:
    used: dict[str, list[str]] = {}
    errors: dict[str, list[float]] = {}
    for predicate in books.domain.state_predicates:
        if predicate.type.is_bool:
            continue
        for place, part in enumerate(books.parts(predicate.type)):
            used.setdefault(part.book.name, []).append(part_name(books, predicate, place))
            error = books.error(predicate.name, place)
            if error is not None:
                errors.setdefault(part.book.name, []).append(error)
    return [
        CodebookSummary(
            book.name,
            book.kind,
            tuple(value_name(book, code) for code in range(len(book))),
            tuple(used[book.name]),
            max(errors[book.name]) if book.name in errors else None,
        )
        for book in books.books()
        if book.name in used
    ]


def _facts(model: Model, books: Codebooks, state: State) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The facts over codes of a state, and which of them stand for values off every code."""
    with torch.inference_mode():
        batch = model.encode(state, crisp=True).batch
    facts, uncertain = [], []
    universe = batch.universe(0)
    for predicate in model.domain.state_predicates:
        table = batch.tensors[predicate.name]
        types = [p.type for p in predicate.parameters if isinstance(p.type, ObjectType)]
        rows = [*product(*map(universe.members, types))]
        if predicate.type.is_bool:
            held = table.reshape(-1).tolist()
            facts += [show_atom((predicate.name, *row)) for row, true in zip(rows, held, strict=True) if true]
            continue
        columns = books.codes(predicate.name, table)
        own = books.is_near(predicate.name, table)
        for place, column in enumerate(columns):
            book = books.parts(predicate.type)[place].book
            name = part_name(books, predicate, place)
            for row, code, sure in zip(rows, column, np.asarray(own[place]), strict=True):
                fact = f"{show_atom((name, *row))} = {shown_code(book, code)}"
                facts.append(fact)
                if not sure:
                    uncertain.append(fact)
        books.observe(predicate.name, table)
    return tuple(facts), tuple(uncertain)


def keep_counts(model: Model, counts: Mapping[str, int]) -> None:
    """Let planning with the model use so many codes for types of floats, too."""
    if counts:
        model.notes[COUNTS] = {**model.notes.get(COUNTS, {}), **counts}
