"""Components of vectors; equality, comparisons and arithmetic."""

from __future__ import annotations

from dataclasses import replace

from pdsketch.lang.check.applications import is_blank
from pdsketch.lang.check.blanks import check_blank
from pdsketch.lang.check.context import Context, Scope
from pdsketch.lang.check.fit import describe, fit, unify
from pdsketch.lang.check.numbers import as_float, number_of
from pdsketch.lang.check.tables import UNKNOWN
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.report import count, here
from pdsketch.lang.terms import Arithmetic, Compare, Component, Equal, Expr, Value, Variable
from pdsketch.lang.types import DEFAULT_TOLERANCE, FLOAT, ObjectType, Type, ValueType

# ``(component V 0)``: one element of a vector.


def check_component(ctx: Context, node: Group, scope: Scope, want: Type | None) -> Expr | None:
    """An element of a vector, by a place that is written as a number; places begin at 0.

    ``node`` is the whole ``(component …)`` in the definition ``ctx``, with the variables of ``scope`` in
    reach. It is a number whatever its place asks for (``want``).
    """
    del want
    if len(node.items) != 3:
        ctx.report.error(
            "arity-mismatch",
            f"`component` takes a vector and a place, and {here(len(node.items) - 1)}",
            node,
            help="for instance (component (pose-of ?o) 0)",
        )
        return None
    vector = ctx.expr(node.items[1], scope)
    place = _place(ctx, node.items[2])
    if vector is None or place is None:
        return None
    type_ = vector.type
    if (
        type_ == UNKNOWN
        or not isinstance(type_, ValueType)
        or (type_.shape is not None and len(type_.shape) != 1)
    ):
        what = "has no type that is known here" if type_ == UNKNOWN else f"is {describe(type_)}"
        ctx.report.error(
            "type-mismatch",
            f"`component` takes a vector, and `{ctx.words(node.items[1])}` {what}",
            node.items[1],
        )
        return None
    if type_.shape is not None and place >= type_.shape[0]:
        size = type_.shape[0]
        ctx.report.error(
            "index-out-of-range",
            f"{describe(type_)} has {count(size, 'element')}, and no element {place}",
            node.items[2],
            help=f"places begin at 0: the last one is {size - 1}" if size else None,
        )
        return None
    return Component(vector, place, replace(type_, shape=(), alias=None), ctx.span(node))


def _place(ctx: Context, node: Node) -> int | None:
    """The place, if it is a whole number that is not negative."""
    place = number_of(node, ctx.report) if isinstance(node, Token) else None
    if isinstance(place, int) and place >= 0:
        return place
    ctx.report.error(
        "bad-expression",
        f"a place is a whole number from 0 on, and `{ctx.words(node)}` is none",
        node,
        help="for instance (component (pose-of ?o) 0)",
    )
    return None


def _operands(ctx: Context, node: Group, scope: Scope, want: Type | None) -> list[Expr] | None:
    """The operands; one whose type only its neighbours tell (a blank) is checked behind them."""
    parts = node.items[1:]
    found: dict[int, Expr | None] = {}
    later = [i for i, part in enumerate(parts) if _needs_context(ctx, part, scope)]
    for position, part in enumerate(parts):
        if position not in later:
            found[position] = ctx.expr(part, scope)
    known = [e for e in found.values() if e is not None and e.type != UNKNOWN]
    literal = next((e.type for e in known), None) if want is None else want
    hint = next((e.type for e in known if not isinstance(e, Value)), literal)
    for position in later:
        part = parts[position]
        # A blank may declare another type than its neighbours suggest, so it is not held to the hint here.
        found[position] = (
            check_blank(ctx, part, scope, hint) if isinstance(part, Group) else ctx.expr(part, scope)
        )
    operands = [found[position] for position in range(len(parts))]
    return None if None in operands else [e for e in operands if e is not None]


def _needs_context(ctx: Context, node: Node, scope: Scope) -> bool:
    """Whether a node is a blank, or an untyped variable whose type is still open."""
    if isinstance(node, Token):
        variable = scope.get(node.text)
        return variable is not None and variable.type == UNKNOWN
    return is_blank(node)


def _wrong_count(ctx: Context, node: Group, wanted: str) -> None:
    ctx.report.error("arity-mismatch", f"`{node.head}` takes {wanted}, and {here(len(node.items) - 1)}", node)


def check_equal(ctx: Context, node: Group, scope: Scope, want: Type | None) -> Expr | None:
    """``(= a b)`` of two objects or of two values of one kind.

    ``node`` is the whole list in the definition ``ctx``, its operands name the variables of ``scope``. The
    two teach each other their types; what the place asks for (``want``) says nothing about them.
    """
    if len(node.items) != 3:
        _wrong_count(ctx, node, count(2, "argument"))
        return None
    operands = _operands(ctx, node, scope, None)
    if operands is None:
        return None
    left, right = operands
    if UNKNOWN in (left.type, right.type):
        _demand_value(ctx, left, right)
        return Equal(left, right, 0.0, ctx.span(node))
    if isinstance(left.type, ObjectType) and isinstance(right.type, ObjectType):
        if not ctx.tables.hierarchy.overlap(left.type, right.type):
            ctx.report.warning(
                "never-equal",
                f"{describe(left.type)} is never {describe(right.type)}",
                node,
                label="always false",
            )
        return Equal(left, right, 0.0, ctx.span(node))
    return _equal_values(ctx, left, right, node)


def _demand_value(ctx: Context, left: Expr, right: Expr) -> None:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Variable) and one.name in ctx.untyped and isinstance(other.type, ValueType):
            ctx.knowledge.demand(ctx.untyped[one.name], other.type)


