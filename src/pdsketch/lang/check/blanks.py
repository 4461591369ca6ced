"""Blanks and the sets they take; from all uses of a blank, its signature."""

from __future__ import annotations

from collections.abc import Iterable

from pdsketch.lang.check.applications import Application, application, check_apply, wildcards
from pdsketch.lang.check.context import BlankUse, Context, Scope
from pdsketch.lang.check.fit import describe
from pdsketch.lang.check.names import setting_type
from pdsketch.lang.check.numbers import read_number
from pdsketch.lang.check.tables import UNKNOWN
from pdsketch.lang.check.typenames import resolve_type
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.domain import Action, Blank, BlankInput
from pdsketch.lang.lists import is_settings, parse_settings
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.report import CheckReport, here
from pdsketch.lang.syntax import Setting
from pdsketch.lang.terms import BlankCall, Each, Expr, Variable, conjunction
from pdsketch.lang.types import BOOL, ObjectType, Type, ValueType


def check_blank(ctx: Context, node: Group, scope: Scope, want: Type | None) -> Expr | None:
    """``(??f [settings] arg …)``; its full name begins with the definition it stands in.

    ``ctx`` is that definition and collects the blank's uses; ``node`` is the whole list, whose arguments may
    name the variables of ``scope``. Without a declared type, the blank returns what its place wants:
    ``want``.
    """
    head = node.items[0]
    assert isinstance(head, Token)
    if not _is_allowed(ctx, head):
        return None
    name = f"{ctx.owner}::{head.text[2:]}"
    ctx.report.refers(head.start, head.end, ("blank", name))
    rest = node.items[1:]
    settings: dict[str, object] = {}
    declared: ValueType | None = None
    if rest and is_settings(rest[0]):
        bracket, rest = rest[0], rest[1:]
        assert isinstance(bracket, Group)
        declared, settings, is_right = _settings(ctx, bracket)
        if not is_right:
            return None
    args = _arguments(ctx, rest, scope)
    returns = _returns(ctx, name, declared, want, head)
    if args is None or returns is None:
        return None
    returns = ctx.knowledge.refine(("blank", name), returns)
    ctx.blanks.append(BlankUse(name, args, returns, ctx.span(node), settings))
    return BlankCall(name, args, returns, ctx.span(node))


def _is_allowed(ctx: Context, head: Token) -> bool:
    if head.text == "??" or len(head.text.strip("?")) == 0:
        ctx.report.error("unnamed-blank", "this blank has no name", head, help="name it, for instance `??f`")
        return False
    if ctx.owner is None:
        ctx.report.error(
            "blank-in-goal",
            "a goal holds no blanks: nothing could tell what it means",
            head,
            help="name it in the domain: (:derived (NAME …) (??f …))",
        )
        return False
    return True


def _settings(ctx: Context, bracket: Group) -> tuple[ValueType | None, dict[str, object], bool]:
    """The declared return type, the author's other settings, and whether all of them are right."""
    found: dict[str, object] = {}
    declared: ValueType | None = None
    before = len(ctx.report.diagnostics)
    for setting in parse_settings(bracket.items, ctx.report):
        if setting.key.text != "return_type":
            found[setting.key.text] = _plain(setting)
            continue
        written = setting_type(setting, ctx.report)
        if written is None:
            continue
        type_ = resolve_type(written, ctx.tables.hierarchy, ctx.tables.value_types, ctx.report)
        if isinstance(type_, ObjectType):
            ctx.report.error("unsupported-type", "a blank returns a value, not an object", written)
        else:
            declared = type_
    return declared, found, len(ctx.report.diagnostics) == before


def _plain(setting: Setting) -> object:
    """A setting as a plain value: a number, a Boolean or a string."""
    if isinstance(setting.value, Group):
        return [item.text for item in setting.value.items if isinstance(item, Token) and item.text != ","]
    text = setting.value.text
    if text in ("true", "false"):
        return text == "true"
    number = read_number(text)
    return text.strip('"') if number is None else number


