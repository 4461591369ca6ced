"""``(p a b)``: a predicate and its arguments, however they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, final

from pdsketch.lang.check.context import Context, Scope, fresh_name, taken_names
from pdsketch.lang.check.fit import describe, fit, mismatch, unify
from pdsketch.lang.check.tables import UNKNOWN, PredicateSignature
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.report import count, here
from pdsketch.lang.terms import Apply, Equal, Expr, Logic, Quantified, Variable
from pdsketch.lang.types import ObjectType, Type, ValueType


@final
class Application(NamedTuple):
    """A predicate and its arguments: of ``(p a b)``, or of ``(p::assign a b VALUE)`` and its like."""

    predicate: str
    args: Sequence[Node]
    at: Group


def application(node: Group) -> Application:
    """A list whose head is a predicate's name."""
    return Application(node.head, node.items[1:], node)


def wildcards(ctx: Context, call: Application, scope: Scope, beside: Iterable[Expr]) -> dict[int, Variable]:
    """For each argument ``??``, by its position, a new variable of the parameter's type.

    ``ctx`` is the definition that the ``call`` stands in, and knows the predicate's parameters. No name of
    the author's holds ``$``, so new ones cannot clash. Those in reach (``scope``), and those bound inside the
    conditions ``beside``, are left alone.
    """
    found: dict[int, Variable] = {}
    if not any(isinstance(item, Token) and item.text == "??" for item in call.args):
        return found
    taken = taken_names(scope, beside)
    for position, (item, parameter) in enumerate(
        zip(call.args, ctx.tables.signatures[call.predicate].parameters, strict=False)
    ):
        if isinstance(item, Token) and item.text == "??":
            variable = Variable(fresh_name(taken), ctx.parameter_type(parameter), ctx.span(item))
            ctx.check_range(variable)
            found[position] = variable
    return found


def check_apply(
    ctx: Context,
    call: Application,
    scope: Scope,
    *,
    given: Mapping[int, Variable] | None = None,
    target: bool = False,
) -> Expr | None:
    """A predicate of its arguments, or None (reported) where one of them is wrong.

    ``ctx`` is the definition under check, ``call`` the application as parsed, ``scope`` the variables in
    reach. ``given`` are arguments known by their position, in place of what is written there. ``target``: it
    is written, not read, so that all arguments must be members.
    """
    signature = ctx.tables.signatures[call.predicate]
    start = call.at.items[0].start
    ctx.report.refers(start, start + len(call.predicate), ("predicate", call.predicate))
    if signature.is_wrong:
        return None
    if signature.is_cost and not target:
        ctx.report.error("misplaced-cost", "`total-cost` can be increased and minimised, not read", call.at)
        return None
    args = _arguments(ctx, signature, call, scope, given or {})
    if args is None:
        return None
    type_ = ctx.knowledge.refine(("predicate", signature.name), signature.returns)
    apply = Apply(signature.name, args, type_, ctx.span(call.at))
    if len(call.args) == len(call.at.items) - 1:
        ctx.report.typed(call.at, type_)
    return apply if target else _restrict(ctx, apply, signature, call, scope)


def _arguments(
    ctx: Context,
    signature: PredicateSignature,
    call: Application,
    scope: Scope,
    given: Mapping[int, Variable],
) -> tuple[Expr, ...] | None:
    """The arguments of a predicate, each checked against its parameter."""
    nodes = call.args
    if len(nodes) != len(signature.parameters):
        ctx.report.error(
            "arity-mismatch",
            f"`{signature.name}` takes {count(len(signature.parameters), 'argument')},"
            f" and {here(len(nodes))}",
            call.at,
            notes=[Note(signature.span, f"declared as {signature}")],
        )
        return None
    found: list[Expr] = []
    is_right = True
    arg: Expr | None
    for position, (node, parameter) in enumerate(zip(nodes, signature.parameters, strict=True)):
        arg = given.get(position)
        if arg is None:
            arg = _argument(ctx, node, ctx.parameter_type(parameter), signature, position, scope)
        if arg is None:
            is_right = False
        else:
            found.append(arg)
    return tuple(found) if is_right else None


