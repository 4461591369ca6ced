"""Formulas over codes that are true only where a model is sure: where its forms and all their rivals agree.

What an action needs surely is the safe end of its precondition: plans within it rest on no guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdsketch.abstract.andor.functions import CodeInputs, TooManyCombinationsError, portions
from pdsketch.abstract.andor.symbolic import Scope, conjoined, disjoined, hint_of
from pdsketch.abstract.written import NotWrittenError, truth_of
from pdsketch.core import Longs
from pdsketch.lang import (
    BOOL,
    Apply,
    BlankCall,
    Each,
    Expr,
    Logic,
    Quantified,
    unfold,
    walk,
)
from pdsketch.nets import BlankForm
from pdsketch.tensor import SURE, Model, logic_of

if TYPE_CHECKING:
    from pdsketch.abstract.andor.translate import Translator


def is_guessed(model: Model) -> bool:
    """Whether preconditions of a model call blanks whose forms have rivals."""
    actions, analysis = model.domain.actions.values(), model.domain.analysis
    return any(model.blanks.guesses(analysis.blanks(action.precondition)) for action in actions)


def _forms(model: Model, blank: str) -> list[BlankForm]:
    """The form of a blank and its rivals; none where a network answers."""
    network = model.blanks.network(blank)
    form = getattr(network, "form", None)
    return [] if form is None else [form, *getattr(network, "rivals", ())]


def surely(translator: Translator, expr: Expr, scope: Scope, holds: bool = True) -> Expr:
    """The formula over codes of where an expression surely holds or, not ``holds``, surely does not.

    ``translator`` says what ``expr`` is over codes, with code variables of the ``scope``.
    """
    model, symbols = translator.model, translator.symbols
    if not model.blanks.guesses(model.domain.analysis.blanks(expr)):
        found = translator.truth(expr, scope)
        return found if holds else symbols.denied(found)
    match expr:
        case Logic(op="not"):
            return surely(translator, expr.args[0], scope, not holds)
        case Logic(op="implies"):
            left, right = expr.args
            parts = [surely(translator, left, scope, not holds), surely(translator, right, scope, holds)]
            return disjoined(parts) if holds else conjoined(parts)
        case Logic():
            parts = [surely(translator, part, scope, holds) for part in expr.args]
            return conjoined(parts) if (expr.op == "and") == holds else disjoined(parts)
        case Quantified():
            variables, inner = translator.bound(expr.variables, scope)
            body = surely(translator, expr.body, inner, holds)
            op = expr.op if holds else "forall" if expr.op == "exists" else "exists"
            return Quantified(op, variables, body)
        case Apply():
            predicate = model.domain.predicates[expr.predicate]
            if predicate.role == "derived" and expr.predicate not in model.domain.recursive:
                return surely(translator, unfold(expr, model.domain, symbols.fresh), scope, holds)
        case BlankCall() if (said := _formulas(translator, expr)) and not translator.is_table(expr, scope):
            every = [translator.truth(formula, scope) for formula in said]
            return conjoined(every if holds else map(symbols.denied, every))
        case _:
            pass
    return _sure_leaf(translator, expr, scope, holds)


def _formulas(translator: Translator, call: BlankCall) -> list[Expr]:
    """What the form of a blank and its rivals say, as formulas of what it is given; none: they have none."""
    fresh = translator.symbols.fresh
    try:
        return [truth_of(form, call.args, fresh) for form in _forms(translator.model, call.blank)]
    except NotWrittenError:
        return []


def _sure_leaf(translator: Translator, expr: Expr, scope: Scope, holds: bool) -> Expr:
    """An expression over values: what it is, where it is sure for the codes of what it reads."""
    truth = translator.truth(expr, scope)
    plain = truth if holds else translator.symbols.denied(truth)
    if any(isinstance(node, Each) for node in walk(expr)):
        return plain
    inputs = CodeInputs(translator.domain, translator.books, translator.symbols.fresh)
    replaced = inputs.replaced(expr)
    evaluator = translator.evaluator
    axes = evaluator.axes(inputs.found.values())
    node = evaluator.programs.value(replaced, BOOL, inputs.variables, logic_of("godel"))

    def evaluate(rows: Longs) -> Longs:
        parts = []
        for some in portions(len(rows)):
            n = len(rows[some])
            found = evaluator.run_on(evaluator.parameters(axes, rows[some]), n, node).numpy()
            parts.append((found > SURE) if holds else (found < 1.0 - SURE))
        return np.concatenate(parts).astype(np.int64)[:, None]

    try:
        (table,) = translator.tabulated((expr, "surely", holds), axes, evaluate).tables
    except TooManyCombinationsError:
        return plain
    sure = translator.symbols.holds(table, scope, hint_of(expr), translator.formulas(inputs, scope))
    return conjoined([plain, sure])