def _returns(
    ctx: Context, name: str, declared: ValueType | None, want: Type | None, head: Token
) -> ValueType | None:
    if declared is not None:
        ctx.knowledge.learn_blank(name, declared)
        return declared
    if isinstance(want, ValueType):
        ctx.knowledge.learn_blank(name, want)
        return want
    known = ctx.knowledge.blank(name)
    if known is None:
        ctx.report.error(
            "unknown-return-type",
            f"nothing tells what `{head.text}` returns here",
            head,
            help=f"say so: ({head.text} [return_type=vector[float32, 64]] …)",
        )
    return known


def _arguments(ctx: Context, nodes: list[Node], scope: Scope) -> tuple[Expr, ...] | None:
    found = [_argument(ctx, node, scope) for node in nodes]
    args = tuple(arg for arg in found if arg is not None)
    return args if len(args) == len(found) else None


def _argument(ctx: Context, node: Node, scope: Scope) -> Expr | None:
    """One argument: a value, or a set of values."""
    parts = _set(ctx, node, scope)
    if parts is None:
        return None
    variables, conditions, body, is_set = parts
    if isinstance(body.type, ObjectType):
        if body.type != UNKNOWN:
            ctx.report.error(
                "object-to-blank",
                f"a blank takes values, and `{ctx.words(body.span or node)}` is {describe(body.type)}",
                body.span or node,
                help="pass a value of the object, for instance (item-feature ?o)",
            )
            return None
        return body
    if not is_set:
        return body
    return Each(variables, conjunction(conditions), body, ctx.span(node))


Parts = tuple[tuple[Variable, ...], tuple[Expr, ...], Expr, bool]


def _set(ctx: Context, node: Node, scope: Scope, beside: tuple[Expr, ...] = ()) -> Parts | None:
    """``foreach``, ``when``, ``p::cond-select`` and ``(p ??)``, nested sets as one.

    ``beside`` are the conditions met on the way, which the set's variables will stand around.
    """
    head = node.items[0] if isinstance(node, Group) and node.bracket == "(" and node.items else None
    if not isinstance(node, Group) or not isinstance(head, Token):
        return _value(ctx, node, scope)
    if head.text == "foreach":
        quantified = ctx.quantified(node, scope, beside)
        if quantified is None:
            return None
        variables, inner, rest = quantified
        parts = _set(ctx, rest, inner, beside)
        return None if parts is None else ((*variables, *parts[0]), parts[1], parts[2], True)
    if head.text == "when":
        if len(node.items) != 3:
            found = here(len(node.items) - 1)
            message = f"wanted (when CONDITION VALUE), and {found} of these two"
            ctx.report.error("arity-mismatch", message, node)
            return None
        return _when(ctx, node.items[1], node.items[2], scope, beside)
    predicate, colons, word = head.text.rpartition("::")
    if colons and word == "cond-select" and predicate in ctx.tables.signatures:
        if len(node.items) < 2:
            ctx.report.error("arity-mismatch", f"wanted ({head.text} ARGUMENTS CONDITION)", node)
            return None
        read = Application(predicate, node.items[1:-1], node)
        return _when(ctx, node.items[-1], read, scope, beside)
    if head.text in ctx.tables.signatures:
        return _each(ctx, application(node), scope, beside)
    return _value(ctx, node, scope)


def _when(
    ctx: Context, guard: Node, value: Node | Application, scope: Scope, beside: tuple[Expr, ...]
) -> Parts | None:
    condition = ctx.expr(guard, scope, BOOL)
    more = beside if condition is None else (*beside, condition)
    if isinstance(value, Application):
        inner = _each(ctx, value, scope, more)
    else:
        inner = _set(ctx, value, scope, more)
    if condition is None or inner is None:
        return None
    variables, conditions, body, _ = inner
    return variables, (condition, *conditions), body, True


