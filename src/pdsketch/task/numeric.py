"""Numbers that never change, as the engine reads them: costs, and comparisons in conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Final

from pdsketch.lang import Apply, Arithmetic, Compare, Expr, Object, Value, Variable, walk
from pdsketch.task.formula import Term, Test
from pdsketch.task.program import TEST, Compiler

CONSTANT, FUNCTION, NEGATION, ADD, SUBTRACT, MULTIPLY, DIVIDE = range(7)
"""Kinds of numbers."""

_COMPARISONS: Final = {"<": 0, "<=": 1, ">": 2, ">=": 3}
_EQUAL: Final = 4
_OPERATIONS: Final = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE}

Scope = Mapping[str, Term | Value]
Slots = Mapping[str, int]


def compile_number(c: Compiler, expr: Expr, scope: Scope, slots: Slots) -> int:
    """The address of a numeric expression, which ``c`` writes.

    ``scope`` is what the author's variables in ``expr`` stand for, ``slots`` are the places of ours.
    """
    match expr:
        case Variable() if isinstance(value := scope[expr.name], Value):
            return compile_number(c, value, scope, slots)
        case Value():
            assert isinstance(expr.value, (int, float))
            return c.listed([CONSTANT, c.constant(float(expr.value))])
        case Apply():
            terms = [c.words.objects[a.name] if isinstance(a, Object) else _term(a, scope) for a in expr.args]
            operands = [slots[t] if isinstance(t, str) else -1 - t for t in terms]
            return c.listed([FUNCTION, c.addresses[expr.predicate], *operands])
        case Arithmetic():
            parts = [compile_number(c, a, scope, slots) for a in expr.args]
            if expr.op == "-" and len(parts) == 1:
                return c.listed([NEGATION, parts[0]])
            kind = _OPERATIONS[expr.op]
            return reduce(lambda left, right: c.listed([kind, left, right]), parts)
        case _:
            raise AssertionError(f"{type(expr).__name__} is no number")


def _term(expr: Expr, scope: Scope) -> Term:
    assert isinstance(expr, Variable)
    term = scope[expr.name]
    assert not isinstance(term, Value)
    return term


def compile_test(c: Compiler, test: Test, slots: Slots) -> int:
    """The address of a comparison."""
    expr = test.expr
    left, right = (compile_number(c, side, test.scope, slots) for side in (expr.left, expr.right))
    kind, tolerance = _EQUAL, 0.0
    if isinstance(expr, Compare):
        kind = _COMPARISONS[expr.op]
    elif any(getattr(side.type, "prim", None) == "float32" for side in (expr.left, expr.right)):
        tolerance = expr.tolerance
    return c.listed([TEST, int(test.positive), kind, left, right, c.constant(tolerance)])


def functions_in(expr: Expr) -> Iterator[str]:
    """The functions that a numeric expression or a comparison reads."""
    return (node.predicate for node in walk(expr) if isinstance(node, Apply))
