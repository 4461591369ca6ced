"""``pds.rules``: what a model has learned, as first-order rules over codes."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, final

import numpy as np
import torch

from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.domain import symbolic_domain
from pdsketch.abstract.andor.rule_text import MOST_RULES, FunctionRules, RuleWriter, shown_code, value_name
from pdsketch.abstract.andor.symbolic import part_name
from pdsketch.abstract.written import written_blanks
from pdsketch.lang import Apply, BlankCall, Domain, Expr, ObjectType, show_atom, walk
from pdsketch.progress import ticking
from pdsketch.tensor import COUNTS, Model, State


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

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "codes": [*self.codes], "used_by": [*self.used_by]}


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
        said += [
            f"`{f.blank}` returned NaN in {f.not_finite:,} of the cases it was asked"
            for f in self.functions
            if f.not_finite
        ]
        return tuple(dict.fromkeys(said))

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "functions": [function.as_json() for function in self.functions],
            "codebooks": [book.as_json() for book in self.codebooks],
            "left_out": dict(self.left_out),
            "untrained": list(self.untrained),
            "facts": list(self.facts),
            "uncertain": list(self.uncertain),
        }


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
