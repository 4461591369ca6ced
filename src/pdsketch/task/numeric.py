"""Numbers that never change, over whole tables of instances: costs, and comparisons in conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from pdsketch.core import Bools, Floats, Ints
from pdsketch.lang import (
    Apply,
    Arithmetic,
    Compare,
    Equal,
    Expr,
    Object,
    Problem,
    Value,
    Variable,
    substitute,
)
from pdsketch.task.formula import Term, Test
from pdsketch.task.normal import Vocabulary

Column = Ints | int
Columns = Mapping[str, Column]


@final
class Numbers:
    """The static functions of a problem. A value that the initial state does not give is NaN."""

    def __init__(self, problem: Problem, words: Vocabulary) -> None:
        self._words = words
        self._given: dict[str, dict[tuple[int, ...], float]] = {}
        predicates = problem.domain.predicates
        for (name, *args), value in problem.init.items():
            if predicates[name].type.is_number and isinstance(value, (int, float)):
                key = tuple(words.objects[a] for a in args)
                self._given.setdefault(name, {})[key] = float(value)

    def holds(self, test: Test, columns: Mapping[str, Ints], rows: int) -> Bools:
        """Whether a comparison is true, for each row; it is not where a value is missing."""
        values = {name: term for name, term in test.scope.items() if isinstance(term, Value)}
        scope = {
            name: _column(term, columns) for name, term in test.scope.items() if not isinstance(term, Value)
        }
        expr = substitute(test.expr, values)
        assert isinstance(expr, Compare | Equal)
        left, right = self.value(expr.left, scope, rows), self.value(expr.right, scope, rows)
        known = ~(np.isnan(left) | np.isnan(right))
        true: Bools = known & (_compared(expr, left, right) == test.positive)
        return true

    def value(self, expr: Expr, scope: Columns, rows: int) -> Floats:
        """The value of a numeric expression for each row; ``scope`` holds the objects of its variables."""
        match expr:
            case Value():
                assert isinstance(expr.value, (int, float))
                return np.full(rows, float(expr.value))
            case Apply():
                return self._function(expr.predicate, [self._object(a, scope) for a in expr.args], rows)
            case Arithmetic():
                parts = [self.value(a, scope, rows) for a in expr.args]
                # What is too large is infinite, or nothing, and refused where it is a cost.
                with np.errstate(over="ignore", invalid="ignore"):
                    return _arithmetic(expr, parts)
            case _:
                raise AssertionError(f"{type(expr).__name__} is no number")

    def _object(self, expr: Expr, scope: Columns) -> Column:
        if isinstance(expr, Object):
            return self._words.objects[expr.name]
        assert isinstance(expr, Variable)
        return scope[expr.name]

    def _function(self, name: str, args: Sequence[Column], rows: int) -> Floats:
        given = self._given.get(name, {})
        if not args:
            return np.full(rows, given.get((), np.nan))
        columns = [np.broadcast_to(np.asarray(a), (rows,)).tolist() for a in args]
        found = (given.get(key, np.nan) for key in zip(*columns, strict=True))
        return np.fromiter(found, np.float64, rows)


def _column(term: Term, columns: Mapping[str, Ints]) -> Column:
    return columns[term] if isinstance(term, str) else term


def _compared(expr: Compare | Equal, left: Floats, right: Floats) -> Bools:
    result: Bools
    match expr:
        case Equal():
            floats = any(getattr(e.type, "prim", None) == "float32" for e in (expr.left, expr.right))
            result = np.abs(left - right) <= (expr.tolerance if floats else 0.0)
        case Compare(op="<"):
            result = left < right
        case Compare(op="<="):
            result = left <= right
        case Compare(op=">"):
            result = left > right
        case _:
            result = left >= right
    return result


def _arithmetic(expr: Arithmetic, parts: Sequence[Floats]) -> Floats:
    total = parts[0]
    if expr.op == "-" and len(parts) == 1:
        return -total
    for part in parts[1:]:
        match expr.op:
            case "+":
                total = total + part
            case "-":
                total = total - part
            case "*":
                total = total * part
            case "/":
                # Division by zero is an error in the reference semantics: no such step can be taken.
                total = total / np.where(part == 0, np.nan, part)
                if expr.type.prim == "int64":
                    total = np.floor(total)
    return total
