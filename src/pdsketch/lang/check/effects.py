"""Effects → flat updates: quantifiers and conditions are collected, so that none nests."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple, cast, final

from pdsketch.lang.check.applications import (
    Application,
    application,
    check_apply,
    is_blank,
    is_nothing,
    stand_ins,
    widened,
    wildcards,
)
from pdsketch.lang.check.context import Context, Scope, taken_names
from pdsketch.lang.check.expressions import EFFECT_WORDS, check_condition, check_expr, unknown_predicate
from pdsketch.lang.check.fit import describe, fit, mismatch, unify
from pdsketch.lang.check.tables import PredicateSignature
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.domain import LARGEST_COST
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.records import dataclass
from pdsketch.lang.report import here
from pdsketch.lang.terms import (
    TRUE,
    Apply,
    Arithmetic,
    Expr,
    Logic,
    Update,
    UpdateOp,
    Value,
    Variable,
)
from pdsketch.lang.types import FLOAT, ValueType

CONDITION_WORDS = frozenset(
    ["or", "imply", "implies", "exists", "=", "eq", "equal", "<", "<=", ">", ">=", "+", "-", "*", "/"]
)


@final
class Frame(NamedTuple):
    """What an effect stands under: its variables in reach, those it ranges over, and its conditions."""

    scope: Scope
    variables: tuple[Variable, ...] = ()
    conditions: tuple[Expr, ...] = ()

    @property
    def condition(self) -> Expr:
        """All conditions as one."""
        match self.conditions:
            case ():
                return TRUE
            case (one,):
                return one
            case several:
                return Logic("and", several, several[0].span)


@final
@dataclass(slots=True)
class Effects:
    """The updates of an action, and what it costs."""

    updates: list[Update] = field(default_factory=list)
    costs: list[Expr] = field(default_factory=list)

    @property
    def cost(self) -> Expr | None:
        """The sum of the increases of ``total-cost``; None where there is none."""
        if len(self.costs) < 2:
            return self.costs[0] if self.costs else None
        prims = {c.type.prim for c in self.costs if isinstance(c.type, ValueType)}
        prim = "float32" if "float32" in prims else "int64"
        return Arithmetic("+", tuple(self.costs), ValueType(prim), self.costs[0].span)  # type: ignore[arg-type]


def check_effect(ctx: Context, node: Node | None, scope: Scope) -> Effects:
    """The updates that an effect makes; none, or ``()``, makes none."""
    effects = Effects()
    if node is not None and not is_nothing(node):
        _effect(ctx, node, Frame(scope), effects)
    return effects


def _effect(ctx: Context, node: Node, frame: Frame, effects: Effects) -> None:
    head = node.items[0] if isinstance(node, Group) and node.bracket == "(" and node.items else None
    if not isinstance(node, Group) or not isinstance(head, Token):
        ctx.report.error(
            "bad-effect", "wanted an effect such as (p ?x), (not (p ?x)) or (assign (f ?x) VALUE)", node
        )
        return
    text = head.text
    if text == "and":
        for part in node.items[1:]:
            _effect(ctx, part, frame, effects)
    elif text in ("forall", "foreach"):
        quantified = ctx.quantified(node, frame.scope, frame.conditions)
        if quantified is not None:
            variables, inner, body = quantified
            _effect(ctx, body, Frame(inner, (*frame.variables, *variables), frame.conditions), effects)
    elif text == "when":
        _when(ctx, node, frame, effects)
    elif text == "not":
        _delete(ctx, node, frame, effects)
    elif text in EFFECT_WORDS:
        _write(ctx, node, frame, effects)
    elif "::" in text:
        _sugar(ctx, node, head, frame, effects)
    elif (text in CONDITION_WORDS and text not in ctx.tables.signatures) or text.startswith("??"):
        ctx.report.error(
            "condition-in-effect",
            f"`{text}` is a condition; an effect says what becomes true or false",
            head,
            help="to make an effect conditional, write (when CONDITION EFFECT)",
        )
    else:
        _literal(ctx, node, frame, effects, "add")


def _when(ctx: Context, node: Group, frame: Frame, effects: Effects) -> None:
    if len(node.items) != 3:
        ctx.report.error(
            "arity-mismatch",
            f"wanted (when CONDITION EFFECT), and {here(len(node.items) - 1)} of these two",
            node,
        )
        return
    condition = check_condition(ctx, node.items[1], frame.scope)
    inner = frame._replace(conditions=(*frame.conditions, condition or TRUE))
    _effect(ctx, node.items[2], inner, effects)


def _delete(ctx: Context, node: Group, frame: Frame, effects: Effects) -> None:
    inner = node.items[1] if len(node.items) == 2 else None
    head = inner.items[0] if isinstance(inner, Group) and inner.items else None
    if not isinstance(inner, Group) or not isinstance(head, Token) or head.text not in ctx.tables.signatures:
        if isinstance(head, Token) and head.text not in ("and", "or", "not", "when", "forall", "exists"):
            unknown_predicate(ctx, head)
        else:
            ctx.report.error("bad-effect", "in an effect, `not` takes one predicate: (not (p ?x))", node)
        return
    _literal(ctx, inner, frame, effects, "delete")


def _literal(ctx: Context, node: Group, frame: Frame, effects: Effects, op: UpdateOp) -> None:
    found = _target(ctx, node, frame)
    if found is None:
        return
    target, wider = found
    if not target.type.is_bool:
        ctx.report.error(
            "type-mismatch",
            f"`{target.predicate}` is {describe(target.type)}; only a Boolean is set by naming it",
            node,
            help=f"write (assign {ctx.words(node)} VALUE)",
        )
        return
    effects.updates.append(Update(op, target, None, wider.variables, wider.condition, ctx.span(node)))


def _target(ctx: Context, node: Node, frame: Frame) -> tuple[Apply, Frame] | None:
    """What an update writes, as its author wrote it."""
    head = node.items[0] if isinstance(node, Group) and node.items else None
    if not isinstance(node, Group) or not isinstance(head, Token):
        ctx.report.error("bad-effect", "wanted (PREDICATE ARGUMENTS) to write to", node)
        return None
    if head.text not in ctx.tables.signatures:
        unknown_predicate(ctx, head)
        return None
    return _expanded(ctx, application(node), frame)


def _expanded(ctx: Context, call: Application, frame: Frame) -> tuple[Apply, Frame] | None:
    """What an update writes, ``??`` and arguments that may be no members expanded into the frame."""
    signature = ctx.tables.signatures[call.predicate]
    if signature.is_wrong:
        return None
    given = wildcards(ctx, call, frame.scope, frame.conditions)
    extra = tuple(given.values())
    scope = {**frame.scope, **{v.name: v for v in extra}} if extra else frame.scope
    target = check_apply(ctx, call, scope, given=given, target=True)
    if target is None or not _is_writable(ctx, signature, call.at):
        return None
    assert isinstance(target, Apply)
    positions = widened(ctx, target, signature)
    if positions and not target.type.is_bool:
        at = call.args[positions[0]]
        mismatch(
            ctx,
            target.args[positions[0]],
            ctx.parameter_type(signature.parameters[positions[0]]),
            at,
            f"`{signature.name}`",
        )
        return None
    if not positions:
        return target, Frame(scope, (*frame.variables, *extra), frame.conditions)
    target, more, equal = stand_ins(ctx, target, signature, positions, taken_names(scope, frame.conditions))
    scope = {**scope, **{v.name: v for v in more}}
    return target, Frame(scope, (*frame.variables, *extra, *more), (*frame.conditions, *equal))


def _is_writable(ctx: Context, signature: PredicateSignature, at: Group) -> bool:
    """Whether a state carries the predicate: it is no external function, and its parameters are objects."""
    values = [p for p in signature.parameters if isinstance(p.type, ValueType)]
    if not values:
        return True
    what = "is an external function" if signature.is_external else f"takes a value (`{values[0].name}`)"
    ctx.report.error(
        "not-assignable",
        f"`{signature.name}` {what}, so no state carries it",
        at,
        notes=[Note(signature.span, "declared here")],
    )
    return False


def _write(ctx: Context, node: Group, frame: Frame, effects: Effects) -> None:
    """``(assign (f ?x) VALUE)``, ``(increase (f ?x) VALUE)`` and the like."""
    if len(node.items) != 3:
        ctx.report.error(
            "arity-mismatch",
            f"wanted ({node.head} (f ?x) VALUE), and {here(len(node.items) - 1)} of these two",
            node,
        )
        return
    found = _target(ctx, node.items[1], frame)
    if found is not None:
        op = cast("UpdateOp", node.head)
        _update(ctx, op, found, (node.items[1], node.items[2]), node, effects)


def _update(
    ctx: Context,
    op: UpdateOp,
    found: tuple[Apply, Frame],
    parts: tuple[Node, Node],
    at: Group,
    effects: Effects,
) -> None:
    target, wider = found
    target_node, value_node = parts
    if ctx.tables.signatures[target.predicate].is_cost:
        _cost(ctx, op, value_node, at, wider, effects)
        return
    if op != "assign" and target.type.prim == "bool":
        ctx.report.error(
            "type-mismatch", f"`{op}` changes numbers, and `{target.predicate}` is a Boolean", target_node
        )
        return
    # Numeric changes take a scalar for a vector; only an assignment (or a blank) must have its dimensions.
    if op == "assign" or is_blank(value_node):
        value = check_expr(ctx, value_node, wider.scope, target.type, target)
    else:
        value = check_expr(ctx, value_node, wider.scope, None)
        value = None if value is None else fit(ctx, value, target.type, value_node)
    if value is None or not unify(ctx, target, value, value_node, broadcast=op != "assign"):
        return
    if op == "scale-down" and target.type.prim == "int64":
        ctx.report.error("type-mismatch", "`scale-down` gives a float, and this holds ints", target_node)
        return
    effects.updates.append(Update(op, target, value, wider.variables, wider.condition, ctx.span(at)))


def _cost(ctx: Context, op: UpdateOp, value_node: Node, at: Group, frame: Frame, effects: Effects) -> None:
    """``(increase (total-cost) VALUE)``, unconditional."""
    if op != "increase":
        ctx.report.error("misplaced-cost", f"`total-cost` can be increased, not changed by `{op}`", at)
        return
    if frame.conditions or frame.variables:
        ctx.report.error(
            "conditional-cost",
            "a cost under `when` or `forall` is not yet supported",
            at,
            help="split the action into one for each cost",
        )
        return
    value = check_expr(ctx, value_node, frame.scope, FLOAT if is_blank(value_node) else None)
    if value is None:
        return
    if not isinstance(value.type, ValueType) or not value.type.is_number:
        ctx.report.error(
            "type-mismatch", f"a cost is a number, and this is {describe(value.type)}", value_node
        )
        return
    if isinstance(value, Value) and isinstance(value.value, int | float):
        if value.value < 0:
            ctx.report.error(
                "negative-cost", f"a cost is 0 or more, and this is {ctx.words(value_node)}", value_node
            )
            return
        if value.value > LARGEST_COST:
            ctx.report.error(
                "cost-too-large",
                f"a cost is at most {LARGEST_COST:g}, and this is {ctx.words(value_node)}",
                value_node,
            )
            return
    effects.costs.append(value)


def _sugar(ctx: Context, node: Group, head: Token, frame: Frame, effects: Effects) -> None:
    """``(p::assign ARGS VALUE)`` and ``(p::cond-assign ARGS COND VALUE)``."""
    predicate, _, word = head.text.rpartition("::")
    signature = ctx.tables.signatures.get(predicate)
    if signature is not None and signature.is_wrong:
        return
    if signature is None or word not in ("assign", "cond-assign"):
        if signature is not None and word == "cond-select":
            ctx.report.error(
                "misplaced-set", f"`{head.text}` gives a set of values, which only a blank takes", head
            )
        else:
            unknown_predicate(ctx, head)
        return
    behind = 1 if word == "assign" else 2
    wanted = len(signature.parameters) + behind
    if len(node.items) - 1 != wanted:
        parts = " ".join([*(p.name for p in signature.parameters), *["CONDITION"][: behind - 1], "VALUE"])
        ctx.report.error(
            "arity-mismatch",
            f"wanted ({head.text} {parts}), and {here(len(node.items) - 1)} of {wanted} parts",
            node,
            notes=[Note(signature.span, f"declared as {signature}")],
        )
        return
    if word == "cond-assign":
        condition = check_condition(ctx, node.items[-2], frame.scope)
        frame = frame._replace(conditions=(*frame.conditions, condition or TRUE))
    target = Application(predicate, node.items[1 : 1 + len(signature.parameters)], node)
    found = _expanded(ctx, target, frame)
    if found is not None:
        _update(ctx, "assign", found, (node, node.items[-1]), node, effects)