def _each(ctx: Context, call: Application, scope: Scope, beside: tuple[Expr, ...]) -> Parts | None:
    """``(p ?? a ??)``: each ``??`` its own variable of the parameter's type."""
    given = wildcards(ctx, call, scope, beside)
    inner = {**scope, **{variable.name: variable for variable in given.values()}} if given else scope
    body = check_apply(ctx, call, inner, given=given)
    return None if body is None else (tuple(given.values()), (), body, bool(given))


def _value(ctx: Context, node: Node, scope: Scope) -> Parts | None:
    body = ctx.expr(node, scope)
    return None if body is None else ((), (), body, False)


# From all uses of a blank, its one signature; uses that clash are reported with both places.


def collect_blanks(
    uses: Iterable[BlankUse], actions: Iterable[Action], report: CheckReport
) -> dict[str, Blank]:
    """The blanks of a domain in the order of their first use."""
    by_name: dict[str, list[BlankUse]] = {}
    for use in uses:
        if any(isinstance(arg.type, ObjectType) for arg in use.args):
            continue  # a variable whose type is wrong, and reported
        by_name.setdefault(use.name, []).append(use)
    residuals = _residuals(actions)
    found: dict[str, Blank] = {}
    for name, same in by_name.items():
        first = same[0]
        for other in same[1:]:
            _check_clash(first, other, report)
        settings = {key: value for use in reversed(same) for key, value in use.settings.items()}
        residual = residuals.get(name, {None})
        found[name] = Blank(
            name,
            tuple(blank_input(arg) for arg in first.args),
            first.returns,
            next(iter(residual)) if len(residual) == 1 else None,
            settings,
            tuple(use.span for use in same),
        )
        if first.returns.prim == "int64" and first.returns.choices is None:
            report.warning(
                "int-without-choices",
                f"`{name}` returns an int, and nothing says how many there are",
                first.span,
                help="a label has choices, as in int64[choices=4]; a quantity is a float32[tolerance=0.3]",
            )
    return found


def blank_input(arg: Expr) -> BlankInput:
    """An argument as the signature shows it."""
    assert isinstance(arg.type, ValueType)
    return BlankInput(arg.type, arg.variables if isinstance(arg, Each) else None)


def _check_clash(first: BlankUse, other: BlankUse, report: CheckReport) -> None:
    """Two uses of one name are one function, so they must agree."""
    mine, yours = _shape_of(first), _shape_of(other)
    if mine == yours:
        return
    report.error(
        "blank-clash",
        f"`{first.name}` is used with two signatures",
        other.span,
        label=f"here {_show(other)}",
        notes=[Note(first.span, f"there {_show(first)}")],
        help="one name in one definition is one function; give the other its own name",
    )


def _shape_of(use: BlankUse) -> tuple[object, ...]:
    inputs = tuple(
        (i.type, None if i.over is None else tuple(v.type for v in i.over))
        for i in map(blank_input, use.args)
    )
    return inputs, use.returns


def _show(use: BlankUse) -> str:
    return f"({', '.join(str(blank_input(arg)) for arg in use.args)}) -> {use.returns}"


def _residuals(actions: Iterable[Action]) -> dict[str, set[int | None]]:
    """For each blank that is assigned, the input around which it starts as the identity."""
    found: dict[str, set[int | None]] = {}
    for action in actions:
        for update in action.effects:
            if update.op == "assign" and isinstance(update.value, BlankCall):
                call = update.value
                found.setdefault(call.blank, set()).add(_residual(call, update.target))
    return found


def _residual(call: BlankCall, target: Expr) -> int | None:
    if target in call.args:
        return call.args.index(target)
    same = [i for i, arg in enumerate(call.args) if not isinstance(arg, Each) and arg.type == target.type]
    return same[0] if len(same) == 1 else None
