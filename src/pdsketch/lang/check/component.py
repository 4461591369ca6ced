"""``(component V 0)``: one element of a vector."""

from __future__ import annotations

from dataclasses import replace

from pdsketch.lang.check.context import Context, Scope
from pdsketch.lang.check.fit import describe
from pdsketch.lang.check.numbers import number_of
from pdsketch.lang.check.tables import UNKNOWN
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.report import count, here
from pdsketch.lang.terms import Component, Expr
from pdsketch.lang.types import Type, ValueType


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