def _equal_values(ctx: Context, left: Expr, right: Expr, node: Group) -> Expr | None:
    """Literals take the type of the other side; an int beside a float is compared as a float."""
    _demand_value(ctx, left, right)
    a, b = left.type, right.type
    first, second = node.items[1], node.items[2]
    if isinstance(a, ObjectType):
        fit(ctx, right, a, second)
        return None
    if isinstance(b, ObjectType):
        fit(ctx, left, b, first)
        return None
    if a.prim == b.prim:
        swap = isinstance(left, Value) and not isinstance(right, Value)
    else:
        swap = b.prim == "float32" or (isinstance(left, Value) and a.prim != "float32")
    wide, narrow = (right, left) if swap else (left, right)
    assert isinstance(wide.type, ValueType)
    fitted = fit(ctx, narrow, wide.type, first if swap else second)
    if fitted is None or not unify(ctx, wide, fitted, node):
        return None
    tolerance = _tolerance(a, b)
    left, right = (fitted, wide) if swap else (wide, fitted)
    return Equal(left, right, tolerance, ctx.span(node))


def _tolerance(a: ValueType, b: ValueType) -> float:
    """Of two floats, the tolerance that was declared, or the larger one; 0 for all else."""
    if "float32" not in (a.prim, b.prim):
        return 0.0
    declared = {t.tolerance for t in (a, b) if t.prim == "float32" and t.tolerance != DEFAULT_TOLERANCE}
    return max(declared, default=DEFAULT_TOLERANCE)


def check_compare(ctx: Context, node: Group, scope: Scope, want: Type | None) -> Expr | None:
    """``(< a b)`` of two scalar numbers.

    ``node`` is the whole list in the definition ``ctx``, its operands name the variables of ``scope``. The
    result is Boolean whatever its place asks for (``want``).
    """
    if len(node.items) != 3:
        _wrong_count(ctx, node, count(2, "number"))
        return None
    operands = _operands(ctx, node, scope, FLOAT)
    if operands is None:
        return None
    for operand, part in zip(operands, node.items[1:], strict=True):
        if not _is_numeric(ctx, operand, part):
            return None
        if not unify(ctx, operand, Value(0, FLOAT), part):
            return None
    if any(isinstance(e.type, ValueType) and e.type.prim == "float32" for e in operands):
        operands = [_as_float(operand) for operand in operands]
    left, right = operands
    return Compare(node.head, left, right, ctx.span(node))  # type: ignore[arg-type]


def _is_numeric(ctx: Context, operand: Expr, at: Node) -> bool:
    if isinstance(operand, Variable) and operand.type == UNKNOWN:
        if operand.name in ctx.untyped:
            ctx.knowledge.demand(ctx.untyped[operand.name], FLOAT)
        return True
    if isinstance(operand.type, ObjectType) or operand.type.prim == "bool":
        ctx.report.error(
            "type-mismatch",
            f"wanted a number, and `{ctx.words(at)}` is {describe(operand.type)}",
            at,
            label=describe(operand.type),
        )
        return False
    return True


def _as_float(operand: Expr) -> Expr:
    """A literal beside floats is a float."""
    if not isinstance(operand, Value) or operand.type.prim != "int64":
        return operand
    return Value(as_float(operand.value), replace(operand.type, prim="float32"), operand.span)  # type: ignore[arg-type]


_LEAST = {"+": 2, "*": 2, "-": 1, "/": 2}
_MOST = {"-": 2, "/": 2}


def check_arithmetic(ctx: Context, node: Group, scope: Scope, want: Type | None) -> Expr | None:
    """``(+ a b …)``, ``(* a b …)``, ``(- a)``, ``(- a b)``, ``(/ a b)``.

    ``node`` is the whole list in the definition ``ctx``, its operands name the variables of ``scope``. The
    type that the place asks for (``want``; a float32 if none) is wanted of the operands, too.
    """
    op = node.head
    size = len(node.items) - 1
    if not _LEAST[op] <= size <= _MOST.get(op, size):
        _wrong_count(ctx, node, {"-": "1 or 2 numbers", "/": "2 numbers"}.get(op, "2 or more numbers"))
        return None
    operands = _operands(ctx, node, scope, want or FLOAT)
    if operands is None:
        return None
    for operand, part in zip(operands, node.items[1:], strict=True):
        if not _is_numeric(ctx, operand, part):
            return None
    wide = operands[0]
    for operand in operands[1:]:
        if not unify(ctx, wide, operand, node, broadcast=True):
            return None
        if isinstance(wide.type, ValueType) and wide.type.shape == ():
            wide = operand
    types = [e.type for e in operands if isinstance(e.type, ValueType)]
    is_float = op == "/" or any(t.prim == "float32" for t in types)
    tolerance = max(
        (t.tolerance for t in types if t.tolerance != DEFAULT_TOLERANCE), default=DEFAULT_TOLERANCE
    )
    base = wide.type if isinstance(wide.type, ValueType) else FLOAT
    type_ = replace(
        base, prim="float32" if is_float else "int64", choices=None, tolerance=tolerance, alias=None
    )
    # Sums and differences of values of one type are of it, too: networks compare them with others.
    named = [t for e, t in zip(operands, types, strict=False) if not isinstance(e, Value)]
    aliases = {t.alias for t in named}
    if op in ("+", "-") and len(aliases) == 1 and all(t == type_ for t in named):
        type_ = replace(type_, alias=aliases.pop())
    if is_float:
        operands = [_as_float(operand) for operand in operands]
    return Arithmetic(op, tuple(operands), type_, ctx.span(node))  # type: ignore[arg-type]
