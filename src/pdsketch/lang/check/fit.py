"""Whether an expression may stand where a type is wanted."""

from __future__ import annotations

from dataclasses import replace

from pdsketch.lang.check.context import Context
from pdsketch.lang.check.numbers import as_float
from pdsketch.lang.check.tables import UNKNOWN
from pdsketch.lang.data import flat
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.report import Placed, a
from pdsketch.lang.terms import Apply, Expr, Value, Variable
from pdsketch.lang.types import ObjectType, Type, ValueType


def describe(type_: Type) -> str:
    """The type as a noun with its article."""
    if isinstance(type_, ObjectType):
        return " or ".join(a(name) for name in type_.names)
    if type_.is_bool:
        return "a Boolean"
    plain = replace(type_, alias=None)
    return a(type_.alias) + f" ({plain})" if type_.alias not in (None, "number") else a(type_)


def fit(ctx: Context, expr: Expr, want: Type, at: Placed, *, of: str = "") -> Expr | None:
    """The expression, literals turned into the wanted type; None (reported) if it does not fit.

    ``expr`` is checked already, and what its use says of untyped variables is noted in ``ctx``. ``want`` is
    the type to fit, ``at`` where a misfit is reported, ``of`` who wants it, for the message.
    """
    have = expr.type
    if isinstance(expr, Variable) and want != UNKNOWN and expr.name in ctx.untyped:
        ctx.knowledge.demand(ctx.untyped[expr.name], want)
    if UNKNOWN in (have, want):
        return expr
    if isinstance(want, ObjectType):
        return _fit_object(ctx, expr, want, at, of)
    if isinstance(have, ObjectType) or not _same_kind(have, want):
        mismatch(ctx, expr, want, at, of)
        return None
    if isinstance(expr, Value) and have.prim == "int64" and want.prim == "float32":
        expr = Value(as_float(expr.value), replace(want, shape=have.shape), expr.span)  # type: ignore[arg-type]
        have = expr.type
    if want.choices is not None and have.choices not in (None, want.choices):
        ctx.report.error(
            "choices-mismatch",
            f"{_wanted(of)}{want.choices} choices, and `{ctx.words(at)}` has {have.choices}",
            at,
        )
        return None
    if want.choices is None or not isinstance(expr, Value):
        return expr
    if all(0 <= number < want.choices for number in flat(expr.value)):
        return expr
    message = f"{want} goes from 0 to {want.choices - 1}, and this is {ctx.words(at)}"
    ctx.report.error("out-of-range", message, at)
    return None


def _wanted(of: str) -> str:
    return f"{of} takes " if of else "wanted "


def _same_kind(have: ValueType, want: ValueType) -> bool:
    """Ints are floats where floats are wanted; nothing else changes its kind."""
    return have.prim == want.prim or (have.prim == "int64" and want.prim == "float32")


def _fit_object(ctx: Context, expr: Expr, want: ObjectType, at: Placed, of: str) -> Expr | None:
    have = expr.type
    if isinstance(have, ObjectType) and ctx.tables.hierarchy.overlap(have, want):
        return expr
    mismatch(ctx, expr, want, at, of)
    return None


def mismatch(ctx: Context, expr: Expr, want: Type, at: Placed, of: str = "") -> None:
    """Report an expression of the wrong type.

    The message stands ``at`` the place, says that ``want`` is wanted (by ``of``, where that is told) and what
    ``expr`` is instead, and points to the declaration in ``ctx`` that says so.
    """
    have = expr.type
    help_ = None
    if isinstance(want, ValueType) and isinstance(expr, Value) and want.is_bool and expr.value in (0, 1):
        help_ = f"write `{'true' if expr.value else 'false'}`"
    elif isinstance(want, ValueType) and want.is_bool and isinstance(have, ValueType):
        help_ = f"compare it with `=`{'' if ctx.owner is None else ', or read it through a blank: (??f …)'}"
    elif isinstance(have, ValueType) and isinstance(want, ValueType) and want.prim == "int64":
        help_ = "declare the target as a float32"
    notes = []
    if isinstance(expr, Apply) and expr.predicate in ctx.tables.signatures:
        notes = [Note(ctx.tables.signatures[expr.predicate].span, f"declared as {describe(have)}")]
    elif isinstance(expr, Variable) and expr.span is not None and expr.span.start != at.start:
        notes = [Note(expr.span, f"{describe(have)}")]
    wants = f"{of} takes {describe(want)}" if of else f"wanted {describe(want)}"
    ctx.report.error(
        "type-mismatch",
        f"{wants}, and `{ctx.words(at)}` is {describe(have)}",
        at,
        label=describe(have),
        help=help_,
        notes=notes,
    )