def _argument(
    ctx: Context, node: Node, wanted: Type, signature: PredicateSignature, position: int, scope: Scope
) -> Expr | None:
    of = f"`{signature.name}`"
    if isinstance(wanted, ObjectType) and wanted != UNKNOWN and isinstance(node, Group):
        ctx.report.error(
            "type-mismatch",
            f"{of} takes {describe(wanted)}, and `{ctx.words(node)}` is a value",
            node,
            label="wanted a variable or an object",
        )
        return None
    if isinstance(wanted, ObjectType):
        arg = ctx.expr(node, scope)
        return None if arg is None else fit(ctx, arg, wanted, node, of=of)
    slot = ("parameter", signature.name, str(position))
    wanted = ctx.knowledge.refine(slot, wanted)
    # A stand-in for the parameter, so that its dimensions and the argument's are learned from each other.
    name = f"?{signature.name}${position}"
    ctx.slots[name] = slot
    stand_in = Variable(name, wanted, signature.span)
    if is_blank(node):
        return ctx.expr(node, scope, wanted, stand_in)
    arg = ctx.expr(node, scope)
    arg = None if arg is None else fit(ctx, arg, wanted, node, of=of)
    return arg if arg is not None and unify(ctx, stand_in, arg, node) else None


def is_blank(node: Node) -> bool:
    """Whether a node is ``(??f …)``."""
    return isinstance(node, Group) and node.head.startswith("??")


def is_nothing(node: Node) -> bool:
    """Whether a node is ``()``."""
    return isinstance(node, Group) and node.bracket == "(" and not node.items


def widened(ctx: Context, apply: Apply, signature: PredicateSignature) -> list[int]:
    """The positions whose argument may be an object outside the parameter's type."""
    found = []
    for position, (arg, parameter) in enumerate(zip(apply.args, signature.parameters, strict=True)):
        have, want = arg.type, ctx.parameter_type(parameter)
        if have == want or isinstance(have, ValueType) or isinstance(want, ValueType):
            continue
        if UNKNOWN not in (have, want) and not ctx.tables.hierarchy.is_subtype(have, want):
            found.append(position)
    return found


def stand_ins(
    ctx: Context, apply: Apply, signature: PredicateSignature, positions: list[int], taken: set[str]
) -> tuple[Apply, tuple[Variable, ...], tuple[Expr, ...]]:
    """The predicate on members only: new variables of the parameters' types, equal to the arguments.

    Replaced are the arguments of ``apply`` at the ``positions``, by variables of the types that ``signature``
    declares there in the definition ``ctx``. ``taken`` holds the names that a variable must not have, and
    grows.
    """
    args = list(apply.args)
    variables: list[Variable] = []
    equal: list[Expr] = []
    for position in positions:
        type_ = ctx.parameter_type(signature.parameters[position])
        variable = Variable(fresh_name(taken), type_, args[position].span)
        equal.append(Equal(args[position], variable, 0.0, apply.span))
        args[position] = variable
        variables.append(variable)
    return Apply(apply.predicate, tuple(args), apply.type, apply.span), tuple(variables), tuple(equal)


def _restrict(
    ctx: Context, apply: Apply, signature: PredicateSignature, call: Application, scope: Scope
) -> Expr | None:
    """A Boolean predicate is false of objects outside its type; another has no value there."""
    positions = widened(ctx, apply, signature)
    if not positions:
        return apply
    if not apply.type.is_bool:
        at = call.args[positions[0]]
        wanted = ctx.parameter_type(signature.parameters[positions[0]])
        mismatch(ctx, apply.args[positions[0]], wanted, at, f"`{signature.name}`")
        return None
    inner, variables, equal = stand_ins(ctx, apply, signature, positions, taken_names(scope, ()))
    return Quantified("exists", variables, Logic("and", (*equal, inner), apply.span), apply.span)