def unify(ctx: Context, left: Expr, right: Expr, at: Placed, *, broadcast: bool = False) -> bool:
    """Whether two values have the same dimensions, learning those that are open from those known.

    What ``left`` and ``right`` teach each other goes to the knowledge of ``ctx``; that they differ is
    reported ``at`` the place. ``broadcast``: a scalar goes with everything.
    """
    a_type, b_type = left.type, right.type
    if not isinstance(a_type, ValueType) or not isinstance(b_type, ValueType):
        return True
    if broadcast and () in (a_type.shape, b_type.shape):
        return True
    return unify_shapes(ctx, (left, a_type), (right, b_type), at)


def unify_shapes(
    ctx: Context, left: tuple[Expr, ValueType], right: tuple[Expr, ValueType], at: Placed
) -> bool:
    """As `unify`, where the types are not those of the expressions themselves.

    ``left`` and ``right`` are expressions with the types to compare. What is learned goes to ``ctx``; that
    they differ is reported ``at`` the place.
    """
    (a_expr, a_type), (b_expr, b_type) = left, right
    shapes = (a_type.shape, b_type.shape)
    if None not in shapes or () in shapes:
        if a_type.shape == b_type.shape:
            return True
        notes = [n for n in (_origin(ctx, a_expr, a_type), _origin(ctx, b_expr, b_type)) if n is not None]
        ctx.report.error(
            "dimension-mismatch",
            f"dimensions differ: {_shape(a_type)} and {_shape(b_type)}",
            at,
            notes=notes,
            help=_dimension_help(a_expr, a_type, b_expr, b_type),
        )
        return False
    slot_a, slot_b = ctx.slot_of(a_expr), ctx.slot_of(b_expr)
    if a_type.shape is None and b_type.shape is None:
        if slot_a is not None and slot_b is not None:
            ctx.knowledge.join(slot_a, slot_b)
    elif a_type.shape is None and b_type.shape is not None and slot_a is not None:
        ctx.knowledge.bind(slot_a, b_type.shape, ctx.span(at))
    elif a_type.shape is not None and slot_b is not None:
        ctx.knowledge.bind(slot_b, a_type.shape, ctx.span(at))
    return True


def _dimension_help(a_expr: Expr, a_type: ValueType, b_expr: Expr, b_type: ValueType) -> str | None:
    for expr, own, other in ((a_expr, a_type, b_type), (b_expr, b_type, a_type)):
        if isinstance(expr, Value) and own.shape == () and other.shape == (1,):
            return f"write [{expr.value}]"
    return None


def _shape(type_: ValueType) -> str:
    return "a scalar" if type_.shape == () else "×".join(map(str, type_.shape or ("n",)))


def _origin(ctx: Context, expr: Expr, type_: ValueType) -> Note | None:
    """Where the dimensions of an expression come from."""
    slot = ctx.slot_of(expr)
    learned = ctx.knowledge.origin(slot) if slot is not None else None
    if learned is not None:
        return Note(learned, f"{_shape(type_)}, inferred here")
    if isinstance(expr, Apply) and expr.predicate in ctx.tables.signatures:
        declared = ctx.tables.signatures[expr.predicate].span
        return Note(declared, f"{_shape(type_)}, declared here")
    return None
